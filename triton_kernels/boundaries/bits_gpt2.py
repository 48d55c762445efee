"""Start bits of GPT-2's pattern (`gpt2`), which carries nothing."""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from .bit_words import from_before, from_behind, kinds_at, plane_at


@triton.jit
def contractions_of_others(of_two, of_three, other, blank, other_before, blank_before):
    """Apostrophes of contractions that begin a token: no others and no blank before them."""
    free = ~from_before(other | blank, other_before | blank_before, 1)
    return of_two & free, of_three & free


@triton.jit
def gpt2_bits(planes, words, word):
    letter, _, digit, newline, plain, blank, other, separator = kinds_at(planes, words, word)
    letter_1, _, digit_1, newline_1, plain_1, blank_1, other_1, _ = kinds_at(planes, words, word - 1)
    _, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 3), plane_at(planes, words, word, 4)
    two_1, three_1 = plane_at(planes, words, word - 1, 3), plane_at(planes, words, word - 1, 4)
    two, three = contractions_of_others(two, three, other, blank, other_1, blank_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, blank_1, other_1 & 0, blank_1 & 0)
    starts = letter & ~from_before(letter, letter_1, 1)
    starts |= digit & ~from_before(digit, digit_1, 1)
    starts |= other & ~from_before(other, other_1, 1)
    starts &= ~from_before(blank | two | three, blank_1 | two_1 | three_1, 1)
    starts |= from_before(two, two_1, 2) | from_before(three, three_1, 3)
    space = newline | plain
    last = ~from_behind(space | separator, newline_2 | plain_2 | separator_2)
    return starts | (space & (~from_before(space, newline_1 | plain_1, 1) | last))
