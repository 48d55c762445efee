r"""Symbols and starts of DeepSeek V3's three splits, one after the other.

    \p{N}{1,3}
    [一-龥぀-ゟ゠-ヿ]+
    [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
      |\s*[\r\n]+|\s+(?!\S)|\s+

The first two cut the text into stretches, at whose ends the text ends for the third. What that does not match stays
together up to the place where the next match begins.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..device_kinds import BLANK, CJK, KIND_MASK, NEWLINE, NUMBER, PUNCTUATION, SEPARATOR, UNASSIGNED
from . import machines
from .characters import (
    byte_at,
    class_at,
    is_letter,
    is_plain_space,
    is_word,
    place_after,
    white_space_starts,
)

AFTER_PUNCTUATION = tl.constexpr(machines.Deepseek.AFTER_PUNCTUATION)
PREFIXED = tl.constexpr(machines.Deepseek.PREFIXED)
ONE_DIGIT = tl.constexpr(machines.Deepseek.ONE_DIGIT)
TWO_DIGITS = tl.constexpr(machines.Deepseek.TWO_DIGITS)
RESET = tl.constexpr(machines.RESET)
PUNCTUATION_SYMBOL = tl.constexpr(machines.Deepseek.PUNCTUATION)
NEWLINE_SYMBOL = tl.constexpr(machines.Deepseek.NEWLINE)
PREFIXED_LETTER = tl.constexpr(machines.Deepseek.PREFIXED_LETTER)
ASCII_LETTER = tl.constexpr(machines.Deepseek.ASCII_LETTER)
DIGIT_SYMBOL = tl.constexpr(machines.Deepseek.DIGIT)


@triton.jit
def _behind_prefix(text, classes, place, count):
    """Whether ASCII punctuation that begins a token, alone, stands before each place."""
    one_before = class_at(classes, place - 1, count)
    two_before = class_at(classes, place - 2, count)
    is_prefix = (byte_at(text, place - 1, count) < 0x80) & ((one_before & KIND_MASK) == PUNCTUATION)
    in_run = ((two_before & KIND_MASK) == PUNCTUATION) & ((two_before & CJK) == 0)
    return is_prefix & (in_run == 0) & ((two_before & KIND_MASK) != BLANK)


@triton.jit
def deepseek_symbols(text, classes, place, count):
    klass = class_at(classes, place, count)
    kind = klass & KIND_MASK
    ascii_letter = (byte_at(text, place, count) < 0x80) & is_letter(kind)
    letter = tl.where(_behind_prefix(text, classes, place, count), PREFIXED_LETTER, ASCII_LETTER)
    symbol = tl.where(ascii_letter, letter, tl.where(kind == NEWLINE, NEWLINE_SYMBOL, RESET))
    symbol = tl.where((kind == PUNCTUATION) & ((klass & CJK) == 0), PUNCTUATION_SYMBOL, symbol)
    return tl.where(kind == NUMBER, DIGIT_SYMBOL, symbol)


@triton.jit
def deepseek_starts(text, classes, place, count, state, newline_ahead):
    byte, klass = byte_at(text, place, count), class_at(classes, place, count)
    class_before = class_at(classes, place - 1, count)
    class_after = class_at(classes, place_after(place, byte), count)
    kind, before, after = klass & KIND_MASK, class_before & KIND_MASK, class_after & KIND_MASK
    ascii_letter = (byte < 0x80) & is_letter(kind)
    of_another_stretch = (kind != NUMBER) & ((before == NUMBER) | (((klass ^ class_before) & CJK) != 0))

    digits = (kind == NUMBER) & (state != ONE_DIGIT) & (state != TWO_DIGITS)
    goes_on = is_word(before) & ((state != PREFIXED) | ascii_letter)
    joins = is_plain_space(before) | (before == UNASSIGNED)
    joins = joins | (ascii_letter & _behind_prefix(text, classes, place, count))
    words = is_word(kind) & (goes_on == 0) & (joins == 0)
    punctuation = (kind == PUNCTUATION) & (before != PUNCTUATION) & (before != BLANK)
    first_of_word = is_word(after) & (((klass ^ class_after) & CJK) == 0)
    unassigned = (kind == UNASSIGNED) & ((before != UNASSIGNED) | first_of_word)
    ender_after = (after == SEPARATOR) | (after == NUMBER) | ((class_after & CJK) != 0)
    spaces = white_space_starts(kind, before, after, state == AFTER_PUNCTUATION, newline_ahead, ender_after)
    return digits | of_another_stretch | words | punctuation | unassigned | spaces
