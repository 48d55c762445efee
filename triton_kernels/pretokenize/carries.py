"""Computes what each tile needs at its ends, from the summaries of all tiles.

That is the state before it, and the answers at the ends of the runs that leave it to the right.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..common.variant import Variant
from .scans import IDENTITY, UNDECIDED, at_last, compose, greater, image

# Rows of the scratch, int32 [2 * ROWS, tiles]: summaries, then carries.
ROWS = 3
FUNCTION = tl.constexpr(0)
NEWLINE_AHEAD = tl.constexpr(1)
WORD_AHEAD = tl.constexpr(2)
CARRIES = tl.constexpr(ROWS)

# Tiles that a program takes at once. Scans over more warps take longer than this saves.
CHUNK = 1024


@triton.jit(do_not_specialize=["tiles"])
def carry_kernel(scratch, tiles, CHUNK: tl.constexpr):
    """scratch[3, t]: the state before tile t. scratch[4:, t]: the answers at the ends of the runs that leave tile t.

    scratch[:3, t]: the function of tile t, and the answers at the ends of the runs that reach it from the left.
    One program a row: program 0 goes through the tiles forwards, the others backwards, CHUNK tiles at a time.
    """
    row = tl.program_id(0)
    summary, carry = scratch + row * tiles, scratch + (CARRIES + row) * tiles
    index = tl.arange(0, CHUNK)
    carried = tl.full((), 0, tl.int32)
    if row == 0:
        tl.store(carry, carried)
        for first in range(0, tiles, CHUNK):
            tile = first + index
            function = tl.load(summary + tile, mask=tile < tiles, other=IDENTITY)
            state = image(tl.associative_scan(function, 0, compose), carried)
            tl.store(carry + tile + 1, state, mask=tile + 1 < tiles)
            carried = at_last(state, CHUNK)
    else:
        tl.store(carry + tiles - 1, carried)
        for first in range(0, tiles, CHUNK):
            tile = tiles - 1 - first - index
            answer = tl.load(summary + tile, mask=tile >= 0, other=UNDECIDED)
            latest = tl.associative_scan(tl.where(answer == UNDECIDED, -1, 2 * index + answer), 0, greater)
            answer = tl.where(latest < 0, carried, latest & 1)
            tl.store(carry + tile - 1, answer, mask=tile >= 1)
            carried = at_last(answer, CHUNK)


def variants() -> list[Variant]:
    """The variants of these that `launcher.start_bits` compiles."""
    return [Variant(carry_kernel, {"scratch": "*i32", "tiles": "i32"}, {"CHUNK": CHUNK})]
