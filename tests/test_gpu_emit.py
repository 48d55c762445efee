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
from lopt_plugin.triton_kernels.device_words import padded
from lopt_plugin.triton_kernels.emit import kernel, naive
from lopt_plugin.triton_kernels.lookup.naive import MISSED, SEPARATOR
from lopt_plugin.triton_kernels.word_cache.kernel import FIRST_SLOT, KEY_BYTES, WordCache
from lopt_plugin.triton_kernels.words_to_ids import Separators, Tables, WordsToIds
from lopt_plugin.triton_kernels.workspace import Workspace


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


@pytest.mark.parametrize("tile", [16, 64, 512])
def test_packing_over_tiles(tile: int) -> None:
    """Words of every sort, whose ids cross the tiles' ends: entries, cached ones, merged ones, separators, tokens."""
    rng = random.Random(tile)
    words, cache = 300, WordCache.empty(64, torch.device(DEVICE))
    key_counts = np.array([rng.randint(1, KEY_BYTES) for _ in range(64)], np.int32)
    key_ids = np.array([rng.choices(range(1000), k=KEY_BYTES) for _ in range(64)], np.int32)
    cache.key_counts.copy_(to_device(key_counts))
    cache.key_ids.copy_(to_device(key_ids))
    lengths = rng.choices([1, 2, 7, 40, 150], k=words)
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    merged = np.full(starts[-1], -7, np.int32)
    word_ids, counts = np.full(words, -7, np.int32), np.full(words, -7, np.int32)
    expected: list[list[int]] = []
    separators = []
    for number, length in enumerate(lengths):
        sort = rng.choice(["entry", "cached", "merged", "separator", "token"])
        if sort == "merged":
            ids = rng.choices(range(1000), k=rng.randint(1, length))
            merged[starts[number] : starts[number] + len(ids)], counts[number] = ids, len(ids)
            word_ids[number] = MISSED
        elif sort == "cached":
            slot = rng.randrange(64)
            ids, word_ids[number] = key_ids[slot, : key_counts[slot]].tolist(), FIRST_SLOT - slot
        else:
            ids = [] if sort == "separator" else [rng.randrange(1000)]
            word_ids[number] = SEPARATOR if sort == "separator" else ids[0]
            separators += [number] if sort in ("separator", "token") else []
        expected.append(ids)
    wanted, wanted_offsets = naive.emit(expected, [number + 1 for number in separators])

    device_ids, device_starts, device_counts = map(to_device, (word_ids, starts, counts))
    device_ids[separators] = SEPARATOR
    numbers = kernel.place_separators(
        device_starts, device_ids, to_device(starts[separators]), to_device(word_ids[separators])
    )
    assert numbers.tolist() == separators
    assert device_ids.tolist() == word_ids.tolist()
    id_offsets = torch.full((words + 1,), -7, dtype=torch.int64, device=DEVICE)
    kernel.offsets(device_ids, device_counts, id_offsets, cache, tile=tile)
    assert id_offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert id_offsets[numbers + 1].tolist() == wanted_offsets[1:].tolist()
    around = torch.full((len(wanted) + 128,), -7, dtype=torch.int32, device=DEVICE)
    ids = around[64:-64]
    kernel.emit(device_ids, device_starts, to_device(merged), device_counts, id_offsets, cache, ids, tile=tile)
    assert np.array_equal(ids.cpu().numpy(), wanted)
    assert bool((around[:64] == -7).all() and (around[-64:] == -7).all())


@pytest.mark.parametrize(("slots", "factor"), [(1, 1), (32, 4), (4096, 16)])
def test_words_to_ids_with_any_cache(slots: int, factor: int) -> None:
    core, reference = native_cores.core_and_reference("tiny_cl100k")
    pipeline = read_pipeline(reference)
    assert isinstance(pipeline, Pipeline)
    tables = host_tables(pipeline, core)
    device = torch.device(DEVICE)
    convert = WordsToIds(Tables.on(device, tables.entries, tables.pairs), Workspace(device), slots, factor)
    rng = random.Random(slots)
    stems = ["internationalization", "zzxq", "é中文", "Straßenbahnhaltestelle", "x" * 40, "=" * 100, "the", "Ω"]
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
                words.append((rng.choice(stems)[: rng.randint(1, 100)] + rng.choice(["", "q"])).encode())
                expected.append(core.encode_word(words[-1], True))
        text = np.frombuffer(b"".join(words), np.uint8)
        starts = np.cumsum([0, *map(len, words)]).astype(np.int32)
        separators = [number for number, word in enumerate(words) if word == b"\xff"]
        found_ids, found_offsets = convert(
            to_device(padded(text)),
            len(text),
            to_device(starts),
            Separators(
                to_device(starts[separators]),
                to_device(np.array(token_ids, np.int32)),
                to_device(np.array(row_ends, np.int64)),
            ),
        )
        ids, offsets = naive.emit(expected, [separators[number] + 1 for number in row_ends])
        assert np.array_equal(found_ids.cpu().numpy(), ids)
        assert np.array_equal(found_offsets.cpu().numpy(), offsets)
