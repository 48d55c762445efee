"""Start bits to the positions of the starts: count, sum, write."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.limits import MASK_TILE, tiles_of, warps_of
from ..common.variant import Variant

CHUNK = 4096


@triton.jit
def ones_of(bits):
    """The number of ones in each element, uint32; compilers recognize this form, and have an instruction for it."""
    pairs = bits - ((bits >> 1) & 0x55555555)
    quads = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333)
    return ((((quads + (quads >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def rank_kernel(bits, ranks, counts, TILE: tl.constexpr):
    """ranks[w]: ones of the tile before word w. counts[t]: ones of tile t. Words are of 32 bits.

    bits, ranks: int32 [tiles * TILE / 32]. counts: int32 [tiles].
    """
    tile = tl.program_id(0)
    word = tile * (TILE // 32) + tl.arange(0, TILE // 32)
    ones = ones_of(tl.load(bits + word).to(tl.uint32, bitcast=True))
    tl.store(ranks + word, tl.cumsum(ones, 0) - ones)
    tl.store(counts + tile, tl.sum(ones, 0))


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
def place_kernel(bits, ranks, bases, word_count, word_starts, count, TILE: tl.constexpr):
    """word_starts[i] = position of the i-th one, in order; word_starts[word_count[0]] = count."""
    tile = tl.program_id(0)
    place = tile * TILE + tl.arange(0, TILE)
    word = tl.load(bits + (place >> 5)).to(tl.uint32, bitcast=True)
    bit = (place & 31).to(tl.uint32)
    flag = (word >> bit) & 1
    rank = tl.load(bases + tile) + tl.load(ranks + (place >> 5)) + ones_of(word & (((bit ^ bit) + 1 << bit) - 1))
    tl.store(word_starts + rank, place, mask=flag != 0)
    if tile == 0:
        tl.store(word_starts + tl.load(word_count), count)


def _warps(tile: int) -> int:
    return min(4 * warps_of(tile), 16)


def variants() -> list[Variant]:
    """The variants that `compact_bits` compiles."""
    names = ("bits", "ranks", "counts", "bases", "word_count", "word_starts")
    types = {**dict.fromkeys(names, "*i32"), "count": "i32", "tiles": "i32"}
    return [
        Variant(base_kernel, types, {"CHUNK": CHUNK}),
        Variant(rank_kernel, types, {"TILE": MASK_TILE}, warps=warps_of(MASK_TILE)),
        Variant(place_kernel, types, {"TILE": MASK_TILE}, _warps(MASK_TILE)),
    ]


def scratch_size(count: int, tile: int = MASK_TILE) -> int:
    """Elements, int32, of the scratch that `compact_bits` needs for `count` bits."""
    return sum(_sizes(count, tile))


def _sizes(count: int, tile: int) -> list[int]:
    tiles = tiles_of(count, tile)
    # Triton compiles another kernel for pointers that are not multiples of 16 bytes.
    return [-(-size // 4) * 4 for size in (tiles * (tile // 32), tiles, tiles)]


def compact_bits(
    bits: torch.Tensor,
    count: int,
    word_starts: torch.Tensor,
    word_count: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = MASK_TILE,
) -> None:
    """Write the positions of all ones; all on one device.

    bits: int64 [tiles * tile / 64], `count` bits, then zeros, written by `pretokenize.launcher.start_bits`.
    word_starts: int32, w + 1 elements or more, so count + 1 always do; [:w] become the positions of the w ones,
        ascending, [w] becomes `count`, and the rest stays as it is.
    word_count: int32 [1], becomes w.
    scratch: int32, `scratch_size(count, tile)` elements or more, of any content.
    tile: a power of two from 64 to 65,536.
    """
    tiles = tiles_of(count, tile)
    if not tiles:
        word_starts[:1] = 0
        word_count[:1] = 0
        return
    words = bits.view(torch.int32)
    ranks, counts, bases = scratch[: scratch_size(count, tile)].split(_sizes(count, tile))
    rank_kernel[(tiles,)](words, ranks, counts, TILE=tile, num_warps=warps_of(tile))
    base_kernel[(1,)](counts, bases, word_count, tiles, CHUNK=CHUNK)
    place_kernel[(tiles,)](words, ranks, bases, word_count, word_starts, count, TILE=tile, num_warps=_warps(tile))
