"""Apostrophes of contractions, from the bits of the bytes, 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def from_after_by(mask, next_bits, DISTANCE: tl.constexpr):
    """Where the byte `DISTANCE` positions later is in the mask; `next_bits`: the mask's first bits of the next word."""
    return (mask >> DISTANCE) | (next_bits.to(tl.uint64) << (64 - DISTANCE))


@triton.jit
def contractions(apostrophe, b0, b1, b2, b3, b4, small, next_word, IGNORE_CASE: tl.constexpr):
    """Apostrophes that the letters of a contraction follow: one letter, and two.

    b0 to b4: the lower five bits of bytes. small: letters, or lower-case letters. next_word: the next eight bytes.
    """
    zero_one = ~b4 & small
    one_zero = b4 & small
    s = one_zero & ~b3 & ~b2 & b1 & b0
    t = one_zero & ~b3 & b2 & ~b1 & ~b0
    r_or_v = one_zero & ~b3 & b1 & ~b0
    m = zero_one & b3 & b2 & ~b1 & b0
    d = zero_one & ~b3 & b2 & ~b1 & ~b0
    e = zero_one & ~b3 & b2 & ~b1 & b0
    ell = zero_one & b3 & b2 & ~b1 & ~b0
    first, second = (next_word & 0xFF).to(tl.int32), ((next_word >> 8) & 0xFF).to(tl.int32)
    if IGNORE_CASE:
        first, second = first | 0x20, second | 0x20
    one = (first == 0x73) | (first == 0x74) | (first == 0x6D) | (first == 0x64)
    next_rv, next_l = (first == 0x72) | (first == 0x76), first == 0x6C
    next_e = (first == 0x65).to(tl.int32) | (second == 0x65).to(tl.int32) << 1
    next_ll = next_l.to(tl.int32) | (second == 0x6C).to(tl.int32) << 1
    of_two = apostrophe & from_after_by(s | t | m | d, one, 1)
    of_three = from_after_by(r_or_v, next_rv, 1) & from_after_by(e, next_e, 2)
    of_three |= from_after_by(ell, next_l, 1) & from_after_by(ell, next_ll, 2)
    return of_two, apostrophe & of_three
