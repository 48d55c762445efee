"""Start bits of the pattern of Qwen, cl100k and Llama 3 (`cl100k`).

The carried bit says that the character before is an other one, or a newline behind those: state AFTER_OTHER.
"""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from .bit_words import from_before, from_behind, groups_of_three, kinds_at, plane_at, run_from, white_space
from .bits_gpt2 import contractions_of_others


@triton.jit
def _absorbed(newline, newline_1, other, other_1, carry):
    first = newline & from_before(other, other_1, 1)
    return run_from(first | (newline & (newline_1 >> 63) & carry), newline)


@triton.jit
def cl100k_bits(planes, words, word, carry, phase, ahead, GROUPS):
    letter, _, digit, newline, plain, blank, other, separator = kinds_at(planes, words, word)
    letter_1, _, digit_1, newline_1, plain_1, blank_1, other_1, _ = kinds_at(planes, words, word - 1)
    _, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 3), plane_at(planes, words, word, 4)
    two_1, three_1 = plane_at(planes, words, word - 1, 3), plane_at(planes, words, word - 1, 4)
    two, three = contractions_of_others(two, three, other, blank, other_1, blank_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, blank_1, other_1 & 0, blank_1 & 0)
    # An other character that begins a token, alone, is the optional first character of the word behind it.
    prefix = other & ~from_before(other | blank, other_1 | blank_1, 1)
    prefix_1 = other_1 & ~((other_1 | blank_1) << 1)
    starts = ~from_before(letter | plain | prefix, letter_1 | plain_1 | prefix_1, 1)
    starts = letter & (starts | from_before(two, two_1, 2) | from_before(three, three_1, 3))
    starts |= groups_of_three(digit, digit_1, phase) if GROUPS else digit
    absorbed = _absorbed(newline, newline_1, other, other_1, carry)
    behind_absorbed = (absorbed << 1) | ((newline_1 >> 63) & carry)
    last = ~from_behind(newline | plain | separator, newline_2 | plain_2 | separator_2)
    spaces = white_space(newline, plain, newline_1, plain_1, absorbed, behind_absorbed, ahead, last)
    return starts | prefix | spaces


@triton.jit
def cl100k_behind(planes, words, word, carry):
    """The carried bit behind each word, and the state of `machines.Cl100k` there, but for digits."""
    _, _, _, newline, _, _, other, _ = kinds_at(planes, words, word)
    _, _, _, newline_1, _, _, other_1, _ = kinds_at(planes, words, word - 1)
    bit = (other | _absorbed(newline, newline_1, other, other_1, carry)) >> 63
    return bit, bit
