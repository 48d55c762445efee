"""Start bits of GPT-2's pattern on masks of 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from .bit_masks import from_before
from .contractions import contractions_of_others
from .planes import groups_at, of_next, plane_at


@triton.jit
def gpt2_starts(planes, words, word):
    letter, number, newline, plain, ascii_space, other, separator, lead = groups_at(planes, words, word)
    letter_1, number_1, newline_1, plain_1, ascii_space_1, other_1, _, _ = groups_at(planes, words, word - 1)
    _, _, newline_2, plain_2, _, _, separator_2, lead_2 = groups_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 5), plane_at(planes, words, word, 6)
    two_1, three_1 = plane_at(planes, words, word - 1, 5), plane_at(planes, words, word - 1, 6)
    two, three = contractions_of_others(two, three, other, ascii_space, other_1, ascii_space_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, ascii_space_1, other_1 & 0, ascii_space_1 & 0)
    starts = letter & ~from_before(letter, letter_1, 1)
    starts |= number & ~from_before(number, number_1, 1)
    starts |= other & ~from_before(other, other_1, 1)
    starts &= ~from_before(ascii_space | two | three, ascii_space_1 | two_1 | three_1, 1)
    starts |= from_before(two, two_1, 2) | from_before(three, three_1, 3)
    space = newline | plain
    last = ~of_next(space | separator, newline_2 | plain_2 | separator_2, lead, lead_2)
    return (starts | (space & (~from_before(space, newline_1 | plain_1, 1) | last))) & lead
