"""Flags of pre-token starts to the positions of the starts: count, sum, write."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..limits import TILE, tiles_of
from ..variant import Variant

CHUNK = 1024


@triton.jit
def _flags(starts, place, count):
    return (tl.load(starts + place, mask=place < count, other=0) != 0).to(tl.int32)


@triton.jit(do_not_specialize=["count"])
def count_kernel(starts, counts, count, TILE: tl.constexpr):
    """counts[t] = number of starts in tile t."""
    tile = tl.program_id(0)
    tl.store(counts + tile, tl.sum(_flags(starts, tile * TILE + tl.arange(0, TILE), count), 0))


@triton.jit(do_not_specialize=["tiles"])
def base_kernel(counts, bases, word_count, tiles, CHUNK: tl.constexpr):
    """bases[t] = number of starts before tile t; word_count[0] = number of all. A single program."""
    index = tl.arange(0, CHUNK)
    before = tl.full((), 0, tl.int32)
    for first in range(0, tiles, CHUNK):
        tile = first + index
        of_chunk = tl.load(counts + tile, mask=tile < tiles, other=0)
        tl.store(bases + tile, before + tl.cumsum(of_chunk, 0) - of_chunk, mask=tile < tiles)
        before += tl.sum(of_chunk, 0)
    tl.store(word_count, before)


@triton.jit(do_not_specialize=["count"])
def compact_kernel(starts, bases, word_count, word_starts, count, TILE: tl.constexpr):
    """word_starts[i] = place of start i, in order; word_starts[word_count[0]] = count."""
    tile = tl.program_id(0)
    place = tile * TILE + tl.arange(0, TILE)
    flags = _flags(starts, place, count)
    rank = tl.load(bases + tile) + tl.cumsum(flags, 0) - flags
    tl.store(word_starts + rank, place, mask=flags != 0)
    if tile == 0:
        tl.store(word_starts + tl.load(word_count), count)


def variants() -> list[Variant]:
    """What `compact` compiles."""
    sizes = {"count": "i32", "tiles": "i32"}
    pointers = {"starts": "*u8", "counts": "*i32", "bases": "*i32", "word_count": "*i32", "word_starts": "*i32"}
    return [
        Variant(count_kernel, {**sizes, **pointers}, {"TILE": TILE}),
        Variant(base_kernel, {**sizes, **pointers}, {"CHUNK": CHUNK}),
        Variant(compact_kernel, {**sizes, **pointers}, {"TILE": TILE}),
    ]


def scratch_size(count: int, tile: int = TILE) -> int:
    """Elements, int32, of the scratch that `compact` needs for `count` bytes."""
    return 2 * _aligned(tiles_of(count, tile))


def _aligned(tiles: int) -> int:
    # Triton compiles a kernel anew for pointers that are no multiples of 16 bytes, in the middle of a batch.
    return -(-tiles // 4) * 4


def compact(
    starts: torch.Tensor,
    word_starts: torch.Tensor,
    word_count: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = TILE,
) -> None:
    """Write the positions of all starts; all on one device.

    starts: uint8 [n], n <= MAX_BYTES, written by `boundaries`.
    word_starts: int32, w + 1 elements or more, so n + 1 always do; [:w] become the positions of the w bytes of `starts`
        that are not zero, ascending, [w] becomes n, and what lies behind stays as it is.
    word_count: int32 [1], becomes w.
    scratch: int32, `scratch_size(n, tile)` elements or more, of any content.
    """
    count, tiles = len(starts), tiles_of(len(starts), tile)
    if not tiles:
        word_starts[:1] = 0
        word_count[:1] = 0
        return
    bases = scratch[_aligned(tiles) :]
    count_kernel[(tiles,)](starts, scratch, count, TILE=tile)
    base_kernel[(1,)](scratch, bases, word_count, tiles, CHUNK=CHUNK)
    compact_kernel[(tiles,)](starts, bases, word_count, word_starts, count, TILE=tile)
