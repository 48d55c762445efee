"""Masks of 64 bytes a lane, and the operations on them that split patterns need.

Masks are uint64 tensors: bit p of lane w is for byte 64 * w + p. `..._before` and `..._after` are the masks of the
neighbouring words. A bit that is carried from word to word is a uint64 tensor of zeros and ones.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def ones_where(condition):
    """A mask of ones in each word where the condition holds, else of zeros."""
    return ~condition.to(tl.uint64) + 1


@triton.jit
def bit_where(condition):
    """The first bit of each word where the condition holds."""
    return condition.to(tl.uint64)


@triton.jit
def from_before(mask, mask_before, DISTANCE: tl.constexpr):
    """Where the byte `DISTANCE` places before is in the mask."""
    return (mask << DISTANCE) | (mask_before >> (64 - DISTANCE))


@triton.jit
def run_from(first, run):
    """`run` from each bit of `first`, a subset, to the run's end: an addition carries through ones."""
    return (((first + run) ^ run) | first) & run


@triton.jit
def run_up_to(last, run):
    """`run` from its beginning to each bit of `last`, a subset at the ends of runs: by distances that double."""
    for power in tl.static_range(6):
        last |= run & (last >> (1 << power))
        run &= run >> (1 << power)
    return last


@triton.jit
def white_space(newline, plain, newline_before, plain_before, absorbed, after_absorbed, ahead, last):
    r"""Starts of `\s*[\r\n]+|\s+(?!\S)|\s+`.

    plain: white space that is not a newline. absorbed: newlines that belong to the pre-token before; after_absorbed:
    where the byte before is such a newline, or another absorbing character. ahead: the bit whether plain white space
    from the word's end on ends at a newline. last: where neither white space nor (for the pattern) the text's end
    comes next.
    """
    space = newline | plain
    after_space = from_before(space, newline_before | plain_before, 1)
    ends_at_newline = run_up_to(plain & ((newline >> 1) | (ahead << 63)), plain)
    after_newline = from_before(newline, newline_before, 1) & ~ends_at_newline
    return (space & ~after_space & ~absorbed) | (plain & (after_absorbed | after_newline | last))
