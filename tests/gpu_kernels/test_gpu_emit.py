"""Packed ids, row offsets and padded rows against the references; and words to ids as a whole, whatever the cache."""

from __future__ import annotations

import functools
import random

import native_cores
import numpy as np
import pytest
from kernel_device import DEVICE, make_interpreter_faster, to_device, torch

from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.gpu.tables import host_tables
from lopt_plugin.triton_kernels.batch.buffers import ASIDE, ID_COUNT, LEAST_BUCKET, WORD_COUNT, Batch, Scratch, clear
from lopt_plugin.triton_kernels.batch.words_to_ids import Tables, WordsToIds
from lopt_plugin.triton_kernels.common.device_words import padded
from lopt_plugin.triton_kernels.common.limits import MASK_TILE
from lopt_plugin.triton_kernels.common.word_ids import FIRST_SLOT, MISSED, SEPARATOR, SET_ASIDE
from lopt_plugin.triton_kernels.emit import kernel, naive
from lopt_plugin.triton_kernels.word_cache.cache import KEY_BYTES, WordCache


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def test_padding_of_a_batch() -> None:
    rows = [np.arange(n, dtype=np.int32) for n in (3, 0, 7)]
    batch = TokenBatch(to_device(np.concatenate(rows)), to_device(np.array([0, 3, 3, 10])))
    for side in ("left", "right"):
        expected = naive.pad(rows, 8, 77, left=side == "left")
        for got, wanted in zip(batch.padded(77, side=side, multiple=4), expected, strict=True):
            assert got.device.type == DEVICE
            assert np.array_equal(got.cpu().numpy(), wanted)


def test_padding_of_nothing() -> None:
    none = TokenBatch(to_device(np.empty(0, np.int32)), to_device(np.zeros(1, np.int64))).padded(0)
    assert none.input_ids.shape == none.attention_mask.shape == (0, 0)


@pytest.mark.parametrize("tile", [16, 64, 512])
def test_packing_over_tiles(tile: int) -> None:
    """Words of every sort, whose ids cross the tiles' ends."""
    rng = random.Random(tile)
    count, cache = 300, WordCache.empty(64, torch.device(DEVICE))
    key_counts = np.array([rng.randint(1, KEY_BYTES) for _ in range(64)], np.int32)
    key_ids = np.array([rng.choices(range(1000), k=KEY_BYTES) for _ in range(64)], np.int32)
    cache.key_counts.copy_(to_device(key_counts))
    cache.key_ids.copy_(to_device(key_ids))
    sorts = rng.choices(["entry", "cached", "merged", "aside", "separator", "token"], k=count - 3)
    sorts += ["merged", "aside", "separator"]
    lengths = [1 if sort in ("separator", "token") else rng.choice([1, 2, 7, 40, 150]) for sort in sorts]
    lengths[-3:-1] = 256, 800
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    merged = np.full(starts[-1], -7, np.int32)
    word_ids, counts = np.full(count, -7, np.int32), np.full(count, -7, np.int32)
    ids_of_words: list[list[int]] = []
    for number, (sort, length) in enumerate(zip(sorts, lengths, strict=True)):
        ids = [rng.randrange(1000)] if sort in ("entry", "token") else []
        word_ids[number] = ids[0] if ids else SEPARATOR
        if sort in ("merged", "aside"):
            ids = rng.choices(range(1000), k=rng.randint(1, length) if length < 256 else length)
            counts[number], word_ids[number] = len(ids), MISSED if sort == "merged" else SET_ASIDE
            if sort == "merged":
                merged[starts[number] : starts[number] + len(ids)] = ids
        elif sort == "cached":
            slot = rng.randrange(64)
            ids, word_ids[number] = key_ids[slot, : key_counts[slot]].tolist(), FIRST_SLOT - slot
        ids_of_words.append(ids)
    separators = [number for number, sort in enumerate(sorts) if sort in ("separator", "token")]
    row_ends = rng.sample(range(len(separators)), k=len(separators) // 2)
    wanted, wanted_offsets = naive.emit(ids_of_words, [separators[end] + 1 for end in row_ends])

    def room(size: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
        return torch.full((size,), -7, dtype=dtype, device=DEVICE)

    def number_of(value: int) -> torch.Tensor:
        return to_device(np.array([value], np.int32))

    looked_up = word_ids.copy()
    looked_up[separators] = SEPARATOR
    ids_on_device = to_device(np.append(looked_up, [5] * 20).astype(np.int32))
    # The buffer also holds words after the text. They must not be counted.
    all_starts = to_device(np.append(starts, starts[-1] + 1 + np.arange(20)).astype(np.int32))
    numbers, words, how_many = room(len(separators)), room(1), number_of(len(separators))
    kernel.find_separators(
        all_starts, number_of(count + 20), to_device(starts[separators]), how_many, numbers, words, tile=tile
    )
    assert (numbers.tolist(), words.tolist()) == (separators, [count])
    kernel.place_separators(numbers, to_device(word_ids[separators]), ids_on_device, how_many, tile=tile)
    assert ids_on_device.tolist() == [*word_ids.tolist(), *[5] * 20]
    counts_on_device, ends, id_count = to_device(np.append(counts, [-7] * 20).astype(np.int32)), room(count), room(1)
    around = room(len(wanted) + 128)
    for aside in (3, 0):
        assert bool((around == -7).all() and (ends == -7).all()), "words are still set aside"
        kernel.emit(
            ids_on_device, all_starts, words, number_of(aside), to_device(merged), counts_on_device,
            room(-(-count // tile)), ends, cache, around[64:-64], id_count, tile=tile,
        )  # fmt: skip
    # The ids of words that were set aside are still missing.
    assert bool((around[64:-64][-800:] == -7).all())
    aside = np.flatnonzero(np.array(sorts) == "aside")[::-1].astype(np.int32).copy()
    of_aside = to_device(np.concatenate([ids_of_words[number] for number in aside]).astype(np.int32))
    kernel.emit_aside(to_device(aside), counts_on_device, ends, of_aside, around[64:-64])
    assert ends.tolist() == np.cumsum([len(ids) for ids in ids_of_words]).tolist()
    assert id_count.tolist() == [len(wanted)]
    assert np.array_equal(around[64:-64].cpu().numpy(), wanted)
    assert bool((around[:64] == -7).all() and (around[-64:] == -7).all())
    offsets = room(len(row_ends) + 5, torch.int64)
    kernel.row_offsets(
        to_device(np.array(row_ends, np.int32)), numbers, ends, offsets, number_of(len(row_ends)), tile=tile
    )
    assert offsets.tolist() == [*wanted_offsets.tolist(), *[-7] * 4]


def test_bases_over_more_tiles_than_are_added_up_at_once() -> None:
    tile_ids = np.random.default_rng(1).integers(0, 100, 33).astype(np.int32)
    found, total = to_device(tile_ids), to_device(np.array([-9], np.int32))
    words, aside = to_device(np.array([33 * 16 - 5], np.int32)), to_device(np.zeros(1, np.int32))
    kernel._bases_kernel[(1,)](found, words, aside, total, 16, 8)
    assert found.tolist() == (np.cumsum(tile_ids) - tile_ids).tolist()
    assert total.tolist() == [tile_ids.sum()]


@pytest.mark.parametrize(("slots", "factor"), [(1, 1), (32, 4), (4096, 16)])
def test_words_to_ids_with_any_cache(slots: int, factor: int) -> None:
    core, reference = native_cores.core_and_reference("tiny_cl100k")
    pipeline = read_pipeline(reference)
    assert isinstance(pipeline, Pipeline)
    tables = host_tables(pipeline, core)
    device = torch.device(DEVICE)
    convert = WordsToIds(Tables.on(device, tables.entries, tables.pairs), device, slots, factor)
    batch, scratch = Batch.empty(LEAST_BUCKET, device), Scratch.empty(LEAST_BUCKET, device, MASK_TILE)
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
        # After the text, the buffer is full of words that are none.
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
            convert.finish_aside(batch, scratch, aside, functools.partial(core.encode_pre_tokens, text, threads=2))
        found_ids = batch.ids[: int(batch.counters[ID_COUNT])]
        found_offsets = batch.row_offsets[: len(row_ends) + 1]
        ids, offsets = naive.emit(expected, [separators[number] + 1 for number in row_ends])
        assert np.array_equal(found_ids.cpu().numpy(), ids)
        assert np.array_equal(found_offsets.cpu().numpy(), offsets)
