"""Masks of 64 bytes a lane of any UTF-8: like `pretokenize.bit_masks`, where characters have one to four bytes.

A mask of a kind has all bytes of its characters. So the character before a first byte is in a mask if the byte before
is. Masks that have first bytes only, and the next character, are looked up at a distance of up to four bytes. Results
about a character are valid on its first byte (`lead`), and may be anything on its other bytes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..bit_masks import from_before


@triton.jit
def character_plane_at(planes, words, word, PLANE: tl.constexpr):
    """One of the planes of `classify.character_masks`; outside the text, that of separators."""
    outside: tl.constexpr = -1 if (PLANE == 1) | (PLANE == 3) | (PLANE == 4) else 0
    plane = tl.load(planes + PLANE * words + word, mask=(word >= 0) & (word < words), other=outside)
    return plane.to(tl.uint64, bitcast=True)


@triton.jit
def kind_bits_at(planes, words, word):
    k0, k1 = character_plane_at(planes, words, word, 0), character_plane_at(planes, words, word, 1)
    return k0, k1, character_plane_at(planes, words, word, 2), character_plane_at(planes, words, word, 3)


@triton.jit
def groups_at(planes, words, word):
    r"""Letters, numbers, newlines, other white space, U+0020, `[^\s\p{L}\p{N}]`, separators; and first bytes."""
    k0, k1, k2, k3 = kind_bits_at(planes, words, word)
    letter = (k2 & ~k1) | (~k2 & k1 & k0)
    other = ~(k3 | k2 | (k1 & k0))
    lead = character_plane_at(planes, words, word, 4)
    return letter, k2 & k1 & ~k0, k2 & k1 & k0, k3 & ~k1, k3 & k0, other, k3 & k1, lead


@triton.jit
def ones_where(condition):
    return ~condition.to(tl.uint64) + 1


@triton.jit
def bit_where(condition):
    return condition.to(tl.uint64)


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


@triton.jit
def _with_counts_before(reset, one, two, DISTANCE: tl.constexpr):
    more_one, more_two = one << DISTANCE, two << DISTANCE
    sum_one = (one & ~(more_one | more_two)) | (more_one & ~(one | two)) | (two & more_two)
    sum_two = (two & ~(more_one | more_two)) | (more_two & ~(one | two)) | (one & more_one)
    return reset | (reset << DISTANCE), (reset & one) | (~reset & sum_one), (reset & two) | (~reset & sum_two)


@triton.jit
def digit_counts(digit, lead):
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
    reset, one, two = digit_counts(digit, lead)
    first = (ones_where(phase == 1) & ~(one | two)) | (ones_where(phase == 2) & two) | (ones_where(phase == 0) & one)
    return digit & lead & ((reset & one) | (~reset & first))


@triton.jit
def digits_after(digit, lead):
    """Digits of the group at each word's end, 0 to 2, or modulo 3; and whether the word has only digits."""
    reset, one, two = digit_counts(digit, lead)
    return ((one >> 63) | ((two >> 63) << 1)).to(tl.int32), reset >> 63 == 0
