"""From the starts of words to the ids of the batch: lookup, cache, merges, emit, one after the other on one stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .emit import kernel as emit
from .lookup import kernel as lookup
from .lookup.table import EntryTable
from .merge import kernel as merge
from .merge import kernel_long as merge_long
from .merge.table import PairTable
from .word_cache import kernel as word_cache
from .word_cache.kernel import WordCache
from .workspace import Workspace

# Beyond this share of claimed slots words find no free one: the cache is emptied before the next batch.
_FULL = 0.75


@dataclass(frozen=True)
class Tables:
    """A vocabulary on the device; read only, so that any number of batches may share it."""

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


@dataclass(frozen=True)
class Separators:
    """The separators of a text, in order.

    positions: int32 [s], bytes. token_ids: int32 [s], what each stands for, or SEPARATOR. row_ends: int64 [rows], the
    numbers among the separators of those behind which a row ends.
    """

    positions: torch.Tensor
    token_ids: torch.Tensor
    row_ends: torch.Tensor


class WordsToIds:
    """Ids for words of one vocabulary. Used by one batch at a time.

    tile_factor: by how much the kernels' tiles are larger than on a GPU; the interpreter is slow with small ones.
    """

    def __init__(self, tables: Tables, workspace: Workspace, cache_slots: int = 1 << 17, tile_factor: int = 1) -> None:
        self.tables = tables
        self.workspace = workspace
        self.tile_factor = tile_factor
        self.cache = WordCache.empty(cache_slots, workspace.device, most_tile=tile_factor * word_cache.TILE)
        self.cached_words = 0

    def __call__(
        self,
        text_words: torch.Tensor,
        text_bytes: int,
        word_starts: torch.Tensor,
        separators: Separators,
        observe: Callable[[str], None] = lambda stage: None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids, int32 [n], and row offsets, int64 [rows + 1], in memory of their own.

        text_words: `device_words.padded` of the text; word_starts: int32 [words + 1]. observe: called with a stage's
        name when its kernels are launched.
        """
        words = len(word_starts) - 1
        take = self.workspace.take
        word_ids, counts = take("word_ids", words, torch.int32), take("counts", words, torch.int32)
        missed, missed_count = take("missed", words, torch.int32), take("missed_count", 1, torch.int32).zero_()
        tables, factor = self.tables, self.tile_factor
        vocabulary = tables.slots, tables.rests, tables.longest
        tile = factor * lookup.TILE
        lookup.lookup(text_words, word_starts, *vocabulary, word_ids, missed, missed_count, tile=tile)
        observe("lookup")
        numbers = emit.place_separators(word_starts, word_ids, separators.positions, separators.token_ids)
        merged = take("merged", text_bytes, torch.int32)
        try:
            self._merge(text_words, text_bytes, word_starts, word_ids, missed[: int(missed_count)], merged, counts)
        except BaseException:
            # Claims without ids must not outlive the batch.
            self.empty_cache()
            raise
        observe("cache and merges")
        id_offsets = take("id_offsets", words + 1, torch.int64)
        emit.offsets(word_ids, counts, id_offsets, self.cache, tile=factor * emit.TILE)
        ids = torch.empty(int(id_offsets[-1]), dtype=torch.int32, device=self.workspace.device)
        emit.emit(word_ids, word_starts, merged, counts, id_offsets, self.cache, ids, tile=factor * emit.TILE)
        observe("emit")
        row_offsets = torch.zeros(len(separators.row_ends) + 1, dtype=torch.int64, device=self.workspace.device)
        row_offsets[1:] = id_offsets[numbers[separators.row_ends] + 1]
        return ids, row_offsets

    def empty_cache(self) -> None:
        self.cache.clear()
        self.cached_words = 0

    def _merge(
        self,
        text_words: torch.Tensor,
        text_bytes: int,
        word_starts: torch.Tensor,
        word_ids: torch.Tensor,
        missed: torch.Tensor,
        merged: torch.Tensor,
        counts: torch.Tensor,
    ) -> None:
        if not len(missed):
            return
        if self.cached_words > _FULL * self.cache.slots:
            self.empty_cache()
        # Each list begins at a multiple of 16 bytes: for others Triton would compile the kernels anew.
        list_size = -(-len(missed) // 4) * 4
        lists = self.workspace.take("lists", 4 * list_size, torch.int32).view(4, list_size)
        list_counts = self.workspace.take("list_counts", 5, torch.int32).zero_()
        cache, factor = self.cache, self.tile_factor
        tile = factor * word_cache.TILE
        word_cache.claim(text_words, word_starts, missed, cache, word_ids, lists, list_counts, tile=tile)
        *sizes, claimed = list_counts.tolist()
        self.cached_words += claimed
        text = text_words.view(torch.uint8)[:text_bytes]
        pairs, byte_ids = self.tables.pairs, self.tables.byte_ids
        for row, words, size in zip(merge.ROWS, lists, sizes, strict=False):
            chosen, tile = words[:size], factor * merge.TILE
            merge.merge(text, word_starts, chosen, pairs, byte_ids, merged, counts, row=row, tile=tile)
            if row <= word_cache.KEY_BYTES:
                tile = factor * word_cache.KEEP_TILE
                word_cache.keep(text_words, word_starts, word_ids, merged, counts, chosen, cache, tile=tile)
        chosen, tile = lists[3, : sizes[3]], factor * merge_long.TILE
        merge_long.merge(text, word_starts, chosen, pairs, byte_ids, merged, counts, tile=tile)
