"""The whole GPU route against Hugging Face: real documents, hard texts, added tokens, streaming, failures, threads."""

from __future__ import annotations

import functools
import itertools
import logging
import os
from typing import Any

import corpus
import numpy as np
import pytest
import tier
from kernel_device import INTERPRETED, make_interpreter_faster, torch
from tokenizers import AddedToken, Tokenizer, normalizers

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.gpu import route as gpu
from lopt_plugin.routes.gpu.device import GpuUnavailableError, numbered
from lopt_plugin.routes.gpu.route import GpuRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN, EncodeRequest, NeedsReference
from lopt_plugin.settings import Settings
from lopt_plugin.triton_kernels.common.limits import SEPARATOR_SHARE
from lopt_plugin.triton_kernels.emit import kernel as emit

# One tokenizer for each split pattern in a fresh clone; the families of the GPU route beside ../shared.
SMALL = ["roberta_base", "qwen3", "tiny_qwen3_5", "tiny_cl100k", "tiny_o200k", "tiny_tekken", "tiny_deepseek_v3"]
LARGE = ["gpt2", "llama3", "gpt_oss", "gpt4o", "deepseek_v3", "mistral_tekken"]
NAMES = [
    *SMALL,
    *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE if name in corpus.tokenizer_names()),
]


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def made(tokenizer: Tokenizer, **options: Any) -> GpuRoute:
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    native = NativeRoute(pipeline, Settings.read({}, threads=1))
    return GpuRoute(pipeline, native, **{"check": False, "cache_slots": 1 << 12, **options})


@functools.cache
def route_and_reference(name: str) -> tuple[GpuRoute, Tokenizer]:
    tokenizer = corpus.load_tokenizer(name)
    return made(tokenizer), tokenizer


def rows(found: tuple[Any, Any]) -> list[list[int]]:
    ids, offsets = (part.tolist() for part in found)
    assert len(ids) == offsets[-1]
    return [ids[begin:end] for begin, end in itertools.pairwise(offsets)]


def expected(reference: Tokenizer, texts: list[str], special: bool = True, split: bool = False) -> list[list[int]]:
    reference.encode_special_tokens = split
    encodings = reference.encode_batch_fast(texts, add_special_tokens=special)
    reference.encode_special_tokens = False
    return [encoding.ids for encoding in encodings]


def documents(characters: int) -> list[str]:
    return [text for name in ("books_en", "code", "multi", "zh") for text in corpus.texts(name, characters)]


def hard(count: int) -> list[str]:
    """Some hard texts of every family, shortened for the interpreter."""
    return [text[:60] for family in corpus.conformance_families() for text in corpus.conformance(family)[:count]]


@pytest.mark.parametrize("name", NAMES)
def test_documents_and_hard_texts(name: str) -> None:
    route, reference = route_and_reference(name)
    tokens = [token.content for token in reference.get_added_tokens_decoder().values()][:3]
    texts = [*documents(tier.pick(150, 300)), *hard(tier.pick(1, 2)), ""]
    texts += [*("a " + token + token + " b" for token in tokens), "e\u0301 \u212b"]
    texts += ["中文" * 40, " " * 70 + "x"]
    before = route.texts_on_device
    assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(reference, texts)
    assert rows(route.encode_batch(texts[-6:], PLAIN[False][True])) == expected(reference, texts[-6:], False, True)
    assert route.failure is None
    assert route.texts_on_device - before > len(texts) // 2


def test_batches_are_streamed_and_stay_in_order() -> None:
    route, reference = (
        made(corpus.load_tokenizer("qwen3"), chunk_bytes=600, longest_bytes=600, cache_slots=64),
        corpus.load_tokenizer("qwen3"),
    )
    texts = [text[:500] for text in documents(900)] + ["e\u0301", "", "a" * 601, "b" * 590, "x<|im_end|>"] * 2
    ids, offsets = route.encode_on_device(texts, PLAIN[True][False])
    assert (ids.dtype, offsets.dtype) == (torch.int32, torch.int64)
    assert ids.device.type == route.device.type
    assert rows((ids, offsets)) == expected(reference, texts)
    assert route.texts_on_host >= 4
    assert route.texts_on_device >= len(texts) // 2
    assert rows(route.encode_batch([], PLAIN[True][False])) == []


def test_a_chunk_is_computed_while_the_ids_of_the_last_one_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """And they are copied once, to where they stay."""
    reference = corpus.load_tokenizer("tiny_o200k")
    route, done = made(reference, chunk_bytes=40), []
    for step in ("launch", "take"):
        healthy = getattr(route._batch, step)
        noted = lambda *given, step=step, healthy=healthy, **options: done.append(step) or healthy(*given, **options)  # noqa: E731
        monkeypatch.setattr(route._batch, step, noted)
    texts = ["a word", "another, longer one", "third"] * 3
    with monkeypatch.context() as patch:
        patch.setattr(torch, "cat", None)
        ids, offsets = route.encode_batch(texts, PLAIN[True][False])
    assert rows((ids, offsets)) == expected(reference, texts)
    assert done[:3] == ["launch", "launch", "take"]
    assert done[-2:] == ["take", "take"]
    assert ids.base is None or len(ids.base) == len(ids)  # no room is left


def test_long_pre_tokens_go_to_the_native_core_together() -> None:
    """By all threads, and the host does not wait for each pass of their merges."""
    for name in ("tiny_o200k", "qwen3"):
        route, reference = made(corpus.load_tokenizer(name)), corpus.load_tokenizer(name)
        waits, wait = [], route._batch._stream.wait
        route._batch._stream.wait = lambda lane, waits=waits, wait=wait: waits.append(wait(lane))
        texts = ["x" * 700 + " " + "zxq" * 300 + " a", "中文" * 300, "=" * 257, "=" * 256, "ab" * 5000]
        assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(reference, texts)
        assert (len(waits), route.texts_on_host) == (3, 0)  # for the lengths of all, the kernels again, the ids


def test_chunks_are_planned_by_bytes() -> None:
    """A curly quote makes a text a few bytes longer, not four times."""
    route = made(corpus.load_tokenizer("qwen3"), chunk_bytes=400, longest_bytes=500, check=False)
    texts = ["a" * 50 + "\u2019s"] * 12 + ["", "\U0001f600" * 80, "b" * 499, "c" * 500, "e\u0301", "\u00e9"]
    _, chunks, host, _ = route.chunks_of(texts, PLAIN[False][False])
    assert host.tolist() == [15, 16]
    assert [number for chunk in chunks for number in chunk.numbers] == [*range(15), 17]
    assert [chunk.utf8_bytes for chunk in chunks] == [sum(len(texts[n].encode()) for n in c.numbers) for c in chunks]
    assert all(chunk.utf8_bytes <= 400 or len(chunk.numbers) == 1 for chunk in chunks)
    assert len(chunks[0].numbers) == 400 // (54 + SEPARATOR_SHARE)


def test_added_tokens_that_look_around_themselves() -> None:
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    tokenizer.add_tokens([AddedToken("<lonely>", single_word=True), AddedToken("<left>", lstrip=True)])
    tokenizer.add_tokens([AddedToken("<plain>"), AddedToken("<plain>er", normalized=False), AddedToken("in>e")])
    tokenizer.add_special_tokens([AddedToken("<sp>"), AddedToken("<pl", normalized=False)])
    route = made(tokenizer)
    pieces = [
        "<lonely>",
        "a<lonely>",
        "  <left>",
        "<plain>er",
        "<plain>",
        "<sp>",
        "<s<sp>",
        "<pl<plain>",
        "x",
        " y",
        "<pl",
    ]
    texts = [first + second + third for first in pieces for second in pieces[::2] for third in ("", " z")]
    for special, split in ((True, False), (False, True)):
        assert rows(route.encode_batch(texts, PLAIN[special][split])) == expected(tokenizer, texts, special, split)
    assert (route.texts_on_device, route.texts_on_host) == (2 * len(texts), 0)


def test_normalizers() -> None:
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    route = made(tokenizer)
    texts = ["plain", "Capital", "ﬁ", "é", "e\u0301", "ß", "İ", "ǅ", "a\u0300 b", "中", "①"]
    assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(tokenizer, texts)
    assert route.texts_on_device == 4
    tokenizer.normalizer = normalizers.Strip()
    with pytest.raises(GpuUnavailableError, match="Strip"):
        made(tokenizer)


@pytest.mark.parametrize("name", ["tiny_falcon", "tiny_llama2", "tiny_clip", "tiny_starcoder"])
def test_pipelines_that_the_kernels_cannot_encode_are_refused(name: str) -> None:
    with pytest.raises(GpuUnavailableError):
        made(corpus.load_tokenizer(name))


def test_lone_surrogates() -> None:
    for name in ("qwen3", "tiny_o200k"):
        with pytest.raises(NeedsReference):
            route_and_reference(name)[0].encode_batch(["a", "\ud800"], PLAIN[True][False])
        assert route_and_reference(name)[0].usable


@pytest.mark.parametrize("step", ["send", "launch", "settle", "take"])
def test_device_that_fails(step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = corpus.load_tokenizer("tiny_o200k")
    route = made(tokenizer, chunk_bytes=40)
    texts = ["a word", "another, longer one", "third"] * 3
    healthy, calls = getattr(route._batch, step), []

    def sometimes(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise torch.cuda.OutOfMemoryError("no memory")
        if len(calls) == 4:
            raise RuntimeError("the device is gone")
        return healthy(*arguments, **options)

    monkeypatch.setattr(route._batch, step, sometimes)
    with caplog.at_level(logging.WARNING, "lopt_plugin"):
        for _ in range(3):
            assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(tokenizer, texts)
            assert rows(route.encode_on_device(texts, PLAIN[True][False])) == expected(tokenizer, texts)
    assert len(calls) == 4
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert route.failure == "RuntimeError: the device is gone"
    assert not route.usable


def test_half_done_batch_leaves_no_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = corpus.load_tokenizer("tiny_o200k")
    route = made(tokenizer)
    from lopt_plugin.triton_kernels.merge import kernel

    with monkeypatch.context() as patch:
        patch.setattr(kernel, "merge", lambda *_, **__: (_ for _ in ()).throw(torch.cuda.OutOfMemoryError("no memory")))
        assert rows(route.encode_batch(["zzxqj unknownish"], PLAIN[True][False])) == expected(
            tokenizer, ["zzxqj unknownish"]
        )
    assert route.usable
    texts = ["other zzxqj", "zzxqj unknownish"]
    assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(tokenizer, texts)
    assert route.texts_on_device == 2


@pytest.mark.parametrize("name", tier.pick(["tiny_o200k"], ["tiny_cl100k", "tiny_o200k"]))
def test_tiles_inside_of_documents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the tiles of a GPU, which are smaller than the interpreter's elsewhere, each kernel has several."""
    monkeypatch.setattr(gpu, "_INTERPRETED_TILE_FACTOR", 1)
    reference = corpus.load_tokenizer(name)
    route = made(reference)
    texts = [*documents(700), "7" * 1100 + "a" * 1100 + " " * 1000 + "\n\n!" * 100 + "x's" * 20]
    assert rows(route.encode_batch(texts, PLAIN[True][False])) == expected(reference, texts)
    assert route.failure is None
    assert route.texts_on_device >= len(texts) - 1


def test_after_a_fork_the_native_route_encodes() -> None:
    route, reference = made(corpus.load_tokenizer("tiny_tekken")), corpus.load_tokenizer("tiny_tekken")
    route._process = os.getpid() + 1
    assert rows(route.encode_batch(["a fork"], PLAIN[True][False])) == expected(reference, ["a fork"])
    assert (route.texts_on_device, route.texts_on_host) == (0, 1)


def test_self_check(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(gpu, "hard_texts", lambda _: ["a b", "isn't it", "<|end|>"])
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    emit_aside, emitted = emit.emit_aside, []
    monkeypatch.setattr(emit, "emit_aside", lambda *given: emitted.append(emit_aside(*given)))
    assert made(tokenizer, check=True).texts_on_device > 0
    assert emitted  # loaded now, not in the middle of a batch
    monkeypatch.setattr(GpuRoute, "encode_batch", lambda *_: (np.zeros(1, np.int32), np.array([0, 1])))
    with pytest.raises(GpuUnavailableError, match="ids that differ"):
        made(tokenizer, check=True)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "Please report" in caplog.text


def test_self_check_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from lopt_plugin.routes.gpu.batch import DeviceBatch

    def no_memory(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(DeviceBatch, "send", no_memory)
    with pytest.raises(GpuUnavailableError, match="encoded nothing on the device"):
        made(corpus.load_tokenizer("tiny_cl100k"), check=True)


class TestEncoder:
    """Where an Encoder uses the route."""

    @pytest.fixture(autouse=True)
    def _short_check(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu, "hard_texts", lambda _: ["a b", "isn't it"])

    TEXTS = ("Hello world", "", "isn't it?", "é中文")

    def test_batches_of_the_route_gpu(self) -> None:
        backend = corpus.load_tokenizer("tiny_o200k")
        encoder = Encoder(backend, Settings.read({}, route="gpu", threads=1))
        batch = encoder.encode_batch_ids(self.TEXTS)
        assert isinstance(batch.ids, np.ndarray)
        assert [batch.row(n).tolist() for n in range(len(batch))] == expected(backend, list(self.TEXTS))
        lists = encoder._encode(self.TEXTS, EncodeRequest(max_length=3))[0].ids
        assert lists == [row[:3] for row in expected(backend, list(self.TEXTS))]
        explained = encoder.explain()
        assert explained["calls"]["gpu"] == 2
        assert explained["gpu"][numbered("cuda")]["texts_on_device"] >= 8
        with pytest.raises(TypeError):
            encoder.encode_batch_ids(["a", "\ud800"])

    def test_calls_that_name_a_device(self) -> None:
        backend = corpus.load_tokenizer("tiny_o200k")
        encoder = Encoder(backend, Settings.read({}, threads=1))
        batch = encoder.encode_batch_ids(self.TEXTS, device="cuda")
        assert (batch.ids.dtype, batch.row_offsets.dtype) == (torch.int32, torch.int64)
        assert [batch.row(n).tolist() for n in range(len(batch))] == expected(backend, list(self.TEXTS))
        table, mask = batch.padded(9, side="left", multiple=4)
        assert {table.device.type, mask.device.type} == {batch.ids.device.type}
        backend.enable_padding(direction="left", pad_id=9, pad_to_multiple_of=4)
        encodings = backend.encode_batch(list(self.TEXTS))
        backend.no_padding()
        assert table.tolist() == [encoding.ids for encoding in encodings]
        assert mask.tolist() == [encoding.attention_mask for encoding in encodings]
        assert (
            encoder._copy_for(Tokenizer.from_str(backend.to_str()))._runner.gpu._routes == encoder._runner.gpu._routes
        )
        with pytest.raises(TypeError):
            encoder.encode_batch_ids(["a", "\ud800"], device="cuda")

    def test_verification_gives_tensors_too(self) -> None:
        backend = corpus.load_tokenizer("tiny_o200k")
        encoder = Encoder(backend, Settings.read({}, threads=1, verify=1.0))
        batch = encoder.encode_batch_ids(self.TEXTS, device="cuda")
        assert batch.row(0).tolist() == expected(backend, list(self.TEXTS))[0]
        assert encoder._runner.verification.calls == 1 or encoder._runner.verification.calls == len(self.TEXTS)

    def test_pipeline_without_kernels_goes_to_the_native_route(self, caplog: pytest.LogCaptureFixture) -> None:
        backend = corpus.load_tokenizer("tiny_falcon")
        encoder = Encoder(backend, Settings.read({}, threads=1))
        with caplog.at_level(logging.WARNING, "lopt_plugin"):
            for _ in range(2):
                batch = encoder.encode_batch_ids(self.TEXTS, device="cuda")
                assert [batch.row(n).tolist() for n in range(len(batch))] == expected(backend, list(self.TEXTS))
        assert caplog.text.count("the GPU is not used") == 1
        assert "unavailable" in encoder.explain()["gpu"][numbered("cuda")]

    @pytest.mark.skipif(not INTERPRETED, reason="there is a GPU")
    def test_auto_never_uses_an_absent_gpu(self) -> None:
        encoder = Encoder(corpus.load_tokenizer("tiny_o200k"), Settings.read({}, threads=1, gpu_min_bytes=0))
        encoder.encode_batch_ids(self.TEXTS)
        assert encoder.explain()["gpu"] is None
