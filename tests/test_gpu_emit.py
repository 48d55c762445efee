"""Packed ids, row offsets and padded rows against the references; and words to ids as a whole, whatever the cache."""

from __future__ import annotations

import random

import native_cores
import numpy as np
import pytest
from kernel_device import DEVICE, make_interpreter_faster, to_device, torch

from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.device.tables import host_tables
from lopt_plugin.token_batch import TokenBatch
from lopt_plugin.triton_kernels.batch import ASIDE, ID_COUNT, LEAST_BUCKET, WORD_COUNT, Batch, Scratch, clear
from lopt_plugin.triton_kernels.device_words import padded
from lopt_plugin.triton_kernels.emit import kernel, naive
from lopt_plugin.triton_kernels.limits import MASK_TILE
from lopt_plugin.triton_kernels.words_to_ids import Tables, WordsToIds


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


@pytest.mark.parametrize("tile", [16, 1024])
@pytest.mark.parametrize("left", [False, True])
def test_padding(tile: int, left: bool) -> None:
    rng = random.Random(tile)
    rows = [np.array(rng.choices(range(100), k=rng.choice([0, 1, 5, 16, 17, 40])), np.int32) for _ in range(9)]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    for width in (0, 1, 16, 20, 64):
        found = kernel.pad(to_device(np.concatenate(rows)), to_device(offsets), width, 77, left=left, tile=tile)
        for got, expected in zip(found, naive.pad(rows, width, 77, left=left), strict=True):
            assert np.array_equal(got.cpu().numpy(), expected)


def test_padding_of_a_batch(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rows = [np.arange(n, dtype=np.int32) for n in (3, 0, 7)]
    batch = TokenBatch(to_device(np.concatenate(rows)), to_device(np.array([0, 3, 3, 10])))
    expected = naive.pad(rows, 8, 77, left=True)
    for of_torch in (False, True):
        if of_torch:
            monkeypatch.setattr(kernel, "pad", lambda *_, **__: 1 // 0)
        for got, wanted in zip(batch.padded(77, side="left", multiple=4), expected, strict=True):
            assert got.device.type == DEVICE
            assert np.array_equal(got.cpu().numpy(), wanted)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_padding_of_nothing() -> None:
    none = TokenBatch(to_device(np.empty(0, np.int32)), to_device(np.zeros(1, np.int64))).padded(0)
    assert none.input_ids.shape == none.attention_mask.shape == (0, 0)


@pytest.mark.parametrize(("slots", "factor"), [(1, 1), (32, 4), (4096, 16)])
def test_words_to_ids_with_any_cache(slots: int, factor: int) -> None:
    core, reference = native_cores.core_and_reference("tiny_cl100k")
    pipeline = read_pipeline(reference)
    assert isinstance(pipeline, Pipeline)
    tables = host_tables(pipeline, core)
    device = torch.device(DEVICE)
    convert = WordsToIds(Tables.on(device, tables.entries, tables.pairs), device, slots, factor)
    batch, scratch = Batch.empty(LEAST_BUCKET, device), Scratch.empty(LEAST_BUCKET, device, factor * MASK_TILE)
    rng = random.Random(slots)
    stems = [
        "internationalization",
        "zzxq",
        "é中文",
        "Straßenbahnhaltestelle",
        "x" * 40,
        "=" * 100,
        "the",
        "Ω",
        "zqx" * 100,
        "xyz" * 50,
    ]
    for _ in range(2):
        words: list[bytes] = []
        token_ids: list[int] = []
        row_ends: list[int] = []
        expected: list[list[int]] = []
        for _ in range(60):
            if rng.random() < 0.2:
                words.append(b"\xff")
                token_ids.append(rng.choice([-2, -2, 5, 900_000]))
                expected.append([token_ids[-1]] if token_ids[-1] >= 0 else [])
                if rng.random() < 0.5:
                    row_ends.append(len(token_ids) - 1)
            else:
                words.append(
                    (rng.choice(stems)[: rng.choice([rng.randint(1, 100), 300])] + rng.choice(["", "q"])).encode()
                )
                expected.append(core.encode_word(words[-1], True))
        words.append(b"\xff")
        token_ids.append(-2)
        expected.append([])
        text = np.frombuffer(b"".join(words), np.uint8)
        starts = np.cumsum([0, *map(len, words)]).astype(np.int32)
        separators = [number for number, word in enumerate(words) if word == b"\xff"]
        text_words = padded(text)
        batch.text_words[: len(text_words)] = to_device(text_words)
        # Behind the text, the buffer is full of words that are none.
        starts = np.concatenate([starts, np.arange(len(text) + 1, LEAST_BUCKET + 1, dtype=np.int32)])
        scratch.word_starts[: len(starts)] = to_device(starts)
        for target, values in (
            (batch.sizes, [len(text), len(separators), len(row_ends)]),
            (batch.positions, starts[separators]),
            (batch.token_ids, token_ids),
            (batch.row_ends, row_ends),
        ):
            target[: len(values)] = to_device(np.array(values, np.int32))
        clear(batch)
        batch.counters[WORD_COUNT] = len(starts) - 1
        convert.launch(batch, scratch)
        aside = int(batch.counters[ASIDE])
        assert aside == sum(len(word) > 256 for word in words)
        if aside:
            convert.merge_aside(batch, scratch, aside)
        found_ids = batch.ids[: int(batch.counters[ID_COUNT])]
        found_offsets = batch.row_offsets[: len(row_ends) + 1]
        ids, offsets = naive.emit(expected, [separators[number] + 1 for number in row_ends])
        assert np.array_equal(found_ids.cpu().numpy(), ids)
        assert np.array_equal(found_offsets.cpu().numpy(), offsets)
