"""Start bits of DeepSeek V3's three splits (`deepseek`).

The carried bit says that the character before is punctuation or a newline after that (state AFTER_PUNCTUATION), or a
letter of a word with a prefix (PREFIXED), which only tiles that are not ASCII need.
"""

from __future__ import annotations

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter looks for it in the globals of each function

from ..bit_masks import from_after, from_before, groups_of_three, kinds_at, plane_at, run_from, white_space


@triton.jit
def _absorbed(newline, newline_1, punctuation, punctuation_1, carry):
    first = newline & from_before(punctuation, punctuation_1, 1)
    return run_from(first | (newline & (newline_1 >> 63) & carry), newline)


@triton.jit
def deepseek_starts(planes, words, word, carry, phase, ahead):
    letter, _, digit, newline, plain, ascii_space, other, separator = kinds_at(planes, words, word)
    letter_1, _, digit_1, newline_1, plain_1, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    letter_2, _, digit_2, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    control, control_1 = plane_at(planes, words, word, 3), plane_at(planes, words, word - 1, 3)
    punctuation, punctuation_1 = other & ~control, other_1 & ~control_1
    prefix = punctuation & ~from_before(punctuation | ascii_space, punctuation_1 | ascii_space_1, 1)
    prefix_1 = punctuation_1 & ~((punctuation_1 | ascii_space_1) << 1)
    starts = letter & ~from_before(letter | plain | control | prefix, letter_1 | plain_1 | control_1 | prefix_1, 1)
    starts |= groups_of_three(digit, digit_1, phase) | (~digit & from_before(digit, digit_1, 1)) | prefix
    starts |= control & (~from_before(control, control_1, 1) | from_after(letter, letter_2))
    absorbed = _absorbed(newline, newline_1, punctuation, punctuation_1, carry)
    after_absorbed = (absorbed << 1) | ((newline_1 >> 63) & carry)
    goes_on, goes_on_2 = newline | plain | separator | digit, newline_2 | plain_2 | separator_2 | digit_2
    last = ~from_after(goes_on, goes_on_2)
    spaces = white_space(newline, plain, newline_1, plain_1, absorbed, after_absorbed, ahead, last)
    return starts | spaces


@triton.jit
def deepseek_after(planes, words, word, carry):
    """The carried bit after each word, and the state of `machines.Deepseek` there, except for digits."""
    letter, _, _, newline, _, ascii_space, other, _ = kinds_at(planes, words, word)
    letter_1, _, _, newline_1, _, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    control, control_1 = plane_at(planes, words, word, 3), plane_at(planes, words, word - 1, 3)
    punctuation, punctuation_1 = other & ~control, other_1 & ~control_1
    absorbed = _absorbed(newline, newline_1, punctuation, punctuation_1, carry)
    prefix = punctuation & ~from_before(punctuation | ascii_space, punctuation_1 | ascii_space_1, 1)
    prefix_1 = punctuation_1 & ~((punctuation_1 | ascii_space_1) << 1)
    prefixed = letter & from_before(prefix, prefix_1, 1)
    prefixed = run_from(prefixed | (letter & (letter_1 >> 63) & carry), letter) >> 63
    absorbing = (punctuation | absorbed) >> 63
    return absorbing | prefixed, absorbing + 2 * prefixed
