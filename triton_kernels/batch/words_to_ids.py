"""From the starts of words to the ids of the batch: lookup, cache, merges and emit, in sequence on one stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from ..common.side_stream import SideStream
from ..emit import kernel as emit
from ..lookup import kernel as lookup
from ..lookup.table import EntryTable
from ..merge import kernel as merge
from ..merge.table import PairTable
from ..word_cache import kernel as word_cache
from ..word_cache.cache import KEY_BYTES, TILE as CLAIM_TILE, WordCache
from .buffers import ASIDE, CLAIMED, ID_COUNT, LISTS, MISSED, ROW_COUNT, SEPARATORS, WORD_COUNT, WORDS, Batch, Scratch

# Beyond this share of claimed slots, words find no free slot: the cache is emptied before the next batch.
_FULL = 0.75

_Array = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Tables:
    """A vocabulary on the device; read-only, so any number of batches can share it."""

    slots: torch.Tensor
    rests: torch.Tensor
    longest: int
    pairs: torch.Tensor
    byte_ids: torch.Tensor

    @classmethod
    def on(cls, device: torch.device, entries: EntryTable, pairs: PairTable) -> Tables:
        slots, rests, table, byte_ids = (
            torch.from_numpy(array).to(device) for array in (entries.slots, entries.rests, pairs.slots, pairs.byte_ids)
        )
        return cls(slots, rests, entries.longest, table, byte_ids)

    def bytes(self) -> dict[str, int]:
        """Sizes of what a batch reads at random: the entries for every word, the pairs for words that are merged."""
        return {"entries": self.slots.nbytes + self.rests.nbytes, "pairs": self.pairs.nbytes}


class WordsToIds:
    """Ids for words of one vocabulary. Used by one batch at a time.

    tile_factor: how many times larger tiles are than on a GPU; the interpreter is slow with small tiles.
    """

    def __init__(self, tables: Tables, device: torch.device, cache_slots: int, tile_factor: int = 1) -> None:
        self.tables = tables
        self.tile_factor = tile_factor
        self.cache = WordCache.empty(cache_slots, device, most_tile=tile_factor * CLAIM_TILE)
        self.cached_words = 0
        self._side = SideStream(device)

    def launch(self, batch: Batch, scratch: Scratch, observe: Callable[[str], None] = lambda stage: None) -> None:
        """Fills the ids, row offsets and counters of the batch. It launches kernels, and neither allocates nor waits.

        scratch: of the same bucket, with the batch's `word_starts`; WORD_COUNT is in its counters. observe: called with
        the name of each stage once its kernels are launched. Words that were set aside, counters[ASIDE], have no ids
        yet: `finish_aside` must follow before the next batch. If this raises, `empty_cache` must follow.
        """
        words, factor, word_starts = batch.counter(WORDS), self.tile_factor, scratch.word_starts
        separators = batch.size(SEPARATORS)
        emit.find_separators(
            word_starts, batch.counter(WORD_COUNT), batch.positions, separators, scratch.numbers, words
        )
        tables, word_ids, missed = self.tables, scratch.word_ids, scratch.missed
        lookup.lookup(
            batch.text_words, word_starts, tables.slots, tables.rests, tables.longest, word_ids, missed,
            batch.counter(MISSED), words=words, tile=factor * lookup.TILE,
        )  # fmt: skip
        emit.place_separators(scratch.numbers, batch.token_ids, word_ids, separators)
        observe("lookup")
        self._merge(batch, scratch)
        observe("cache and merges")
        self._emit(batch, scratch)
        observe("emit")

    def finish_aside(
        self, batch: Batch, scratch: Scratch, count: int, encode: Callable[[_Array, _Array], tuple[_Array, _Array]]
    ) -> None:
        """Has `encode` merge the `count` words that were set aside, and writes the results again. Waits for the device.

        encode: from where words begin and end in the text to the ids of all, one after the other, and their counts.
        """
        aside, word_starts = scratch.lists[-1][:count], scratch.word_starts
        found = encode(word_starts[aside].cpu().numpy(), word_starts[aside + 1].cpu().numpy())
        ids, counts = (torch.from_numpy(array).to(batch.ids.device) for array in found)
        scratch.counts[aside] = counts
        batch.counter(ASIDE).zero_()
        self._emit(batch, scratch)
        emit.emit_aside(aside, scratch.counts, scratch.ends, ids, batch.ids)

    def claimed(self, slots: int) -> None:
        """Counts the slots that a batch has claimed, counters[CLAIMED]."""
        self.cached_words += slots

    def make_room(self) -> None:
        """Call between batches: empties a cache that is too full for new words."""
        if self.cached_words > _FULL * self.cache.slots:
            self.empty_cache()

    def empty_cache(self) -> None:
        self.cache.clear()
        self.cached_words = 0

    def _merge(self, batch: Batch, scratch: Scratch) -> None:
        cache, factor, text_words, word_starts = self.cache, self.tile_factor, batch.text_words, scratch.word_starts
        word_ids, merged, counts, lists = scratch.word_ids, scratch.merged, scratch.counts, scratch.lists
        list_counts = batch.counters[LISTS : CLAIMED + 1]
        word_cache.claim(
            text_words, word_starts, scratch.missed, cache, word_ids, lists, list_counts, counts,
            missed_count=batch.counter(MISSED), tile=factor * CLAIM_TILE,
        )  # fmt: skip

        def merge_list(number: int, row: int, least: int = 0) -> None:
            merge.merge(
                batch.text, word_starts, lists[number], self.tables.pairs, self.tables.byte_ids, merged, counts,
                row=row, least=least, count=batch.counter(LISTS + number), tile=factor * merge.TILE,
            )  # fmt: skip

        # Few words are longer, but each of these takes long.
        with self._side.entered():
            merge_list(3, 256, 128)
            merge_list(3, 128)
            merge_list(2, 64)
        for number, row in enumerate((16, KEY_BYTES)):
            merge_list(number, row)
            word_cache.keep(
                text_words, word_starts, word_ids, merged, counts, lists[number], cache,
                chosen_count=batch.counter(LISTS + number), tile=factor * word_cache.KEEP_TILE,
            )  # fmt: skip
        self._side.join()

    def _emit(self, batch: Batch, scratch: Scratch) -> None:
        tile = self.tile_factor * emit.TILE
        emit.emit(
            scratch.word_ids, scratch.word_starts, batch.counter(WORDS), batch.counter(ASIDE), scratch.merged,
            scratch.counts, scratch.tile_ids, scratch.ends, self.cache, batch.ids, batch.counter(ID_COUNT), tile=tile,
        )  # fmt: skip
        emit.row_offsets(
            batch.row_ends, scratch.numbers, scratch.ends, batch.row_offsets, batch.size(ROW_COUNT), tile=tile
        )
