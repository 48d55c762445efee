"""`cut` where only the reference can count: == to trying every prefix, the longest first."""

from __future__ import annotations

import functools
from typing import Any

import corpus
import pytest
import strategies
import tier
from hypothesis import example, given, strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

PIECES = [
    "a",
    "b",
    "ab",
    "abc",
    "word",
    *("-" * number for number in (1, 2, 4, 8)),
    "1",
    "12",
    ".",
    *"é中文est",
    "中文",
]


def unigram(
    normalizer: Any = None, pre_tokenizer: Any = None, added: tuple[AddedToken, ...] = (), byte_fallback: bool = False
) -> Tokenizer:
    """Scores by which longer texts often have fewer ids than shorter ones."""
    pieces = [*PIECES, *("\u2581" + piece for piece in ("", "a", "abc", "word", "-", "the", "中")), "test", "stab"]
    entries = [("<unk>", 0.0), *((piece, -2.0 - 0.37 * (7 * len(piece) % 5)) for piece in pieces)]
    entries += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)] if byte_fallback else []
    backend = Tokenizer(models.Unigram(entries, unk_id=0, byte_fallback=byte_fallback))
    if normalizer is not None:
        backend.normalizer = normalizer
    if pre_tokenizer is not None:
        backend.pre_tokenizer = pre_tokenizer
    backend.add_tokens([AddedToken("</s>", special=True), *added])
    end = backend.token_to_id("</s>")
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])
    return backend


T5 = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
MAKERS: dict[str, Any] = {
    "t5": lambda: unigram(normalizers.NFKC(), T5, (AddedToken("<extra_id_1>", special=True),)),
    "metaspace": lambda: unigram(
        normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizers.Metaspace(),
        (AddedToken("<mask>", lstrip=True), AddedToken("ab", normalized=True), AddedToken("--a--")),
    ),
    "whole": lambda: unigram(byte_fallback=True),
    "stripped": lambda: unigram(normalizers.Strip(), T5, (AddedToken("word", rstrip=True),)),
    "quotes": lambda: unigram(
        normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents()]), T5
    ),
    "single words": lambda: unigram(None, T5, (AddedToken("abc", single_word=True),)),
    "wordpiece": lambda: corpus.load_tokenizer("wordpiece_uncased"),
    "byte-level": lambda: corpus.load_tokenizer("tiny_qwen2"),
    "sentencepiece": lambda: corpus.load_tokenizer("tiny_llama2"),
}


@functools.cache
def encoder_of(name: str) -> Encoder:
    return Encoder(MAKERS[name](), Settings.read({}, threads=1, route="hf"))


def slow(encoder: Encoder, text: str, limit: int, special: bool) -> str | None:
    for end in range(len(text), -1, -1):
        if len(encoder._backend.encode(text[:end], add_special_tokens=special).ids) <= limit:
            return text[:end]
    return None


OTHERS = [
    " ",
    "  ",
    "\n",
    "the ",
    " word",
    "abc" * 5,
    "-" * 9,
    "<extra_id_1>",
    " <mask>",
    "--a--",
    "``",
    "\u0301",
    "㎏",
]
FRAGMENTS = st.sampled_from([*PIECES, *OTHERS])
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=25).map("".join), strategies.texts(5))


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", MAKERS)
@given(text=TEXTS, limit=st.integers(0, 30), special=st.booleans())
@example(text="-" * 90, limit=9, special=True)
@example(text="testab" * 20, limit=17, special=False)
@example(text="abc " * 40, limit=17, special=True)
def test_longest_prefix(name: str, text: str, limit: int, special: bool) -> None:
    encoder = encoder_of(name)
    expected = slow(encoder, text, limit, special)
    if expected is None:
        with pytest.raises(ValueError, match="even an empty text has more ids"):
            encoder.cut(text, limit, special)
    else:
        assert encoder.cut(text, limit, special) == expected


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ["t5", "metaspace", "whole", "stripped"])
@pytest.mark.parametrize("text", ["-" * 4000, "word and the test, " * 200, "中文a" * 1200, "xyzq" * 900])
def test_few_prefixes_are_counted(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(name)
    route, counted = encoder._runner.hf, [0]
    encode = type(route).encode_list

    def counting(*arguments: Any) -> Any:
        counted[0] += 1
        return encode(*arguments)

    monkeypatch.setattr(type(route), "encode_list", counting)
    for limit in (3, 60, 300):
        counted[0] = 0
        found = encoder.cut(text, limit)
        assert counted[0] < 80, (limit, counted)
        assert encoder.count(found) <= limit
        assert found == text or limit < encoder.count(text[: len(found) + 1])


def test_a_search_without_a_proof_ends_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A word of letters for plain BPE: each longer prefix may have fewer ids than the last one."""
    backend = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2, "ba": 3}, [("a", "b"), ("b", "a")]))
    encoder = Encoder(backend, Settings.read({}, threads=1, route="hf"))
    short, long = "ab" * 400, "ab" * 8_000
    assert encoder.cut(short, 30, False) == slow(encoder, short, 30, False) == "ab" * 30
    assert not caplog.records
    assert encoder.cut(long, 30, False) == "ab" * 30
    assert "the first 60 of 16000 characters fit into 30 ids" in caplog.text


def test_a_tokenizer_that_changes() -> None:
    backend = MAKERS["t5"]()
    encoder = Encoder(backend, Settings.read({}, threads=1))
    for change in (None, ["-" * 30], [AddedToken("abc", single_word=True)]):
        if change:
            backend.add_tokens(change)
        for text in ("-" * 200, "abc" * 60, "test " * 50):
            for limit in (1, 5, 20):
                assert encoder.cut(text, limit) == slow(encoder, text, limit, True)


@pytest.mark.deep
@pytest.mark.skipif("t5_small" not in corpus.tokenizer_names(), reason="t5_small is not beside the checkout")
def test_t5() -> None:
    encoder = Encoder(corpus.load_tokenizer("t5_small"), Settings.read({}, threads=1, route="hf"))
    texts = [text[:400] for text in corpus.texts(corpus.corpora()[0], tier.pick(2000, 6000))]
    for text in ("-" * 300, "SUPPORT\n-------" * 9, "testing" * 40, *texts):
        for limit in (1, 2, 7, 40, 90):
            assert encoder.cut(text, limit) == slow(encoder, text, limit, True)


def test_native_counts_where_too_many_prefixes_would_be_encoded(caplog: pytest.LogCaptureFixture) -> None:
    """Each mark that the normalizer sorts changes the middle of what came before it. A prefix that fits is found."""
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}))
    marks = "a" + "\u0301\u0323" * 10_000
    limit = encoder.count(marks) // 2
    prefix = encoder.cut(marks, limit)
    assert marks.startswith(prefix)
    assert limit - 3 <= encoder.count(prefix) <= limit
    assert "Longer prefixes may fit too" in caplog.text
    assert encoder.explain()["hf_calls"] == {}
