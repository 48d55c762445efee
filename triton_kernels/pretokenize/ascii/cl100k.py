"""Start bits of the pattern of Qwen, cl100k and Llama 3 (`cl100k`).

The carried bit says that the character before is an other one, or a newline after such: state AFTER_OTHER.
"""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from ..bit_masks import from_after, from_before, groups_of_three, kinds_at, plane_at, run_from, white_space
from ..contractions import contractions_of_others


@triton.jit
def _absorbed(newline, newline_1, other, other_1, carry):
    first = newline & from_before(other, other_1, 1)
    return run_from(first | (newline & (newline_1 >> 63) & carry), newline)


@triton.jit
def cl100k_starts(planes, words, word, carry, phase, ahead, GROUPS):
    letter, _, digit, newline, plain, ascii_space, other, separator = kinds_at(planes, words, word)
    letter_1, _, digit_1, newline_1, plain_1, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    _, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 3), plane_at(planes, words, word, 4)
    two_1, three_1 = plane_at(planes, words, word - 1, 3), plane_at(planes, words, word - 1, 4)
    two, three = contractions_of_others(two, three, other, ascii_space, other_1, ascii_space_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, ascii_space_1, other_1 & 0, ascii_space_1 & 0)
    # A single other character at the start of a pre-token is the optional first character of the word after it.
    prefix = other & ~from_before(other | ascii_space, other_1 | ascii_space_1, 1)
    prefix_1 = other_1 & ~((other_1 | ascii_space_1) << 1)
    starts = ~from_before(letter | plain | prefix, letter_1 | plain_1 | prefix_1, 1)
    starts = letter & (starts | from_before(two, two_1, 2) | from_before(three, three_1, 3))
    starts |= groups_of_three(digit, digit_1, phase) if GROUPS else digit
    absorbed = _absorbed(newline, newline_1, other, other_1, carry)
    after_absorbed = (absorbed << 1) | ((newline_1 >> 63) & carry)
    last = ~from_after(newline | plain | separator, newline_2 | plain_2 | separator_2)
    spaces = white_space(newline, plain, newline_1, plain_1, absorbed, after_absorbed, ahead, last)
    return starts | prefix | spaces


@triton.jit
def cl100k_after(planes, words, word, carry):
    """The carried bit after each word, and the state of `machines.Cl100k` there, except for digits."""
    _, _, _, newline, _, _, other, _ = kinds_at(planes, words, word)
    _, _, _, newline_1, _, _, other_1, _ = kinds_at(planes, words, word - 1)
    bit = (other | _absorbed(newline, newline_1, other, other_1, carry)) >> 63
    return bit, bit
