"""The planes of `classify.character_masks`, and the kinds of characters in them.

A mask of a kind has all bytes of its characters. So the character before a first byte is in a mask if the byte before
is. The next character, and the one before in a mask of first bytes only, are looked up at a distance of up to four
bytes. Results about a character are valid on its first byte (`lead`), and may be anything on its other bytes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .bit_masks import from_before


@triton.jit
def plane_at(planes, words, word, PLANE: tl.constexpr):
    """One of the planes; outside the text, that of separators."""
    outside: tl.constexpr = -1 if (PLANE == 1) | (PLANE == 3) | (PLANE == 4) else 0
    plane = tl.load(planes + PLANE * words + word, mask=(word >= 0) & (word < words), other=outside)
    return plane.to(tl.uint64, bitcast=True)


@triton.jit
def kind_bits_at(planes, words, word):
    k0, k1 = plane_at(planes, words, word, 0), plane_at(planes, words, word, 1)
    return k0, k1, plane_at(planes, words, word, 2), plane_at(planes, words, word, 3)


@triton.jit
def groups_at(planes, words, word):
    r"""Letters, numbers, newlines, other white space, U+0020, `[^\s\p{L}\p{N}]`, separators; and first bytes."""
    k0, k1, k2, k3 = kind_bits_at(planes, words, word)
    letter = (k2 & ~k1) | (~k2 & k1 & k0)
    other = ~(k3 | k2 | (k1 & k0))
    lead = plane_at(planes, words, word, 4)
    return letter, k2 & k1 & ~k0, k2 & k1 & k0, k3 & ~k1, k3 & k0, other, k3 & k1, lead


@triton.jit
def of_next(wanted, wanted_after, lead, lead_after):
    """Whether the next character is in the mask."""
    result = (wanted >> 4) | (wanted_after << 60)
    for distance in tl.static_range(3, 0, -1):
        is_next = (lead >> distance) | (lead_after << (64 - distance))
        in_mask = (wanted >> distance) | (wanted_after << (64 - distance))
        result = (is_next & in_mask) | (~is_next & result)
    return result


@triton.jit
def of_previous(firsts, firsts_before, lead, lead_before):
    """Whether the first byte of the character before is in the mask, which has first bytes only."""
    result = from_before(firsts, firsts_before, 4)
    for distance in tl.static_range(3, 0, -1):
        is_previous = from_before(lead, lead_before, distance)
        result = from_before(firsts, firsts_before, distance) | (~is_previous & result)
    return result
