"""Start bits of DeepSeek V3's three splits on masks of 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl

from . import machines
from .bit_masks import bit_where, from_before, run_from, white_space
from .digits import digit_groups
from .planes import groups_at, kind_bits_at, of_next, plane_at

AFTER_PUNCTUATION = tl.constexpr(machines.Deepseek.AFTER_PUNCTUATION)
PREFIXED = tl.constexpr(machines.Deepseek.PREFIXED)
ONE_DIGIT = tl.constexpr(machines.Deepseek.ONE_DIGIT)


@triton.jit
def _kinds_at(planes, words, word):
    """Unassigned characters, punctuation, letters and marks, CJK."""
    k0, k1, k2, k3 = kind_bits_at(planes, words, word)
    low = ~(k3 | k2 | k1)
    return low & ~k0, low & k0, (k2 & ~k1) | (~(k3 | k2) & k1), plane_at(planes, words, word, 5)


@triton.jit
def _absorbed(newline, punctuation, punctuation_1, state):
    """Newlines after punctuation outside CJK stretches. state: that of `machines.Deepseek` before each word, int32."""
    after = from_before(punctuation, punctuation_1, 1) | bit_where(state == AFTER_PUNCTUATION)
    return run_from(newline & after, newline)


@triton.jit
def _prefixes(planes, words, word, punctuation, cjk, ascii_space, punctuation_1, cjk_1, ascii_space_1):
    """Single ASCII punctuation at the start of a pre-token: in each word, and in the last byte before it."""
    ascii, ascii_1 = plane_at(planes, words, word, 6), plane_at(planes, words, word - 1, 6)
    closed, closed_1 = (punctuation & ~cjk) | ascii_space, (punctuation_1 & ~cjk_1) | ascii_space_1
    return punctuation & ascii & ~from_before(closed, closed_1, 1), punctuation_1 & ascii_1 & ~(closed_1 << 1)


@triton.jit
def deepseek_starts(planes, words, word, state, newline_ahead):
    letter, number, newline, plain, ascii_space, _, separator, lead = groups_at(planes, words, word)
    _, number_1, newline_1, plain_1, ascii_space_1, _, _, _ = groups_at(planes, words, word - 1)
    _, number_2, newline_2, plain_2, _, _, separator_2, lead_2 = groups_at(planes, words, word + 1)
    unassigned, punctuation, in_word, cjk = _kinds_at(planes, words, word)
    unassigned_1, punctuation_1, in_word_1, cjk_1 = _kinds_at(planes, words, word - 1)
    _, _, in_word_2, cjk_2 = _kinds_at(planes, words, word + 1)
    prefix, prefix_1 = _prefixes(
        planes, words, word, punctuation, cjk, ascii_space, punctuation_1, cjk_1, ascii_space_1
    )
    prefixed = from_before(prefix, prefix_1, 1)
    ascii_letter = letter & plane_at(planes, words, word, 6)
    was_prefixed = bit_where(state == PREFIXED)
    after_prefixed = (run_from(ascii_letter & (prefixed | was_prefixed), ascii_letter) << 1) | was_prefixed

    starts = digit_groups(number, lead, tl.maximum(state - (ONE_DIGIT - 1), 0))
    starts |= ~number & (from_before(number, number_1, 1) | (cjk ^ from_before(cjk, cjk_1, 1)))
    goes_on = from_before(in_word, in_word_1, 1) & (~after_prefixed | ascii_letter)
    joins = from_before(plain | unassigned, plain_1 | unassigned_1, 1) | (prefixed & ascii_letter)
    starts |= in_word & ~goes_on & ~joins
    starts |= punctuation & ~from_before(punctuation | ascii_space, punctuation_1 | ascii_space_1, 1)
    cjk_next = of_next(in_word & cjk, in_word_2 & cjk_2, lead, lead_2)
    other_next = of_next(in_word & ~cjk, in_word_2 & ~cjk_2, lead, lead_2)
    first_of_word = (cjk & cjk_next) | (~cjk & other_next)
    starts |= unassigned & (~from_before(unassigned, unassigned_1, 1) | first_of_word)

    absorbed = _absorbed(newline, punctuation & ~cjk, punctuation_1 & ~cjk_1, state)
    after_absorbed = (absorbed << 1) | bit_where(state == AFTER_PUNCTUATION)
    goes_on = newline | plain | separator | number | cjk
    goes_on_2 = newline_2 | plain_2 | separator_2 | number_2 | cjk_2
    last = ~of_next(goes_on, goes_on_2, lead, lead_2)
    spaces = white_space(newline, plain, newline_1, plain_1, absorbed, after_absorbed, newline_ahead, last)
    return (starts | spaces) & lead


@triton.jit
def deepseek_after(planes, words, word, state):
    """The state of `machines.Deepseek` after each word, except for digits."""
    letter, _, newline, _, ascii_space, _, _, _ = groups_at(planes, words, word)
    _, _, _, _, ascii_space_1, _, _, _ = groups_at(planes, words, word - 1)
    _, punctuation, _, cjk = _kinds_at(planes, words, word)
    _, punctuation_1, _, cjk_1 = _kinds_at(planes, words, word - 1)
    prefix, prefix_1 = _prefixes(
        planes, words, word, punctuation, cjk, ascii_space, punctuation_1, cjk_1, ascii_space_1
    )
    ascii_letter = letter & plane_at(planes, words, word, 6)
    prefixed = ascii_letter & (from_before(prefix, prefix_1, 1) | bit_where(state == PREFIXED))
    prefixed = run_from(prefixed, ascii_letter) >> 63
    punctuation, punctuation_1 = punctuation & ~cjk, punctuation_1 & ~cjk_1
    absorbing = (punctuation | _absorbed(newline, punctuation, punctuation_1, state)) >> 63
    return (absorbing * AFTER_PUNCTUATION + prefixed * PREFIXED).to(tl.int32)
