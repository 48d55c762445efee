"""Ids of words to the ids of the batch, packed, with row offsets; and, if wanted, padded rows and their mask.

    counts[w]     = 1 where word_ids[w] >= 0;  0 for a separator;  the cache's count for a word with a slot;
                    as `merge` left it for the others
    id_offsets[w] = counts[0] + ... + counts[w - 1]
    ids[id_offsets[w] + k] = the k-th id of word w

A separator may stand for an added or special token: its word id is then that token's id, put there by
`place_separators`. Rows end at separators, so row offsets are id offsets behind them.

| name        | dtype | shape       |                                                                      |
|-------------|-------|-------------|----------------------------------------------------------------------|
| word_ids    | int32 | [words]     | >= 0: the id; MISSED: in `merged`; SEPARATOR: none; else a cache slot |
| word_starts | int32 | [words + 1] | bytes                                                                |
| merged      | int32 | [n]         | ids of a missed word, from merged[word_starts[w]] on                 |
| counts      | int32 | [words]     |                                                                      |
| id_offsets  | int64 | [words + 1] |                                                                      |
| ids         | int32 | [id_offsets[words]] |                                                              |

Limits: fewer than 2**31 words; padded tables of fewer than 2**31 tiles.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..lookup.naive import MISSED, SEPARATOR
from ..variant import Variant
from ..word_cache.kernel import FIRST_SLOT, KEY_BYTES, WordCache

TILE = 512
PAD_TILE = 1024

_MISSED = tl.constexpr(MISSED)
_SEPARATOR = tl.constexpr(SEPARATOR)
_FIRST_SLOT = tl.constexpr(FIRST_SLOT)
_KEY_BYTES = tl.constexpr(KEY_BYTES)


@triton.jit(do_not_specialize=["words"])
def _count_kernel(word_ids, key_counts, counts, words, TILE: tl.constexpr):
    word = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = word < words
    word_id = tl.load(word_ids + word, mask=live, other=0)
    cached = live & (word_id <= _FIRST_SLOT)
    count = tl.load(key_counts + tl.where(cached, -word_id + _FIRST_SLOT, 0), mask=cached, other=0)
    count = tl.where(word_id >= 0, 1, tl.where(word_id == _SEPARATOR, 0, count))
    tl.store(counts + word, count, mask=live & (word_id != _MISSED))


@triton.jit(do_not_specialize=["words"])
def _emit_kernel(word_ids, word_starts, merged, key_ids, counts, id_offsets, ids, words, TILE: tl.constexpr):
    word = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = word < words
    word_id = tl.load(word_ids + word, mask=live, other=_SEPARATOR)
    place = tl.load(id_offsets + word, mask=live, other=0)
    tl.store(ids + place, word_id, mask=word_id >= 0)
    cached = live & (word_id <= _FIRST_SLOT)
    missed = live & (word_id == _MISSED)
    several = cached | missed
    count = tl.load(counts + word, mask=several, other=0)
    begin = tl.load(word_starts + word, mask=missed, other=0)
    slot = tl.where(cached, -word_id + _FIRST_SLOT, 0).to(tl.int64)
    most = tl.max(count, 0)
    k = 0
    while k < most:
        more = several & (k < count)
        token = tl.load(key_ids + slot * _KEY_BYTES + k, mask=more & cached, other=0)
        token = tl.where(cached, token, tl.load(merged + begin + k, mask=more & missed, other=0))
        tl.store(ids + place + k, token, mask=more)
        k += 1


@triton.jit(do_not_specialize=["tiles", "width", "pad_id"])
def _pad_kernel(ids, row_offsets, padded, mask, tiles, width, pad_id, LEFT: tl.constexpr, TILE: tl.constexpr):
    # One dimension of programs: the others end at 65,535.
    row = (tl.program_id(0) // tiles).to(tl.int64)
    column = (tl.program_id(0) % tiles) * TILE + tl.arange(0, TILE)
    live = column < width
    begin = tl.load(row_offsets + row)
    length = tl.load(row_offsets + row + 1) - begin
    place = column - (width - length) if LEFT else column + tl.full([TILE], 0, tl.int64)
    inside = live & (place >= 0) & (place < length)
    token = tl.load(ids + begin + place, mask=inside, other=0)
    tl.store(padded + row * width + column, tl.where(inside, token, pad_id), mask=live)
    tl.store(mask + row * width + column, inside.to(tl.int32), mask=live)


def place_separators(
    word_starts: torch.Tensor, word_ids: torch.Tensor, positions: torch.Tensor, token_ids: torch.Tensor
) -> torch.Tensor:
    """Gives the separators at byte `positions`, int32 [s], their token_ids, int32 [s] (SEPARATOR: none).

    Returns the numbers of their words, int64 [s].
    """
    numbers = torch.searchsorted(word_starts, positions)
    word_ids[numbers] = token_ids
    return numbers


def offsets(
    word_ids: torch.Tensor, counts: torch.Tensor, id_offsets: torch.Tensor, cache: WordCache, *, tile: int = TILE
) -> None:
    """Fills counts and id_offsets."""
    id_offsets[:1] = 0
    if len(word_ids):
        _count_kernel[(triton.cdiv(len(word_ids), tile),)](word_ids, cache.key_counts, counts, len(word_ids), tile)
        torch.cumsum(counts, 0, dtype=torch.int64, out=id_offsets[1:])


def emit(
    word_ids: torch.Tensor,
    word_starts: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    id_offsets: torch.Tensor,
    cache: WordCache,
    ids: torch.Tensor,
    *,
    tile: int = TILE,
) -> None:
    """Fills ids; the tensors are those of the module's docstring, on one device."""
    if len(word_ids):
        _emit_kernel[(triton.cdiv(len(word_ids), tile),)](
            word_ids, word_starts, merged, cache.key_ids, counts, id_offsets, ids, len(word_ids), tile
        )


def pad(
    ids: torch.Tensor, row_offsets: torch.Tensor, width: int, pad_id: int, *, left: bool = False, tile: int = PAD_TILE
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows as a table, int32 [rows, width], and its attention mask, int32 [rows, width]: 1 where an id stands.

    Of a longer row, the first `width` ids are kept, or the last where `left`.
    """
    rows = len(row_offsets) - 1
    padded = torch.empty((rows, width), dtype=torch.int32, device=ids.device)
    mask = torch.empty_like(padded)
    if rows and width:
        tiles = triton.cdiv(width, tile)
        _pad_kernel[(rows * tiles,)](ids, row_offsets, padded, mask, tiles, width, pad_id, left, tile)
    return padded, mask


def variants() -> list[Variant]:
    """What `offsets`, `emit` and `pad` compile with their usual tiles."""
    words = ("word_ids", "word_starts", "merged", "counts", "key_counts", "key_ids", "ids", "padded", "mask")
    offsets = dict.fromkeys(("id_offsets", "row_offsets"), "*i64")
    numbers = dict.fromkeys(("words", "tiles", "width", "pad_id"), "i32")
    types = {**dict.fromkeys(words, "*i32"), **offsets, **numbers}
    return [
        Variant(_count_kernel, types, {"TILE": TILE}),
        Variant(_emit_kernel, types, {"TILE": TILE}),
        *(Variant(_pad_kernel, types, {"LEFT": left, "TILE": PAD_TILE}) for left in (False, True)),
    ]
