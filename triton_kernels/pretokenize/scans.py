"""Distant information that a lane needs: states of the machines, and where runs end.

A tile sees its own bytes; everything before it is one state, and everything after it is one answer per run.
"""

from __future__ import annotations

import triton
import triton.language as tl

from . import machines

IDENTITY = tl.constexpr(machines.IDENTITY)
STATES = tl.constexpr(machines.STATES)
UNDECIDED = tl.constexpr(-1)
NONE = tl.constexpr(2)


@triton.jit
def compose(first, second):
    """The function that applies `first`, then `second`, all as octal digits: digit i is second[first[i]]."""
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
def first_beyond(run, wanted):
    """Whether the first byte of each word that is not in the run is in `wanted`; NONE if all are in the run."""
    first = ~run & (run + 1)
    return tl.where(first == 0, NONE, (first & wanted != 0).to(tl.int32))


@triton.jit
def first_of_tile(answer, lane, LANES: tl.constexpr):
    """The first answer of a tile's words that is not NONE; UNDECIDED if all are."""
    first = tl.min(tl.where(answer == NONE, 2 * LANES, 2 * lane + answer), 0)
    return tl.where(first == 2 * LANES, UNDECIDED, first & 1)


@triton.jit
def answer_after(answer, of_tile, lane, LANES: tl.constexpr):
    """For each word, as a bit, the first answer after it. answer: the next word's; of_tile: that after the tile."""
    answer = tl.where(lane == LANES - 1, of_tile, answer)
    first = tl.where(answer == NONE, 2 * LANES, 2 * lane + answer)
    return (tl.associative_scan(first, 0, lesser, reverse=True) & 1).to(tl.uint64)
