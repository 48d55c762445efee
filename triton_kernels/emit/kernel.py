"""Ids of words to the ids of the batch, packed, with row offsets.

    counts[w] = 1 where word_ids[w] >= 0;  0 for a separator;  the cache's count for a word with a slot;
                as `merge` or the host left it for the others
    ends[w]   = counts[0] + ... + counts[w]
    ids[ends[w] - counts[w] + k] = the k-th id of word w

A separator may stand for an added or special token: its word id is then that token's id. `find_separators` finds
which words are separators, and how many words there are: the text is in a longer buffer (see `batch.buffers`), and ends
with a separator. `count` and `bases` count and add up the ids of tiles of words, `emit` writes those of each tile
after those of the tiles before it, and `row_offsets` takes the ends at the separators after which rows end.

| name            | dtype | shape       |                                                                       |
|-----------------|-------|-------------|-----------------------------------------------------------------------|
| words           | int32 | [1]         | how many; the tensors may be longer                                   |
| word_ids        | int32 | [words]     | >= 0: the id; MISSED: in `merged`; SEPARATOR: none;          |
|                 |       |             | SET_ASIDE: see `emit_aside`; else a cache slot                        |
| word_starts     | int32 | [words + 1] | bytes                                                                 |
| merged          | int32 | [n]         | ids of a missed word, from merged[word_starts[w]] on                  |
| counts, ends    | int32 | [words]     |                                                                       |
| tile_ids        | int32 | [tiles]     | ids of each TILE words; `bases` turns it into those before each tile  |
| separators      | int32 | [1]         | how many; the tensors may be longer                                   |
| positions       | int32 | [separators]| bytes, ascending                                                      |
| token_ids       | int32 | [separators]| what each stands for, or SEPARATOR                                    |
| numbers         | int32 | [separators]| their numbers among the words                                         |
| rows            | int32 | [1]         | how many; the tensors may be longer                                   |
| row_ends        | int32 | [rows]      | which separators end a row: their numbers among the separators        |
| row_offsets     | int64 | [rows + 1]  |                                                                       |
| ids             | int32 | [id_count]  | at most one for each byte of text                                     |

Limits: texts of fewer than 2**31 bytes.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.grids import grid_of
from ..common.variant import Variant
from ..common.word_ids import FIRST_SLOT, MISSED, SEPARATOR, SET_ASIDE
from ..word_cache.cache import KEY_BYTES, WordCache

TILE = 512
# Tiles that `bases` adds up at a time; separators, and places, that `find_separators` looks at.
CHUNK = 4096
SEPARATOR_TILE = 64
FAN = 16

_MISSED = tl.constexpr(MISSED)
_SEPARATOR = tl.constexpr(SEPARATOR)
_ASIDE = tl.constexpr(SET_ASIDE)
_FIRST_SLOT = tl.constexpr(FIRST_SLOT)
_KEY_BYTES = tl.constexpr(KEY_BYTES)


@triton.jit(do_not_specialize_on_alignment=["word_count", "separators", "words"])
def _find_separators_kernel(
    word_starts, word_count, positions, separators, numbers, words, FAN: tl.constexpr, TILE: tl.constexpr
):
    starts = tl.load(word_count)
    count = tl.load(separators)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        separator = tile * TILE + tl.arange(0, TILE)
        live = separator < count
        position = tl.load(positions + separator, mask=live, other=0)
        # The answer is one of number, ..., number + span. FAN places at a time, so that few loads wait for each other.
        number = tl.full([TILE], 0, tl.int32)
        span = starts
        while span > 0:
            step = tl.cdiv(span, FAN)
            place = number[:, None] + (tl.arange(0, FAN)[None, :] + 1) * step - 1
            asked = live[:, None] & (place < starts)
            start = tl.load(word_starts + place, mask=asked, other=0x7FFFFFFF)
            number += step * tl.sum((start < position[:, None]).to(tl.int32), 1)
            span = step - 1
        tl.store(numbers + separator, number, mask=live)
        tl.store(words + separator * 0, number + 1, mask=separator == count - 1)


@triton.jit(do_not_specialize_on_alignment=["separators"])
def _place_separators_kernel(numbers, token_ids, word_ids, separators, TILE: tl.constexpr):
    count = tl.load(separators)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        separator = tile * TILE + tl.arange(0, TILE)
        live = separator < count
        number = tl.load(numbers + separator, mask=live, other=0)
        tl.store(word_ids + number, tl.load(token_ids + separator, mask=live, other=0), mask=live)


@triton.jit
def _count_of(words, aside):
    """The number of words, but 0 if the ids of some are still to come: then nothing is written."""
    return tl.where(tl.load(aside) == 0, tl.load(words), 0)


@triton.jit(do_not_specialize_on_alignment=["words", "aside"])
def _count_kernel(word_ids, key_counts, counts, tile_ids, words, aside, TILE: tl.constexpr):
    count = _count_of(words, aside)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        word = tile * TILE + tl.arange(0, TILE)
        live = word < count
        word_id = tl.load(word_ids + word, mask=live, other=_SEPARATOR)
        cached = live & (word_id <= _FIRST_SLOT)
        ids = tl.load(key_counts + tl.where(cached, -word_id + _FIRST_SLOT, 0), mask=cached, other=0)
        ids = tl.where(word_id >= 0, 1, ids)
        missed = (word_id == _MISSED) | (word_id == _ASIDE)
        ids = tl.where(missed, tl.load(counts + word, mask=missed, other=0), ids)
        tl.store(counts + word, ids, mask=live & (missed == 0))
        tl.store(tile_ids + tile, tl.sum(ids, 0))


@triton.jit(do_not_specialize_on_alignment=["words", "aside", "id_count"])
def _bases_kernel(tile_ids, words, aside, id_count, TILE: tl.constexpr, CHUNK: tl.constexpr):
    tiles = tl.cdiv(_count_of(words, aside), TILE)
    before = tl.full((), 0, tl.int32)
    for first in range(0, tiles, CHUNK):
        tile = first + tl.arange(0, CHUNK)
        ids = tl.load(tile_ids + tile, mask=tile < tiles, other=0)
        tl.store(tile_ids + tile, before + tl.cumsum(ids, 0) - ids, mask=tile < tiles)
        before += tl.sum(ids, 0)
    tl.store(id_count, before)


@triton.jit(do_not_specialize_on_alignment=["words", "aside"])
def _emit_kernel(
    word_ids, word_starts, merged, key_ids, counts, tile_ids, ends, ids, words, aside, TILE: tl.constexpr
):  # fmt: skip
    total = _count_of(words, aside)
    for tile in range(tl.program_id(0), tl.cdiv(total, TILE), tl.num_programs(0)):
        word = tile * TILE + tl.arange(0, TILE)
        live = word < total
        word_id = tl.load(word_ids + word, mask=live, other=_SEPARATOR)
        count = tl.load(counts + word, mask=live, other=0)
        end = tl.load(tile_ids + tile) + tl.cumsum(count, 0)
        tl.store(ends + word, end, mask=live)
        place = end - count
        tl.store(ids + place, word_id, mask=word_id >= 0)
        cached = live & (word_id <= _FIRST_SLOT)
        missed = live & (word_id == _MISSED)
        several = cached | missed
        begin = tl.load(word_starts + word, mask=missed, other=0)
        slot = tl.where(cached, -word_id + _FIRST_SLOT, 0).to(tl.int64)
        most = tl.max(tl.where(several, count, 0), 0)
        k = 0
        while k < most:
            more = several & (k < count)
            token = tl.load(key_ids + slot * _KEY_BYTES + k, mask=more & cached, other=0)
            token = tl.where(cached, token, tl.load(merged + begin + k, mask=more & missed, other=0))
            tl.store(ids + place + k, token, mask=more)
            k += 1


@triton.jit(do_not_specialize_on_alignment=["rows"])
def _row_offsets_kernel(row_ends, numbers, ends, row_offsets, rows, TILE: tl.constexpr):
    count = tl.load(rows)
    for tile in range(tl.program_id(0), tl.cdiv(count + 1, TILE), tl.num_programs(0)):
        row = tile * TILE + tl.arange(0, TILE)
        # Row offset r is where row r - 1 ends.
        has_end = (row > 0) & (row <= count)
        separator = tl.load(row_ends + row - 1, mask=has_end, other=0)
        number = tl.load(numbers + separator, mask=has_end, other=0)
        end = tl.load(ends + number, mask=has_end, other=0)
        tl.store(row_offsets + row, end.to(tl.int64), mask=row <= count)


def find_separators(
    word_starts: torch.Tensor,
    word_count: torch.Tensor,
    positions: torch.Tensor,
    separators: torch.Tensor,
    numbers: torch.Tensor,
    words: torch.Tensor,
    *,
    tile: int = SEPARATOR_TILE,
) -> None:
    """Fills numbers and words. word_count: int32 [1], the words of the whole buffer, including those after the text."""
    _find_separators_kernel[grid_of(len(positions), tile, words.device)](
        word_starts, word_count, positions, separators, numbers, words, FAN, tile
    )


def place_separators(
    numbers: torch.Tensor,
    token_ids: torch.Tensor,
    word_ids: torch.Tensor,
    separators: torch.Tensor,
    *,
    tile: int = SEPARATOR_TILE,
) -> None:
    """Gives the words that are separators their token_ids."""
    grid = grid_of(len(numbers), tile, numbers.device)
    _place_separators_kernel[grid](numbers, token_ids, word_ids, separators, tile)


def emit(
    word_ids: torch.Tensor,
    word_starts: torch.Tensor,
    words: torch.Tensor,
    aside: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    tile_ids: torch.Tensor,
    ends: torch.Tensor,
    cache: WordCache,
    ids: torch.Tensor,
    id_count: torch.Tensor,
    *,
    tile: int = TILE,
) -> None:
    """Fills counts, ends, ids and id_count, int32 [1]. tile_ids: at least as many as `word_ids` has tiles.

    aside: int32 [1], how many of the words that were set aside still lack their counts; nothing is written unless 0.
    The ids of words that were set aside are left out: such a word may be a whole document, and only one lane would be
    working.
    """
    grid = grid_of(len(word_ids), tile, ids.device)
    _count_kernel[grid](word_ids, cache.key_counts, counts, tile_ids, words, aside, tile)
    _bases_kernel[(1,)](tile_ids, words, aside, id_count, tile, CHUNK, num_warps=8)
    _emit_kernel[grid](word_ids, word_starts, merged, cache.key_ids, counts, tile_ids, ends, ids, words, aside, tile)


def emit_aside(
    aside: torch.Tensor, counts: torch.Tensor, ends: torch.Tensor, of_aside: torch.Tensor, ids: torch.Tensor
) -> None:
    """Writes the ids that `emit` has left out: `of_aside`, int32, those of the words `aside` one after the other."""
    lengths = counts[aside].long()
    shifts = ends[aside] - torch.cumsum(lengths, 0)
    places = torch.arange(len(of_aside), device=ids.device)
    places += torch.repeat_interleave(shifts, lengths, output_size=len(of_aside))
    ids[places] = of_aside


def row_offsets(
    row_ends: torch.Tensor,
    numbers: torch.Tensor,
    ends: torch.Tensor,
    offsets: torch.Tensor,
    rows: torch.Tensor,
    *,
    tile: int = TILE,
) -> None:
    """Fills offsets, int64 [rows + 1 or more]."""
    grid = grid_of(len(offsets), tile, offsets.device)
    _row_offsets_kernel[grid](row_ends, numbers, ends, offsets, rows, tile)


def variants() -> list[Variant]:
    """The variants that this module compiles with its usual tiles."""
    words = ("word_ids", "word_starts", "merged", "counts", "ends", "tile_ids", "ids", "words", "aside", "id_count")
    cache = ("key_counts", "key_ids")
    separators = ("word_count", "positions", "separators", "numbers", "token_ids", "row_ends", "rows")
    types = {**dict.fromkeys((*words, *cache, *separators), "*i32"), "row_offsets": "*i64"}
    return [
        Variant(_find_separators_kernel, types, {"FAN": FAN, "TILE": SEPARATOR_TILE}),
        Variant(_place_separators_kernel, types, {"TILE": SEPARATOR_TILE}),
        Variant(_count_kernel, types, {"TILE": TILE}),
        Variant(_bases_kernel, types, {"TILE": TILE, "CHUNK": CHUNK}, 8),
        Variant(_emit_kernel, types, {"TILE": TILE}),
        Variant(_row_offsets_kernel, types, {"TILE": TILE}),
    ]
