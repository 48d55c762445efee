"""The Encoder: ids as arrays and batches, the choice of the route, the self-check, verification, explain."""

from __future__ import annotations

import copy
import gc
import importlib.util
import json
import logging
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import corpus
import numpy as np
import own_process
import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.encoder import route_choice
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.operations import LIST
from lopt_plugin.encoder.self_check import self_check
from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.routes import native
from lopt_plugin.routes.hard_texts import hard_texts
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.request import PLAIN, EncodeRequest, NeedsReference
from lopt_plugin.settings import Settings

TEXT = "Hello world, isn't it 12345? <|end|> é中文 \n\n  the end 👍🏽"
TEXTS = [TEXT, "", " ", "word " * 300, "\n" * 40, "e\u0301 <|start|>"]


class FakeShortEncoder:
    """Answers nothing, so that every call reaches `FakeCore.encode`."""

    texts = 0

    def allow(self, calls: int) -> None: ...
    def stop(self) -> None: ...

    def is_allowed(self) -> bool:
        return True

    def encode(self, text: str, add_special_tokens: bool) -> None:
        return None

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> None:
        return None


class FakeCore:
    """The native core's interface over the oracle, to be broken on purpose."""

    def __init__(self, backend: Tokenizer) -> None:
        self.oracle = HfRoute(copy.deepcopy(backend))
        self.calls: list[tuple[int, int]] = []

    def encode(
        self, text: str, threads: int, chunk_chars: int, split_special_tokens: bool, first_id: int = -1
    ) -> list[int]:
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise NeedsReference("the text holds a lone surrogate")
        self.calls.append((threads, chunk_chars))
        return [first_id] * (first_id >= 0) + self.oracle.encode_list(text, PLAIN[False][split_special_tokens])

    def short_encoder(self, most_characters: int, most_together: int, around: Any) -> FakeShortEncoder:
        return FakeShortEncoder()

    def id_count(self) -> int:
        return 1 << 20

    def default_chunk_chars(self, text_chars: int, threads: int) -> int:
        return text_chars

    def encode_array(self, *arguments: Any) -> Any:
        return np.array(self.encode(*arguments), dtype=np.int32)

    def encode_first(self, text: str, most: int, threads: int, split_special_tokens: bool) -> list[int]:
        return self.encode(text, threads, 0, split_special_tokens)[:most]

    def first_seam(self, text: str, begin: int) -> None:
        return None

    def encode_part(self, text: str, begin: int, end: int | None, inside: bool) -> list[int]:
        return self.encode(text[begin:end], 1, 0, False)

    def encode_batch(self, texts: list[str], threads: int, split_special_tokens: bool) -> Any:
        rows = [self.encode(text, threads, 0, split_special_tokens) for text in texts]
        ids = np.array([i for row in rows for i in row], dtype=np.int32)
        return ids, np.cumsum([0, *map(len, rows)], dtype=np.int64)

    def encode_batch_lists(self, texts: list[str], threads: int, split_special_tokens: bool) -> list[list[int]]:
        return [self.encode(text, threads, 0, split_special_tokens) for text in texts]

    def remember_prefixes(self, limit_bytes: int, **options: int) -> None:
        pass

    def trust_seams(self) -> None:
        pass

    def prefix_counters(self) -> dict[str, int]:
        return {}

    def info(self) -> dict[str, Any]:
        return {"fake": True}


class WrongCore(FakeCore):
    """Wrong for one word only."""

    word = "Hello"

    def encode(self, text: str, *arguments: Any) -> list[int]:
        ids = super().encode(text, *arguments)
        return [*ids, 7] if self.word in text else ids


class FailingCore(FakeCore):
    armed = False

    def encode(self, *arguments: Any) -> list[int]:
        if self.armed:
            raise ArithmeticError("a bug")
        return super().encode(*arguments)


@pytest.fixture
def backend() -> Tokenizer:
    tokenizer = corpus.load_tokenizer("tiny_roberta")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|end|> $A <|start|> <|end|>",
        pair="$A $B",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("<|end|>", "<|start|>")],
    )
    return tokenizer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, backend: Tokenizer) -> Any:
    """Makes every encoder of this test use a core of the class given."""

    def use(core: type[FakeCore]) -> None:
        monkeypatch.setattr(native, "build_core", lambda pipeline: core(backend))

    return use


def settings(**given: Any) -> Settings:
    return Settings.read({}, **{"threads": 2, **given})


def oracle_ids(backend: Tokenizer, text: str, add_special_tokens: bool = True) -> list[int]:
    ids: list[int] = backend.encode(text, add_special_tokens=add_special_tokens).ids
    return ids


@pytest.mark.parametrize("route", ["auto", "hf", "fake"])
def test_ids(backend: Tokenizer, fake: Any, route: str) -> None:
    if route == "fake":
        fake(FakeCore)
    encoder = Encoder(backend, settings(route="hf" if route == "hf" else "auto"))
    if route == "fake":
        assert encoder.explain()["route"] == "native"
    for add_special_tokens in (True, False):
        expected = [oracle_ids(backend, text, add_special_tokens) for text in TEXTS]
        for text, ids in zip(TEXTS, expected, strict=True):
            found = encoder.encode_ids(text, add_special_tokens)
            assert found.dtype == np.int32
            assert found.ndim == 1
            assert found.tolist() == ids
            found_list = encoder.encode_list(text, add_special_tokens)
            assert found_list == ids
            assert {type(i) for i in found_list} <= {int}
        batch = encoder.encode_batch_ids(TEXTS, add_special_tokens)
        assert isinstance(batch, TokenBatch)
        assert len(batch) == len(TEXTS)
        assert (batch.ids.dtype, batch.row_offsets.dtype) == (np.int32, np.int64)
        assert [batch.row(k).tolist() for k in range(len(batch))] == expected
        assert batch.row_offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    empty = encoder.encode_batch_ids([])
    assert (len(empty), empty.ids.tolist(), empty.row_offsets.tolist()) == (0, [], [0])


@pytest.mark.parametrize("route", ["auto", "hf", "fake"])
def test_split_special_tokens(backend: Tokenizer, fake: Any, route: str) -> None:
    if route == "fake":
        fake(FakeCore)
    encoder = Encoder(backend, settings(route="hf" if route == "hf" else "auto"))
    whole = oracle_ids(backend, TEXT)
    splitting = copy.deepcopy(backend)
    splitting.encode_special_tokens = True
    split = oracle_ids(splitting, TEXT)
    assert split != whole
    assert encoder.encode_list(TEXT, split_special_tokens=True) == split
    assert encoder.encode_ids(TEXT, split_special_tokens=True).tolist() == split
    assert encoder.encode_batch_ids([TEXT], split_special_tokens=True).ids.tolist() == split
    assert encoder.encode_list(TEXT) == whole
    encoder._split_special_tokens = True
    assert encoder.encode_list(TEXT) == split
    assert encoder.encode_list(TEXT, split_special_tokens=False) == whole
    assert backend.encode_special_tokens is False


@pytest.mark.parametrize("bad", ["\ud800", "ab\udfff"])
def test_bad_input_raises_what_hf_raises(backend: Tokenizer, fake: Any, bad: Any) -> None:
    fake(FakeCore)
    encoder = Encoder(backend, settings())
    with pytest.raises(TypeError) as expected:
        backend.encode(bad)
    for call in (encoder.encode_ids, encoder.encode_list):
        with pytest.raises(TypeError) as raised:
            call(bad)
        assert str(raised.value) == str(expected.value)
    with pytest.raises(TypeError):
        encoder.encode_batch_ids(["a", bad])
    assert encoder.explain()["route"] == "native"
    assert encoder.encode_list("a") == oracle_ids(backend, "a")


@pytest.mark.parametrize("device", ["cuda:x", "cudas", "mps", 3])
def test_an_invalid_device_is_refused(backend: Tokenizer, device: Any) -> None:
    encoder = Encoder(backend, settings(route="hf"))
    assert len(encoder.encode_batch_ids(["a"], device="cpu")) == 1
    with pytest.raises(ValueError, match="device="):
        encoder.encode_batch_ids(["a"], device=device)


def test_call_state_of_the_backend_does_not_matter(backend: Tokenizer, fake: Any) -> None:
    expected = oracle_ids(backend, TEXT)
    backend.enable_truncation(4, strategy="only_first", direction="left")
    backend.enable_padding(length=100, pad_id=3)
    state = backend.truncation, backend.padding
    fake(FakeCore)
    for encoder in (
        Encoder(backend, settings(route="hf")),
        Encoder(backend, settings()),
        Encoder(backend, settings(verify=1)),
    ):
        assert encoder.encode_list(TEXT) == expected
        assert encoder.encode_ids(TEXT).tolist() == expected
        assert encoder.encode_batch_ids([TEXT, TEXT]).ids.tolist() == expected * 2
        assert encoder._runner.hf.encodings([TEXT], EncodeRequest(max_length=7))[0].ids == cut(backend, 7)
        assert (backend.truncation, backend.padding) == state


def cut(backend: Tokenizer, length: int) -> list[int]:
    other = copy.deepcopy(backend)
    other.no_padding()
    other.enable_truncation(length)
    ids: list[int] = other.encode(TEXT).ids
    return ids


@pytest.mark.parametrize("keep_end", [False, True])
@pytest.mark.parametrize("add_special_tokens", [False, True])
def test_truncation(backend: Tokenizer, fake: Any, keep_end: bool, add_special_tokens: bool) -> None:
    fake(FakeCore)
    encoder = Encoder(backend, settings())
    truncating = copy.deepcopy(backend)
    for limit in range(4, 60):
        side = "left" if keep_end else "right"
        truncating.enable_truncation(limit, direction=side)
        expected = truncating.encode(TEXT, add_special_tokens=add_special_tokens).ids
        request = EncodeRequest(add_special_tokens, max_length=limit, truncation_side=side)
        assert encoder._runner.run(None, LIST, TEXT, request)[0] == expected


def test_threads_and_chunks(backend: Tokenizer, fake: Any) -> None:
    fake(FakeCore)
    encoder = Encoder(backend, settings(threads=3, chunk_chars=10, parallel_min_chars=20))
    core = encoder._runner.state.snapshot().native.core
    core.calls.clear()
    encoder.encode_list("x" * 19)
    encoder.encode_list("x" * 20)
    encoder.encode_ids("x" * 25)
    assert core.calls == [(1, 0), (3, 10), (3, 10)]
    assert encoder.explain("x" * 19)["text"] == {"characters": 19, "route": "native", "chunks": 1, "gpu": ANY}
    assert encoder.explain("x" * 25)["text"] == {"characters": 25, "route": "native", "chunks": 3, "gpu": ANY}
    single = Encoder(backend, settings(threads=1, parallel_min_chars=20))
    core = single._runner.state.snapshot().native.core
    core.calls.clear()
    single.encode_list("x" * 1000)
    assert core.calls == [(1, 0)]


def test_self_check_finds_a_wrong_core(backend: Tokenizer, fake: Any, caplog: pytest.LogCaptureFixture) -> None:
    WrongCore.word = "東京"
    fake(WrongCore)
    with caplog.at_level(logging.INFO, "lopt_plugin"):
        encoder = Encoder(backend, settings())
    assert encoder.explain()["route"] == "hf"
    explained = encoder.explain()
    assert "self-check" in explained["reason"]
    assert explained["self_check"]["mismatch"] in explained["reason"]
    assert [r.levelname for r in caplog.records] == ["ERROR", "WARNING"]
    assert "東京" not in caplog.text
    assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)


def test_self_check_survives_a_failing_core(backend: Tokenizer, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailingCore, "armed", True)
    fake(FailingCore)
    encoder = Encoder(backend, settings())
    assert encoder.explain()["reason"].startswith("the self-check failed: ArithmeticError")
    assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)


def test_a_failure_later_changes_the_route(
    backend: Tokenizer, fake: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake(FailingCore)
    encoder = Encoder(backend, settings())
    assert encoder.explain()["route"] == "native"
    monkeypatch.setattr(FailingCore, "armed", True)
    for call in (encoder.encode_list, lambda text: encoder.encode_ids(text).tolist()):
        assert call(TEXT) == oracle_ids(backend, TEXT)
    assert encoder.explain()["route"] == "hf"
    assert "ArithmeticError" in encoder.explain()["reason"]
    assert sum(record.levelname == "ERROR" for record in caplog.records) == 1


LARGEST = 10**30
MISTAKES: dict[str, Callable[[Encoder], list[tuple[Any, ...]]]] = {
    "text must be a str, not int": lambda e: [
        (method, 3) for method in (e.encode_ids, e.encode_list, e.encode_with_offsets, e.intervals, e.count)
    ],
    "text must be a str, not bytes": lambda e: [(e.encode_ids, b"x"), (e.encode_list, b"x")],
    "text must be a str, not list": lambda e: [(e.encode_ids, ["a"]), (e.encode_list, ["a"])],
    "text must be a str, not NoneType": lambda e: [(e.cut, None, 3), (e.count_until, None, 3)],
    "text must be a str, not dict": lambda e: [(e.count, {})],
    "add_special_tokens must be a bool, not int": lambda e: [
        (method, text, 5) for method, text in ((e.count, "a"), (e.encode_list, "a"), (e.count_batch, ["a"]))
    ],
    "split_special_tokens must be a bool, not str": lambda e: [(lambda: e.count("a", split_special_tokens="x"),)],
    "texts must be a sequence of str, not str": lambda e: [(e.encode_batch_ids, "abc"), (e.count_batch, "abc")],
    "texts must be a sequence of str, not int": lambda e: [(e.encode_batch_ids, 3), (e.count_batch, 3)],
    "texts[1] must be a str, not int": lambda e: [(e.encode_batch_ids, ["a", 3]), (e.count_batch, ("a", 3))],
    "max_tokens must be an int, not NoneType": lambda e: [(e.cut, "abc", None)],
    "max_tokens must be an int, not float": lambda e: [(e.cut, "abc", 1.5)],
    "limit must be an int, not str": lambda e: [(e.count_until, "abc", "3")],
    "start must be an int, not float": lambda e: [(e.intervals("abc").count, 1.5, 2), (e.incremental().ids_from, 0.5)],
    "pad_id must be an int, not NoneType": lambda e: [(e.encode_batch_ids(["a"]).padded, None)],
}


@pytest.mark.every_parameter
@pytest.mark.parametrize("message", MISTAKES)
@pytest.mark.parametrize("route", ["auto", "hf"])
def test_mistakes_of_callers(backend: Tokenizer, message: str, route: str, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Encoder(backend, settings(route=route))
    caplog.clear()
    for call, *arguments in MISTAKES[message](encoder):
        with pytest.raises(TypeError) as error:
            call(*arguments)
        assert str(error.value) == message
    assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    assert encoder.explain()["route"] == ("native" if route == "auto" else "hf")
    assert not caplog.records


@pytest.mark.parametrize("route", ["auto", "hf"])
def test_numbers_of_any_size(backend: Tokenizer, route: str) -> None:
    encoder = Encoder(backend, settings(route=route))
    length = len(oracle_ids(backend, TEXT))
    assert encoder.cut(TEXT, LARGEST) == encoder.cut(TEXT, np.int64(length)) == TEXT
    assert encoder.count_until(TEXT, LARGEST) == encoder.count_until(TEXT, np.int16(length)) == length
    assert encoder.count_until(TEXT, -LARGEST) is None
    with pytest.raises(ValueError, match="even an empty text has more ids"):
        encoder.cut(TEXT, -LARGEST)
    assert encoder.explain()["route"] == ("native" if route == "auto" else "hf")
    assert encoder.encode_batch_ids(map(str, range(3))).row_offsets.shape == (4,)


@pytest.mark.parametrize("number", [2**31 - 1, 2**31, 2**32 - 1])
def test_ids_that_an_array_may_not_hold(number: int) -> None:
    """Never another id: NumPy 1 would take 2^31 for -2^31."""
    model = models.WordLevel({"a": number, "[UNK]": 0}, unk_token="[UNK]")
    encoder = Encoder(Tokenizer(model), settings(route="hf"))
    assert encoder.encode_list("a") == [number]
    calls: list[Callable[[], Any]] = [
        lambda: encoder.encode_ids("a"),
        lambda: encoder.encode_batch_ids(["", "a"]).ids,
        lambda: encoder.encode_with_offsets("a")[0],
    ]
    for call in calls:
        if number < 2**31:
            assert call().tolist() == [number]
            continue
        with pytest.raises(OverflowError, match=f"id {number} does not fit into an array of int32; encode_list"):
            call()


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_a_device_without_torch(backend: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Encoder(backend, settings())
    caplog.clear()
    for _ in range(2):
        with pytest.raises(
            ImportError, match="device='cuda': the ids become torch tensors, and torch is not installed"
        ):
            encoder.encode_batch_ids(["a"], device="cuda")
    assert not caplog.records


class FullCore(FakeCore):
    """Has no room for some texts."""

    armed = False

    def encode(self, *arguments: Any) -> list[int]:
        if self.armed and "large" in arguments[0]:
            raise MemoryError
        return super().encode(*arguments)


def test_out_of_memory_fails_one_call_only(
    backend: Tokenizer, fake: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Hugging Face would end the process."""
    fake(FullCore)
    encoder = Encoder(backend, settings())
    native = encoder._runner.state.snapshot().native
    monkeypatch.setattr(FullCore, "armed", True)
    calls: list[Any] = [encoder.encode_list, encoder.encode_ids, lambda text: encoder.encode_batch_ids([text])]
    tokenizer = lopt_plugin.accelerate(PreTrainedTokenizerFast(tokenizer_object=backend))
    tokenizer.lopt._runner = encoder._runner
    caplog.clear()  # of its own runner: transformers 4 changes what it is given, and the stand-in does not
    calls += [tokenizer, tokenizer.encode, lambda text: tokenizer([text, "a"]), tokenizer._lopt_array]
    for call in calls:
        with pytest.raises(MemoryError):
            call("a large text")
        assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    assert encoder._runner.state.snapshot().native is native
    assert encoder.explain()["calls"]["hf"] == 0
    assert not caplog.records


def test_out_of_memory_while_a_route_is_chosen(backend: Tokenizer, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(FullCore)
    encoder = Encoder(backend, settings(), lazy=True)
    monkeypatch.setattr(FullCore, "armed", True)
    # The hard texts have the added tokens.
    backend.add_tokens(["large"])
    for _ in range(2):
        with pytest.raises(MemoryError):
            encoder.encode_list("a")
    monkeypatch.setattr(FullCore, "armed", False)
    assert encoder.encode_list("a large") == oracle_ids(backend, "a large")
    assert encoder.explain()["route"] == "native"


LITTLE_MEMORY = """
import resource
import corpus
import lopt_plugin
from lopt_plugin.encoder import route_choice
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1, prefix_cache_mb=0))
text = "some words and others, 12 " * 400_000
short = encoder.encode_list("a text before it " * 1000)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
calls = [
    encoder.encode_list, encoder.encode_ids, lambda text: encoder.encode_batch_ids([text, text]),
    encoder.encode_with_offsets, lambda text: encoder.incremental().append(text),
]
raised = 0
for room in range(4, 84, 8):
    resource.setrlimit(resource.RLIMIT_AS, (size + (room << 20), resource.RLIM_INFINITY))
    for call in calls:
        try:
            call(text)
        except MemoryError:
            raised += 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert raised > len(calls), raised
assert encoder.encode_list("a text before it " * 1000) == short
explained = encoder.explain()
assert (explained["route"], explained["hf_calls"]) == ("native", {}), explained
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory limits of Linux")
def test_under_a_memory_limit() -> None:
    """On one thread: where a new thread finds no memory for its own variables, the C library ends the process."""
    own_process.run(LITTLE_MEMORY)


class StandsForATokenizer:
    __class__ = Tokenizer  # type: ignore[assignment]

    def __init__(self, backend: Tokenizer) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def test_a_backend_that_cannot_be_watched(backend: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Encoder(StandsForATokenizer(backend), settings())  # type: ignore[arg-type]
    assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    assert encoder.explain()["route"] == "hf"
    assert "not tokenizers.Tokenizer" in encoder.explain()["reason"]
    assert "not tokenizers.Tokenizer" in caplog.text


class CoreWithoutSeams(FakeCore):
    def first_seam(self, text: str, begin: int) -> None:
        raise ArithmeticError("a bug")


def test_a_failed_seam_check_reports_no_text_count(
    backend: Tokenizer, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fake(CoreWithoutSeams)
    encoder = Encoder(backend, settings())
    assert encoder._runner.state.snapshot().native.takes_apart() is False
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage() == "lopt_plugin: the check of seams failed; texts are not split at seams"


def test_verify_returns_hf_ids_and_changes_the_route(
    backend: Tokenizer, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    WrongCore.word = "no hard text says this"
    fake(WrongCore)
    encoder = Encoder(backend, settings(verify=1))
    for text in TEXTS:
        assert encoder.encode_list(text) == oracle_ids(backend, text)
        assert encoder.encode_ids(text).tolist() == oracle_ids(backend, text)
        assert encoder.encode_batch_ids([text, "a"]).row(0).tolist() == oracle_ids(backend, text)
    assert encoder.explain()["route"] == "native"
    assert encoder.explain()["calls"]["verified"] == 3 * len(TEXTS)
    wrong = f"secret {WrongCore.word} secret"
    truncated = encoder._runner.run("a test", LIST, wrong, EncodeRequest(max_length=500))[0]
    assert truncated == oracle_ids(backend, wrong)
    assert encoder.explain()["route"] == "hf"
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "secret" not in record.getMessage()
    assert str(len(wrong)) in record.getMessage()
    assert encoder.encode_list(wrong) == oracle_ids(backend, wrong)
    # For good: a change of the tokenizer does not bring the wrong core back.
    backend.add_tokens(["another"])
    assert encoder.encode_list("another") == oracle_ids(backend, "another")
    assert encoder.explain()["route"] == "hf"
    assert encoder._copy_for(copy.deepcopy(backend)).explain()["route"] == "hf"


def test_verify_batch(backend: Tokenizer, fake: Any) -> None:
    WrongCore.word = "no hard text says this"
    fake(WrongCore)
    encoder = Encoder(backend, settings(verify=1))
    texts = ["a", WrongCore.word]
    assert encoder.encode_batch_ids(texts).ids.tolist() == [i for text in texts for i in oracle_ids(backend, text)]
    assert encoder.explain()["route"] == "hf"


@pytest.mark.parametrize(("share", "compared"), [(0.25, 10), (0.4, 16)])
def test_verify_share(backend: Tokenizer, fake: Any, share: float, compared: int) -> None:
    fake(FakeCore)
    encoder = Encoder(backend, settings(verify=share))
    for _ in range(40):
        encoder.encode_list("a")
    assert encoder._runner.verification.calls == compared


def test_verify_with_split_special_tokens(backend: Tokenizer) -> None:
    encoder = Encoder(backend, settings(verify=1))
    split = encoder._runner.hf.encode_list(TEXT, PLAIN[True][True])
    assert split != oracle_ids(backend, TEXT)
    assert encoder.encode_batch_ids([TEXT], split_special_tokens=True).ids.tolist() == split
    assert encoder.encode_with_offsets(TEXT, split_special_tokens=True)[0].tolist() == split
    assert encoder.explain()["route"] == "native"


def test_verify_gives_out_split_special_tokens(backend: Tokenizer, fake: Any) -> None:
    WrongCore.word = "no hard text says this"
    fake(WrongCore)
    encoder = Encoder(backend, settings(verify=1))
    texts = ["<|end|>", f"{WrongCore.word} <|end|>"]
    expected = [encoder._runner.hf.encode_list(text, PLAIN[True][True]) for text in texts]
    batch = encoder.encode_batch_ids(texts, split_special_tokens=True)
    assert [batch.row(row).tolist() for row in range(2)] == expected
    assert encoder.explain()["route"] == "hf"


def test_verify_ignores_truncation_set_by_other_users(backend: Tokenizer, fake: Any) -> None:
    """Others use the backend without our lock: the tokenizer that was given to `accelerate`, in another thread."""
    fake(FakeCore)
    encoder = Encoder(backend, settings(verify=1))
    times = [1, 2, 3]

    def disturbed(*arguments: Any, **named: Any) -> Any:
        if times:
            backend.enable_truncation(times.pop())
        return Tokenizer.encode(backend, *arguments, **named)

    expected = oracle_ids(backend, TEXT)
    backend.encode = disturbed
    assert encoder.encode_list(TEXT) == expected
    assert encoder.explain()["route"] == "native"
    assert not times
    assert backend.truncation["max_length"] == 1  # as the other one left it


def test_a_setter_waits_for_another_thread(backend: Tokenizer) -> None:
    """Up to tokenizers 0.22 it fails while another thread encodes; what was there before comes back all the same."""
    encoder = Encoder(backend, settings(route="hf"))
    request = EncodeRequest(max_length=5)
    expected = encoder._runner.run("a test", LIST, TEXT, request)[0]
    backend.enable_padding(length=9)
    before = backend.truncation, backend.padding
    failing = {"enable_truncation": 1, "no_truncation": 2, "no_padding": 3, "enable_padding": 1}

    def waits(name: str) -> Callable[..., Any]:
        def setter(*arguments: Any, **named: Any) -> Any:
            failing[name] -= 1
            if failing[name] >= 0:
                raise RuntimeError("Already borrowed")
            return getattr(Tokenizer, name)(backend, *arguments, **named)

        return setter

    for name in failing:
        setattr(backend, name, waits(name))
    assert encoder._runner.run("a test", LIST, TEXT, request)[0] == expected
    assert (backend.truncation, backend.padding) == before
    assert max(failing.values()) < 0


def test_self_check_is_short_and_covers_added_tokens(backend: Tokenizer) -> None:
    contents = [token.content for token in backend.get_added_tokens_decoder().values()]
    texts = hard_texts(contents)
    assert texts == hard_texts(contents)
    assert 180 < len(texts) < 320
    joined = "\0".join(texts)
    assert all(content in joined for content in contents)
    many = hard_texts([f"<|{k}|>" for k in range(5000)])
    assert len(many) < 1000
    assert all(f"<|{k}|>" in "\0".join(many) for k in range(0, 5000, 97))
    result = self_check(HfRoute(backend), HfRoute(copy.deepcopy(backend)), contents)
    assert (result.texts, result.mismatch) == (len(texts), None)


def test_a_long_list_of_added_tokens_is_sampled() -> None:
    """A million would take the self-check minutes, and Hugging Face ten seconds."""
    texts = hard_texts([f"<{number}>" for number in range(100_000)])
    assert len(texts) < 2_000
    assert "<0>" in "".join(texts)


def test_unsupported_tokenizers_say_why(caplog: pytest.LogCaptureFixture) -> None:
    word_piece = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with caplog.at_level(logging.INFO, "lopt_plugin"):
        encoder = Encoder(word_piece, settings())
    explained = encoder.explain("a")
    assert explained["route"] == "hf"
    assert "WordPiece" in explained["reason"]
    assert explained["text"] == {"characters": 1, "route": "hf", "chunks": 1, "gpu": ANY}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "WordPiece" in record.getMessage()
    assert encoder.encode_list("a") == [1]


def test_an_error_in_reading_a_tokenizer_is_logged_with_its_traceback(
    backend: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("lopt_plugin.encoder.route_choice.read_pipeline", {}.__getitem__)
    encoder = Encoder(backend, settings(threads=1))
    assert "reading the tokenizer failed: KeyError" in encoder.explain()["reason"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert "Traceback" in caplog.text
    assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)


def test_custom_components_go_to_hf(caplog: pytest.LogCaptureFixture) -> None:
    class Custom:
        def normalize(self, normalized: Any) -> None:
            normalized.lowercase()

    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(tokenizer, settings())
    before = encoder.encode_list("ABC")
    tokenizer.normalizer = normalizers.Normalizer.custom(Custom())
    assert encoder.encode_list("ABC") == tokenizer.encode("ABC").ids != before
    explained = encoder.explain()
    assert (explained["route"], "normalizer cannot be read" in explained["reason"]) == ("hf", True)
    assert "Traceback" not in caplog.text


def test_other_backends_are_not_touched() -> None:
    class Shim:
        truncation = padding = None
        encode_special_tokens = False

    encoder = Encoder(Shim(), settings())  # type: ignore[arg-type]
    assert "Shim, not tokenizers.Tokenizer" in encoder.explain()["reason"]


def test_route_set_to_hf_is_no_warning(backend: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lopt_plugin"):
        assert Encoder(backend, settings(route="hf")).explain()["reason"] == "route is set to 'hf'"
    assert [record.levelname for record in caplog.records] == ["INFO"]


def test_lazy_builds_at_first_use(backend: Tokenizer, fake: Any, caplog: pytest.LogCaptureFixture) -> None:
    fake(FakeCore)
    with caplog.at_level(logging.INFO, "lopt_plugin"):
        encoder = Encoder(backend, settings(), lazy=True)
        assert caplog.records == []
        assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    assert len(caplog.records) == 1


def test_explain_is_json(backend: Tokenizer, fake: Any) -> None:
    fake(FakeCore)
    encoder = Encoder(backend, settings())
    encoder.encode_list(TEXT)
    explained = json.loads(json.dumps(encoder.explain(TEXT)))
    assert explained["route"] == "native"
    assert explained["threads"] == 2
    libraries = {"tokenizers", "transformers", "python", "character_classes"}
    assert explained["versions"].keys() == {"lopt_plugin", "native_core", *libraries}
    assert explained["self_check"]["mismatch"] is None
    assert explained["calls"] == {"native": 1, "hf_chunks": 0, "gpu": 0, "hf": 0, "verified": 0}


def test_two_encoders_of_one_backend_both_notice_a_change(backend: Tokenizer, fake: Any) -> None:
    built = []
    fake(lambda backend: built.append(1) or FakeCore(backend))  # type: ignore[func-returns-value]
    one, other = Encoder(backend, settings()), Encoder(backend, settings())
    del one
    backend.add_tokens(["world"])
    assert other.encode_list(TEXT) == oracle_ids(backend, TEXT)
    another = Encoder(backend, settings())
    assert len(built) == 4
    backend.add_tokens([AddedToken("isn't", lstrip=True)])
    for encoder in (other, another):
        assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    # The same tokens again are no change.
    backend.add_tokens([AddedToken("isn't", lstrip=True)])
    for encoder in (other, another):
        assert encoder.encode_list(TEXT) == oracle_ids(backend, TEXT)
    assert len(built) == 6


def test_changes_under_load(backend: Tokenizer) -> None:
    """Threads that encode while tokens are added get the ids of before or of after, never others."""
    encoder = Encoder(backend, settings())
    text = "the world is one world"
    before = oracle_ids(backend, text)
    changed = copy.deepcopy(backend)
    changed.add_tokens(["world"])
    after = oracle_ids(changed, text)
    found: list[list[int]] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            found.append(encoder.encode_list(text))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    # The reference's getters make objects while they hold its lock. A collection there may run Python code (Hypothesis
    # has a callback), which lets another thread change the tokenizer: that one then waits, with the interpreter lock.
    gc.disable()
    backend.add_tokens(["world"])
    gc.enable()
    now = encoder.encode_list(text)
    stop.set()
    for worker in workers:
        worker.join()
    assert now == after
    assert {tuple(ids) for ids in found} <= {tuple(before), tuple(after)}


def test_whole_pipeline_of_the_real_core() -> None:
    """The one place here that needs the compiled core."""
    for name in ("tiny_qwen2", "tiny_cl100k", "tiny_o200k", "tiny_roberta"):
        backend = corpus.load_tokenizer(name)
        encoder = Encoder(backend, settings(parallel_min_chars=10, chunk_chars=7, threads=3))
        assert encoder.explain()["route"] == "native", encoder.explain()["reason"]
        for text in TEXTS:
            assert encoder.encode_list(text) == oracle_ids(backend, text)
            assert encoder.encode_ids(text).tolist() == oracle_ids(backend, text)


def test_pre_tokenizer_changed_in_place(backend: Tokenizer) -> None:
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encoder = Encoder(backend, settings())
    before = encoder.encode_list("word")
    backend.pre_tokenizer.add_prefix_space = True
    assert encoder.encode_list("word") == oracle_ids(backend, "word") != before


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("bert_base_uncased", "unk_token", "[MASK]"),
        ("bert_base_uncased", "continuing_subword_prefix", "@@"),
        ("bert_base_uncased", "max_input_chars_per_word", 5),
        ("tiny_llama2", "unk_token", "</s>"),
        ("tiny_llama2", "fuse_unk", False),
        ("tiny_llama2", "byte_fallback", False),
        ("tiny_qwen2", "ignore_merges", True),
        ("tiny_qwen2", "dropout", 1.0),
    ],
)
def test_options_of_the_model_changed_in_place(name: str, option: str, value: Any) -> None:
    backend = corpus.load_tokenizer(name)
    encoder = Encoder(backend, settings())
    assert encoder.explain()["route"] == "native"
    text = "unbelievable internationalization \u2603\u2603 \u6f22\u5b57\ue000\ue001"
    assert encoder.encode_list(text) == oracle_ids(backend, text)
    setattr(backend.model, option, value)
    assert encoder.encode_list(text) == oracle_ids(backend, text)


def test_a_pickle_holds_nothing_of_earlier_calls() -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=3))
    encoder._split_special_tokens = True
    before = pickle.dumps(encoder)
    expected = encoder.encode_batch_ids(TEXTS).ids.tolist()
    encoder.encode_with_offsets(TEXT)
    assert pickle.dumps(encoder) == before
    restored = pickle.loads(before)
    assert (restored._runner.settings, restored._split_special_tokens) == (encoder._runner.settings, True)
    assert restored.encode_batch_ids(TEXTS).ids.tolist() == expected


def test_a_token_added_twice_with_different_flags() -> None:
    """Before tokenizers 0.23 its old flags count as well; then the self-check notices, and the reference answers."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.add_tokens([AddedToken("lonesome", normalized=False)])
    backend.add_tokens([AddedToken("lonesome", normalized=True)])
    encoder = Encoder(backend, settings())
    for text in ("lonesome", "lonesome\u0301", "a lonesome\u0301 b", "lonesom\u0065\u0301"):
        assert encoder.encode_list(text) == backend.encode(text).ids


def test_more_added_tokens_than_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_choice, "MOST_ADDED_TOKENS", 2)
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.add_tokens(["<one>", "<two>", "<three>"])
    encoder = Encoder(backend, settings())
    assert "added tokens are more than the 2 that are read" in encoder.explain()["reason"]
    assert encoder.encode_list("a<two>b") == backend.encode("a<two>b").ids


def test_hard_texts_that_the_reference_cannot_encode(caplog: pytest.LogCaptureFixture) -> None:
    backend = Tokenizer(models.WordPiece({"a": 0, "b": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    encoder = Encoder(backend, settings(threads=2))
    assert "the reference cannot encode a hard text: Exception: WordPiece error" in encoder.explain()["reason"]
    assert encoder.encode_list("a b") == [0, 1]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
