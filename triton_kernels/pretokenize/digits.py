"""Digits in groups of three, on masks of 64 bytes a lane.

digit: all bytes of the characters; lead: first bytes of all characters.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .bit_masks import ones_where


@triton.jit
def _with_counts_before(reset, one, two, DISTANCE: tl.constexpr):
    more_one, more_two = one << DISTANCE, two << DISTANCE
    sum_one = (one & ~(more_one | more_two)) | (more_one & ~(one | two)) | (two & more_two)
    sum_two = (two & ~(more_one | more_two)) | (more_two & ~(one | two)) | (one & more_one)
    return reset | (reset << DISTANCE), (reset & one) | (~reset & sum_one), (reset & two) | (~reset & sum_two)


@triton.jit
def _digit_counts(digit, lead):
    """Digits up to each byte since the last character that is not a digit, modulo 3.

    Three masks: whether there is such a character in the word, up to that byte; whether the count (since that
    character, or else since the word's beginning) is one; whether it is two.
    """
    reset, one, two = lead & ~digit, lead & digit, digit & 0
    for power in tl.static_range(6):
        reset, one, two = _with_counts_before(reset, one, two, 1 << power)
    return reset, one, two


@triton.jit
def digit_groups(digit, lead, phase):
    """First digits of groups of three. phase: int32, how many digits the group at each word's beginning has already."""
    reset, one, two = _digit_counts(digit, lead)
    first = (ones_where(phase == 1) & ~(one | two)) | (ones_where(phase == 2) & two) | (ones_where(phase == 0) & one)
    return digit & lead & ((reset & one) | (~reset & first))


@triton.jit
def digits_after(digit, lead):
    """Digits of the group at each word's end, 0 to 2, or modulo 3; and whether the word has only digits."""
    reset, one, two = _digit_counts(digit, lead)
    return ((one >> 63) | ((two >> 63) << 1)).to(tl.int32), reset >> 63 == 0
