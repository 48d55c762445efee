"""Masks of 64 bytes a lane, and the operations on them that split patterns need.

Masks are uint64 tensors: bit p of lane w is for byte 64 * w + p. `..._before` and `..._after` are the masks of the
neighbouring words. A bit that is carried from word to word is a uint64 tensor of zeros and ones.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def plane_at(planes, words, word, PLANE: tl.constexpr):
    """One of the planes of `classify.masks`; outside the text, that of separators."""
    outside: tl.constexpr = -1 if (PLANE == 0) | (PLANE == 2) else 0
    plane = tl.load(planes + PLANE * words + word, mask=(word >= 0) & (word < words), other=outside)
    return plane.to(tl.uint64, bitcast=True)


@triton.jit
def kinds_at(planes, words, word):
    """Letters, upper-case ones, digits, newlines, other white space, U+0020, other characters, separators."""
    a, b, c = plane_at(planes, words, word, 0), plane_at(planes, words, word, 1), plane_at(planes, words, word, 2)
    letter, plain = a & ~c, b & c
    return letter, letter & b, ~a & b & ~c, ~a & ~b & c, plain, plain & a, ~(a | b | c), a & ~b & c


@triton.jit
def from_before(mask, mask_before, DISTANCE: tl.constexpr):
    """Where the byte `DISTANCE` places before is in the mask."""
    return (mask << DISTANCE) | (mask_before >> (64 - DISTANCE))


@triton.jit
def from_after(mask, mask_after):
    """Where the next byte is in the mask."""
    return (mask >> 1) | (mask_after << 63)


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
def lowest_zero(mask):
    """The bit of the first byte that is not in the mask; no bit if all are in it."""
    return ~mask & (mask + 1)


@triton.jit
def groups_of_three(digit, digit_before, phase):
    """First digits of groups. phase: int32, how many digits the group at each word's beginning has already, 0 to 2."""
    in_run = digit_before >> 63
    starts = digit & ~((digit << 1) | in_run)
    reached = digit & ((digit << 1) | 1) & ((digit << 2) | 3)
    starts |= (in_run << tl.where(phase == 0, 0, 3 - phase).to(tl.uint64)) & reached
    fourth = digit & (digit << 1) & (digit << 2) & (digit << 3)
    for power in tl.static_range(5):
        starts |= fourth & (starts << (3 << power))
        fourth &= fourth << (3 << power)
    return starts


@triton.jit
def phase_after(digit, digit_before):
    """The phase after each word, 0 to 2; 4 if that is one more, modulo 3, than before the word."""
    starts = groups_of_three(digit, digit_before & 0, (digit & 0).to(tl.int32))
    one = (starts >> 63).to(tl.int32)
    two = ((starts >> 62) & (digit >> 63)).to(tl.int32) & 1
    goes_through = (lowest_zero(digit) == 0) & (digit_before >> 63 != 0)
    return tl.where(goes_through, 4, one | (two << 1))


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
