"""Start bits of the pattern of Qwen, cl100k and Llama 3 on masks of 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl

from . import machines
from .bit_masks import bit_where, from_before, run_from, white_space
from .contractions import contractions_of_others
from .digits import digit_groups
from .planes import groups_at, of_next, of_previous, plane_at

AFTER_OTHER = tl.constexpr(machines.Cl100k.AFTER_OTHER)
ONE_DIGIT = tl.constexpr(machines.Cl100k.ONE_DIGIT)


@triton.jit
def _absorbed(newline, other, other_1, state):
    """Newlines after other characters. state: that of `machines.Cl100k` before each word, int32."""
    after_other = from_before(other, other_1, 1) | bit_where(state == AFTER_OTHER)
    return run_from(newline & after_other, newline)


@triton.jit
def cl100k_starts(planes, words, word, state, newline_ahead, GROUPS: tl.constexpr):
    letter, number, newline, plain, ascii_space, other, separator, lead = groups_at(planes, words, word)
    letter_1, _, newline_1, plain_1, ascii_space_1, other_1, _, lead_1 = groups_at(planes, words, word - 1)
    _, _, newline_2, plain_2, _, _, separator_2, lead_2 = groups_at(planes, words, word + 1)
    two, three = plane_at(planes, words, word, 5), plane_at(planes, words, word, 6)
    two_1, three_1 = plane_at(planes, words, word - 1, 5), plane_at(planes, words, word - 1, 6)
    two, three = contractions_of_others(two, three, other, ascii_space, other_1, ascii_space_1)
    two_1, three_1 = contractions_of_others(two_1, three_1, other_1, ascii_space_1, other_1 & 0, ascii_space_1 & 0)
    # A single other character at the start of a pre-token is the optional first character of the word after it.
    prefix = other & lead & ~from_before(other | ascii_space, other_1 | ascii_space_1, 1)
    prefix_1 = other_1 & lead_1 & ~((other_1 | ascii_space_1) << 1)
    starts = ~(from_before(letter | plain, letter_1 | plain_1, 1) | of_previous(prefix, prefix_1, lead, lead_1))
    starts = letter & (starts | from_before(two, two_1, 2) | from_before(three, three_1, 3))
    if GROUPS:
        starts |= digit_groups(number, lead, tl.maximum(state - (ONE_DIGIT - 1), 0))
    else:
        starts |= number
    absorbed = _absorbed(newline, other, other_1, state)
    after_absorbed = (absorbed << 1) | bit_where(state == AFTER_OTHER)
    last = ~of_next(newline | plain | separator, newline_2 | plain_2 | separator_2, lead, lead_2)
    spaces = white_space(newline, plain, newline_1, plain_1, absorbed, after_absorbed, newline_ahead, last)
    return (starts | prefix | spaces) & lead


@triton.jit
def cl100k_after(planes, words, word, state):
    """The state of `machines.Cl100k` after each word, except for digits."""
    _, _, newline, _, _, other, _, _ = groups_at(planes, words, word)
    _, _, _, _, _, other_1, _, _ = groups_at(planes, words, word - 1)
    return ((other | _absorbed(newline, other, other_1, state)) >> 63).to(tl.int32) * AFTER_OTHER
