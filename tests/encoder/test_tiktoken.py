"""`from_tiktoken`: the ids and the errors of tiktoken itself, by the native core where it knows the encoding."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any

import corpus
import pytest
import tier
import tiktoken
from tiktoken_encodings import ALL_BYTES, PATTERNS, SPECIAL_TOKENS, encoding_of, random_encoding, rebuilt

import lopt_plugin
from lopt_plugin.encoder import tiktoken_runner
from lopt_plugin.encoder.tiktoken_encoder import TiktokenEncoder
from lopt_plugin.pipeline import tiktoken_encoding
from lopt_plugin.routes.hard_texts import hard_texts
from lopt_plugin.unicode_tables.derive.oracle import SCALAR_VALUES, to_text
from lopt_plugin.unicode_tables.tiktoken_classes import characters_that_differ

TEXT = "Hello<|start|> world, isn't it 12345? <|endoftext|>\n  \n <|end|>é中文 \n\n  "


def native(encoding: tiktoken.Encoding, **settings: Any) -> TiktokenEncoder:
    fast = lopt_plugin.from_tiktoken(encoding, **settings)
    assert fast.explain()["route"] == "native", fast.explain()["reason"]
    return fast


def outcome(call: Any, *arguments: Any, **named: Any) -> Any:
    """What a call gives, or the class and the text of its error."""
    try:
        return call(*arguments, **named)
    except Exception as error:
        return type(error), str(error)


def check(fast: TiktokenEncoder, encoding: tiktoken.Encoding, texts: list[str]) -> None:
    for text in texts:
        expected = encoding.encode_ordinary(text)
        assert fast.encode_ordinary(text) == expected, text[:80]
        assert fast.count(text, disallowed_special=()) == len(expected)
        assert fast.encode(text, allowed_special="all") == encoding.encode(text, allowed_special="all")
    assert fast.encode_ordinary_batch(texts) == encoding.encode_ordinary_batch(texts)
    assert fast.explain()["calls"]["tiktoken"] == 0


@pytest.mark.every_parameter
@pytest.mark.parametrize("pattern", PATTERNS)
def test_ids_of_every_pattern(pattern: str) -> None:
    encoding = encoding_of(pattern)
    texts = [*hard_texts(SPECIAL_TOKENS), *corpus.texts("multi", 30_000), *corpus.texts("code", 30_000)]
    check(native(encoding), encoding, texts)


@pytest.mark.every_parameter
@pytest.mark.parametrize("pattern", PATTERNS)
def test_white_space_everywhere(pattern: str) -> None:
    encoding = encoding_of(pattern)
    fast = native(encoding, prefix_cache_mb=0)
    texts = [
        "".join(text)
        for length in range(1, tier.pick(6, 7))
        for text in itertools.product(" \na.\u3000", repeat=length)
    ]
    assert fast.encode_ordinary_batch(texts) == [encoding.encode_ordinary(text) for text in texts]
    assert [fast.count(text) for text in texts] == [len(encoding.encode(text)) for text in texts]


@pytest.mark.parametrize("chunk_chars", [1, 2, 7, 64])
def test_white_space_at_the_end_of_chunks(chunk_chars: int) -> None:
    encoding = encoding_of("cl100k_tiktoken")
    fast = native(encoding, threads=2, chunk_chars=chunk_chars, parallel_min_chars=1)
    for text in hard_texts(SPECIAL_TOKENS)[:: tier.pick(4, 1)]:
        for end in ("", "\n ", " \n \n\t ", "\n" * 70 + " " * 70):
            assert fast.encode_ordinary(text + end) == encoding.encode_ordinary(text + end)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_character(pattern: str) -> None:
    encoding = encoding_of(pattern)
    fast = native(encoding)
    characters = to_text(SCALAR_VALUES[:: tier.pick(29, 1)]) + "\u017f\u212a\u0130"
    for between in ("", "'", " 1", "a'\n"):
        text = between.join(characters)
        assert fast.encode_ordinary(text) == encoding.encode_ordinary(text)


@pytest.mark.parametrize("seed", range(tier.pick(60, 3000)))
def test_any_order_of_ranks(seed: int) -> None:
    encoding = random_encoding(seed)
    rng = random.Random(seed)
    words = ["".join(rng.choices("abc", k=rng.randint(1, 12))) for _ in range(200)]
    words += ["".join(rng.choices("abc", weights=[5, 1, 1], k=length)) for length in (50, 130, 700)]
    check(native(encoding, prefix_cache_mb=0), encoding, words)


@pytest.mark.parametrize("disallowed", ["all", (), {"<|end|>"}, ["<|start|>", "other"]])
@pytest.mark.parametrize("allowed", [set(), "all", {"<|start|>"}, frozenset({"<|end|>", "<|inst"}), {"none of them"}])
def test_special_tokens(allowed: Any, disallowed: Any) -> None:
    encoding = encoding_of("cl100k_tiktoken")
    fast = native(encoding)
    arguments = {"allowed_special": allowed, "disallowed_special": disallowed}
    refused = 0
    for text in (
        "",
        "plain",
        TEXT,
        "<|start|><|end|>",
        "<|start|",
        "<|<|end|>|>",
        "[INST",
        "[INST] \n other",
        " <|end|>",
    ):
        expected = outcome(encoding.encode, text, **arguments)
        assert outcome(fast.encode, text, **arguments) == expected
        assert outcome(fast.count, text, **arguments) == (len(expected) if isinstance(expected, list) else expected)
        batch = outcome(encoding.encode_batch, [text, "a"], **arguments)
        assert outcome(fast.encode_batch, [text, "a"], **arguments) == batch
        refused += 3 * (not isinstance(expected, list))
    assert fast.explain()["calls"]["tiktoken"] == refused  # tiktoken raises its errors, and does nothing else


@pytest.mark.every_parameter
@pytest.mark.parametrize(
    "arguments",
    [
        {"allowed_special": ["<|end|>"]},
        {"allowed_special": ["<|end|>"], "disallowed_special": ()},
        {"allowed_special": "<|end|>"},
        {"allowed_special": {5}, "disallowed_special": ()},
        {"disallowed_special": {""}},
        {"disallowed_special": {5}},
        {"disallowed_special": 5},
        {"disallowed_special": "<|end|>"},
    ],
    ids=str,
)
def test_odd_arguments(arguments: dict[str, Any]) -> None:
    encoding = encoding_of("o200k")
    fast = native(encoding)
    for text in ("a", "a<|end|>b"):
        assert outcome(fast.encode, text, **arguments) == outcome(encoding.encode, text, **arguments)


class OwnText(str):
    __slots__ = ()


@pytest.mark.parametrize("text", [5, None, b"bytes", ["a"], OwnText("a text")], ids=repr)
def test_texts_of_other_types(text: Any) -> None:
    encoding = encoding_of("o200k")
    fast = native(encoding)
    for name in ("encode", "encode_ordinary"):
        assert outcome(getattr(fast, name), text) == outcome(getattr(encoding, name), text)
    assert outcome(fast.encode_batch, ["a", text]) == outcome(encoding.encode_batch, ["a", text])
    assert outcome(fast.encode_ordinary_batch, ["a", text]) == outcome(encoding.encode_ordinary_batch, ["a", text])


def test_surrogates() -> None:
    encoding = encoding_of("cl100k_tiktoken")
    fast = native(encoding)
    texts = ["\ud83d\ude00", "\ud83d", "a\udc00b<|end|>\n ", "\ude00\ud83d", "\ufeffa\ud800", "<|end|>\ud83d\ude00 \n "]
    arguments: dict[str, Any] = {"disallowed_special": ()}
    for allowed in (set(), "all", {"<|end|>"}):
        arguments["allowed_special"] = allowed
        for text in texts:
            assert fast.encode(text, **arguments) == encoding.encode(text, **arguments)
            assert fast.count(text, **arguments) == len(encoding.encode(text, **arguments))
        assert fast.encode_batch(["a", *texts], **arguments) == encoding.encode_batch(["a", *texts], **arguments)
    assert fast.encode_ordinary_batch(texts) == encoding.encode_ordinary_batch(texts)
    assert fast.explain()["calls"]["tiktoken"] == 0


def changed(**parts: Any) -> tiktoken.Encoding:
    given = {"pat_str": PATTERNS["gpt2"], "mergeable_ranks": ALL_BYTES, "special_tokens": {}}
    return tiktoken.Encoding("changed", **{**given, **parts})


class OwnEncoding(tiktoken.Encoding):
    """It may override anything."""


UNSUPPORTED = {
    "is not on the allow-list": changed(pat_str=r"\w+|\W+"),
    "the special token '<a' is a prefix of another one, '<a>'": changed(special_tokens={"<a": 300, "<a>": 301}),
    "has more than 1,024 bytes": changed(special_tokens={"x" * 1025: 300}),
    "OwnEncoding is a subclass": OwnEncoding(
        "own", pat_str=PATTERNS["gpt2"], mergeable_ranks=ALL_BYTES, special_tokens={}
    ),
    "the vocabulary lacks a byte": changed(
        mergeable_ranks={entry: rank for entry, rank in ALL_BYTES.items() if entry != b"z"}
    ),
    "an entry has 4,097 bytes": changed(mergeable_ranks=ALL_BYTES | {b"x" * 4097: 256}),
    "a vocabulary id is above": changed(mergeable_ranks=ALL_BYTES | {b"ab": 1 << 20}),
}


@pytest.mark.every_parameter
@pytest.mark.parametrize("reason", UNSUPPORTED)
def test_other_encodings_are_left_to_tiktoken(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    encoding = UNSUPPORTED[reason]
    slow = lopt_plugin.from_tiktoken(encoding)
    assert slow.encode_ordinary("An example <a>") == encoding.encode_ordinary("An example <a>")
    explained = slow.explain()
    assert explained["route"] == "tiktoken"
    assert reason in explained["reason"]
    assert f"tiktoken does the work for {encoding.name}: {explained['reason']}" in caplog.text
    assert list(explained["tiktoken_calls"])[-1] == f"encode_ordinary: {explained['reason']}"


def test_other_classes_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    assert characters_that_differ() == characters_that_differ(with_han=True) == 0
    monkeypatch.setattr(tiktoken_encoding, "characters_that_differ", lambda with_han: 7)
    explained = lopt_plugin.from_tiktoken(encoding_of("o200k")).explain()
    assert explained["reason"] == "tiktoken and tokenizers have 7 characters in different classes"


def test_classes_are_compared_with_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    from lopt_plugin.unicode_tables import table, tiktoken_classes

    monkeypatch.setitem(tiktoken_classes.CHARACTER_SETS, table.NUMBER, r"[\p{N}a-c]")
    assert tiktoken_classes.characters_that_differ.__wrapped__() == 3


def test_another_release_of_tiktoken() -> None:
    encoding = changed()
    del encoding._mergeable_ranks
    slow = lopt_plugin.from_tiktoken(encoding)
    assert slow.encode("a b") == encoding.encode("a b")
    assert slow.explain()["reason"].startswith("this release of tiktoken is unknown: ")


@pytest.mark.parametrize("route", ["hf", "hf_chunks"])
def test_route_of_the_settings(route: str) -> None:
    encoding = encoding_of("o200k")
    slow = lopt_plugin.from_tiktoken(encoding, route=route)
    assert slow.encode(TEXT, disallowed_special=()) == encoding.encode(TEXT, disallowed_special=())
    assert slow.explain()["tiktoken_calls"] == {f"encode: route is set to {route!r}": 1}


class WrongRoute:
    """A native route with an answer of its own, or an error."""

    name = "native"

    def __init__(self, answer: list[int] | Exception) -> None:
        self._answer = answer

    def encode_list(self, *_: Any) -> list[int]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def test_verification(caplog: pytest.LogCaptureFixture) -> None:
    encoding = encoding_of("o200k")
    fast = native(encoding, verify=0.5)
    assert [fast.encode("a") for _ in range(4)] == [encoding.encode("a")] * 4
    assert fast.explain()["calls"] == {"native": 4, "tiktoken": 0, "verified": 2}
    fast._runner.native = WrongRoute([1, 2, 3])  # type: ignore[assignment]
    assert [fast.encode("a") for _ in range(2)] == [[1, 2, 3], encoding.encode("a")]
    assert "verification found ids that differ" in caplog.text
    assert fast.explain()["reason"] == "verification found ids that differ from tiktoken's"
    assert fast.encode("a") == encoding.encode("a")


def test_our_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    encoding = encoding_of("o200k")
    fast = native(encoding)
    fast._runner.native = WrongRoute(MemoryError())  # type: ignore[assignment]
    with pytest.raises(MemoryError):
        fast.encode("a")
    fast._runner.native = WrongRoute(ValueError("a mistake"))  # type: ignore[assignment]
    assert fast.encode("a") == encoding.encode("a")
    assert "Traceback" in caplog.text
    assert fast.explain()["reason"] == "the native route failed: ValueError: a mistake"


def test_a_difference_in_the_self_check(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    encoding = encoding_of("o200k")
    monkeypatch.setattr(tiktoken_runner, "NativeRoute", lambda *_: WrongRoute([]))
    slow = lopt_plugin.from_tiktoken(encoding)
    assert slow.encode("a") == encoding.encode("a")
    assert "the self-check found ids that differ from tiktoken's in hard text 1 " in slow.explain()["reason"]
    assert "Please report this encoding" in caplog.text


def test_copies_and_pickles() -> None:
    encoding = encoding_of("cl100k_tiktoken")
    fast = native(encoding, threads=2)
    for copied in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        assert copied.encode("Some text") == encoding.encode("Some text")
        assert copied.explain()["threads"] == 2


def test_what_is_not_an_encoding() -> None:
    with pytest.raises(TypeError, match=r"accelerates a tiktoken.Encoding, got builtins.str"):
        lopt_plugin.from_tiktoken("o200k_base")
    with pytest.raises(TypeError, match="unknown settings"):
        lopt_plugin.from_tiktoken(encoding_of("o200k"), thread=1)


def test_empty_batches() -> None:
    fast = native(encoding_of("o200k"))
    assert fast.encode_batch([]) == fast.encode_ordinary_batch([]) == []


@pytest.mark.deep
@pytest.mark.parametrize(
    ("tokenizer", "pattern"),
    [("gpt_oss", "o200k"), ("gpt4o", "o200k"), ("llama3", "cl100k_tiktoken"), ("llama3", "cl100k"), ("gpt2", "r50k")],
)
def test_whole_corpora(tokenizer: str, pattern: str) -> None:
    if tokenizer not in corpus.tokenizer_names():
        pytest.skip(f"{tokenizer} is not here")
    encoding = rebuilt(tokenizer, PATTERNS[pattern])
    fast = native(encoding)
    for name in corpus.corpora():
        for text in corpus.texts(name, 1 << 40):
            assert fast.encode_ordinary(text) == encoding.encode_ordinary(text)
            longer = text + "\n  "
            assert fast.encode(longer, allowed_special="all") == encoding.encode(longer, allowed_special="all")
