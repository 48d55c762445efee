"""The word cache: whatever is in it and however full it is, equal words share slots and others never do."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from kernel_device import DEVICE, make_interpreter_faster, to_device, torch

from lopt_plugin.triton_kernels.common.device_words import padded
from lopt_plugin.triton_kernels.common.word_ids import FIRST_SLOT, SET_ASIDE
from lopt_plugin.triton_kernels.word_cache import kernel, naive


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def ids_of(word: bytes) -> list[int]:
    """What the words are merged to in these tests."""
    return [1000 + byte for byte in word[::2]]


class Batch:
    """One batch of missed words through `claim` and `keep`."""

    def __init__(self, words: list[bytes], cache: kernel.WordCache, tile: int, keep_tile: int = 16) -> None:
        text = b"".join(words)
        starts = np.cumsum([0, *map(len, words)]).astype(np.int32)
        text_words, word_starts = to_device(padded(np.frombuffer(text, np.uint8))), to_device(starts)
        missed = to_device(np.arange(len(words), dtype=np.int32))
        word_ids = torch.full((len(words),), -1, dtype=torch.int32, device=DEVICE)
        lists = torch.full((5, len(words)), -1, dtype=torch.int32, device=DEVICE)
        list_counts = torch.zeros(6, dtype=torch.int32, device=DEVICE)
        id_counts = torch.full((len(words),), -7, dtype=torch.int32, device=DEVICE)
        kernel.claim(text_words, word_starts, missed, cache, word_ids, lists, list_counts, id_counts, tile=tile)
        *counts, self.claimed = list_counts.tolist()
        self.lists = [row[:count].tolist() for row, count in zip(lists, counts, strict=True)]
        self.aside = [number for number, value in enumerate(word_ids.tolist()) if value == SET_ASIDE]
        assert [number for number, count in enumerate(id_counts.tolist()) if count == 0] == self.aside
        self.slots = [FIRST_SLOT - value if value <= FIRST_SLOT else None for value in word_ids.tolist()]
        merged = torch.zeros(len(text), dtype=torch.int32, device=DEVICE)
        for number in itertools.chain(*self.lists):
            ids = ids_of(words[number])
            id_counts[number] = len(ids)
            merged[starts[number] : starts[number] + len(ids)] = torch.tensor(ids, dtype=torch.int32)
        for chosen in self.lists[:2]:
            numbers = to_device(np.array(chosen, dtype=np.int32))
            kernel.keep(text_words, word_starts, word_ids, merged, id_counts, numbers, cache, tile=keep_tile)


def random_words(rng: random.Random, count: int) -> list[bytes]:
    words = [
        bytes(rng.choices(b"ab\0", k=rng.choice([1, 2, 3, 8, 9, 31, 32, 33, 64, 65, 256, 257])))
        for _ in range(count // 2)
    ]
    return rng.choices(words, k=count)


@pytest.mark.parametrize(("slots", "tile", "keep_tile"), [(1, 64, 4), (16, 16, 16), (64, 256, 64), (1024, 32, 8)])
def test_batches_one_after_the_other(slots: int, tile: int, keep_tile: int) -> None:
    rng = random.Random(slots)
    cache = kernel.WordCache.empty(slots, torch.device(DEVICE))
    held: dict[int, bytes] = {}
    for _ in range(3):
        words = random_words(rng, 80)
        batch = Batch(words, cache, tile, keep_tile)
        assert naive.violations(words, batch.slots, [*itertools.chain(*batch.lists)], held) == []
        for which, (least, most) in enumerate(((0, 16), (17, 32), (33, 64), (65, 256), (257, 1000))):
            assert all(least <= len(words[number]) <= most for number in batch.lists[which])
        assert sorted(batch.lists[-1]) == batch.aside
        before = len(held)
        held.update({slot: word for slot, word in zip(batch.slots, words, strict=True) if slot is not None})
        assert len(held) - before == batch.claimed
        assert len(held) <= slots
        for slot, word in held.items():
            assert cache.states[slot] == len(word)
            assert cache.key_ids[slot, : cache.key_counts[slot]].tolist() == ids_of(word)
    if slots == 1024:
        assert None not in [slot for slot, word in zip(batch.slots, words, strict=True) if len(word) <= 32]


def test_emptied_cache_is_new() -> None:
    cache = kernel.WordCache.empty(64, torch.device(DEVICE))
    Batch([b"a", b"b"], cache, 16)
    cache.clear()
    assert Batch([b"b", b"c", b"b"], cache, 16).claimed == 2


def test_sizes_that_are_refused() -> None:
    with pytest.raises(ValueError, match="power of two"):
        kernel.WordCache.empty(12, torch.device(DEVICE))
    with pytest.raises(ValueError, match="room"):
        Batch([b"a"], kernel.WordCache.empty(16, torch.device(DEVICE), most_tile=16), 32)
