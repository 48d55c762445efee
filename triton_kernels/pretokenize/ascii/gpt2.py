"""Start bits of GPT-2's pattern (`gpt2`), which carries nothing."""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from ..bit_masks import from_after, from_before, kinds_at, plane_at
from ..contractions import contractions_of_others


@triton.jit
def gpt2_starts(planes, words, word):
    letter, _, digit, newline, plain, ascii_space, other, separator = kinds_at(planes, words, word)
    letter_1, _, digit_1, newline_1, plain_1, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    _, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 3), plane_at(planes, words, word, 4)
    two_1, three_1 = plane_at(planes, words, word - 1, 3), plane_at(planes, words, word - 1, 4)
    two, three = contractions_of_others(two, three, other, ascii_space, other_1, ascii_space_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, ascii_space_1, other_1 & 0, ascii_space_1 & 0)
    starts = letter & ~from_before(letter, letter_1, 1)
    starts |= digit & ~from_before(digit, digit_1, 1)
    starts |= other & ~from_before(other, other_1, 1)
    starts &= ~from_before(ascii_space | two | three, ascii_space_1 | two_1 | three_1, 1)
    starts |= from_before(two, two_1, 2) | from_before(three, three_1, 3)
    space = newline | plain
    last = ~from_after(space | separator, newline_2 | plain_2 | separator_2)
    return starts | (space & (~from_before(space, newline_1 | plain_1, 1) | last))
