"""What a lane knows of places that may be far away: states of the machines, and where runs end.

A tile sees its own bytes; what came before it is one state, and what comes behind it one answer a run.
"""

from __future__ import annotations

import triton
import triton.language as tl

from . import machines

IDENTITY = tl.constexpr(machines.IDENTITY)
STATES = tl.constexpr(machines.STATES)
UNDECIDED = tl.constexpr(-1)


@triton.jit
def compose(first, second):
    """The function that does `second` behind `first`, both as octal digits: digit i is second[first[i]]."""
    result = (second >> (3 * (first & 7))) & 7
    for state in tl.static_range(1, STATES):
        result |= ((second >> (3 * ((first >> (3 * state)) & 7))) & 7) << (3 * state)
    return result


@triton.jit
def lesser(first, second):
    return tl.minimum(first, second)


@triton.jit
def greater(first, second):
    return tl.maximum(first, second)


@triton.jit
def at_last(values, SIZE: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, SIZE) == SIZE - 1, values, 0), 0)


@triton.jit
def image(function, state):
    return (function >> (3 * state)) & 7


@triton.jit
def _decided(in_run, answer, TILE: tl.constexpr):
    # The place first, so that the least key is that of the next character beyond the run.
    return tl.where(in_run, 2 * TILE, 2 * tl.arange(0, TILE) + answer.to(tl.int32))


@triton.jit
def first_beyond(in_run, answer, beyond_tile, TILE: tl.constexpr):
    """The answer of the first lane, from each one on, that is not in the run; `beyond_tile` where the tile has none."""
    first = tl.associative_scan(_decided(in_run, answer, TILE), 0, lesser, reverse=True)
    return tl.where(first == 2 * TILE, beyond_tile, first & 1) != 0


@triton.jit
def first_of_tile(in_run, answer, TILE: tl.constexpr):
    """The answer of the first lane that is not in the run; UNDECIDED where the tile has none."""
    first = tl.min(_decided(in_run, answer, TILE), 0)
    return tl.where(first == 2 * TILE, UNDECIDED, first & 1)
