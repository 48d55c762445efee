"""64 bytes to eight masks, one for each bit of a byte. The masks of classes follow from these by logic alone (Parabix).

Masks and words are uint64 tensors, with 64 bytes a lane; bit p of a mask is byte p of the lane's 64.
"""

from __future__ import annotations

import triton
import triton.language as tl

# The lower half of each group of 2, 4, 8, ... bits, in 64 bits.
LOW_1 = tl.constexpr(0x5555555555555555)
LOW_2 = tl.constexpr(0x3333333333333333)
LOW_4 = tl.constexpr(0x0F0F0F0F0F0F0F0F)
LOW_8 = tl.constexpr(0x00FF00FF00FF00FF)
LOW_16 = tl.constexpr(0x0000FFFF0000FFFF)
LOW_32 = tl.constexpr(0x00000000FFFFFFFF)


@triton.jit
def _swap(first, second, SHIFT: tl.constexpr, LOW: tl.constexpr):
    """Exchange the upper halves of the first word's groups for the lower halves of the second word's."""
    return (first & LOW) | ((second & LOW) << SHIFT), ((first >> SHIFT) & LOW) | (second ^ (second & LOW))


@triton.jit
def _exchange(a, b, c, d, e, f, g, h, ONE, LOW_ONE, TWO, LOW_TWO, FOUR, LOW_FOUR):
    """Exchange three bits of the position within each word for the three bits of the word's number."""
    a, e = _swap(a, e, FOUR, LOW_FOUR)
    b, f = _swap(b, f, FOUR, LOW_FOUR)
    c, g = _swap(c, g, FOUR, LOW_FOUR)
    d, h = _swap(d, h, FOUR, LOW_FOUR)
    a, c = _swap(a, c, TWO, LOW_TWO)
    b, d = _swap(b, d, TWO, LOW_TWO)
    e, g = _swap(e, g, TWO, LOW_TWO)
    f, h = _swap(f, h, TWO, LOW_TWO)
    a, b = _swap(a, b, ONE, LOW_ONE)
    c, d = _swap(c, d, ONE, LOW_ONE)
    e, f = _swap(e, f, ONE, LOW_ONE)
    g, h = _swap(g, h, ONE, LOW_ONE)
    return a, b, c, d, e, f, g, h


@triton.jit
def bit_planes(a, b, c, d, e, f, g, h):
    """Masks of bits 0 to 7, from eight little-endian words of eight bytes each, `a` first.

    Bytes are exchanged with words, so that byte p of word w is where byte w of word p was; then bits are exchanged with
    words.
    """
    a, b, c, d, e, f, g, h = _exchange(a, b, c, d, e, f, g, h, 8, LOW_8, 16, LOW_16, 32, LOW_32)
    return _exchange(a, b, c, d, e, f, g, h, 1, LOW_1, 2, LOW_2, 4, LOW_4)
