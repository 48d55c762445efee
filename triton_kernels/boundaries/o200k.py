r"""Symbols and starts of the pattern of o200k, and of Tekken (no contractions, digits one by one).

With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]:

    [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..device_kinds import BLANK, BOTH, KIND_MASK, LOWER, MARK, NEWLINE, NUMBER, SEPARATOR, UPPER
from . import machines
from .characters import (
    APOSTROPHE,
    LONG_S_FIRST,
    byte_at,
    class_at,
    contraction_length,
    is_letter,
    is_plain_space,
    is_word,
    kind_at,
    place_after,
    white_space_starts,
)

SLASH = tl.constexpr(ord("/"))
UPPER_PART = tl.constexpr(machines.O200k.UPPER_PART)
LOWER_PART = tl.constexpr(machines.O200k.LOWER_PART)
SUFFIX = tl.constexpr(machines.O200k.SUFFIX)
IN_OTHER = tl.constexpr(machines.O200k.IN_OTHER)
TRAILING = tl.constexpr(machines.O200k.TRAILING)
ONE_DIGIT = tl.constexpr(machines.O200k.ONE_DIGIT)
TWO_DIGITS = tl.constexpr(machines.O200k.TWO_DIGITS)
RESET = tl.constexpr(machines.RESET)
UPPER_SYMBOL = tl.constexpr(machines.O200k.UPPER)
LOWER_SYMBOL = tl.constexpr(machines.O200k.LOWER)
SUFFIX_UPPER = tl.constexpr(machines.O200k.SUFFIX_UPPER)
SUFFIX_LOWER = tl.constexpr(machines.O200k.SUFFIX_LOWER)
SUFFIX_LAST_UPPER = tl.constexpr(machines.O200k.SUFFIX_LAST_UPPER)
SUFFIX_LAST_LOWER = tl.constexpr(machines.O200k.SUFFIX_LAST_LOWER)
BOTH_SYMBOL = tl.constexpr(machines.O200k.BOTH)
MARK_SYMBOL = tl.constexpr(machines.O200k.MARK)
DIGIT_SYMBOL = tl.constexpr(machines.O200k.DIGIT)
OPENING_SYMBOL = tl.constexpr(machines.O200k.OPENING)
PREFIX_SYMBOL = tl.constexpr(machines.O200k.PREFIX)
APOSTROPHE_SYMBOL = tl.constexpr(machines.O200k.APOSTROPHE)
OPENING_SLASH = tl.constexpr(machines.O200k.OPENING_SLASH)
PREFIX_SLASH = tl.constexpr(machines.O200k.PREFIX_SLASH)
NEWLINE_SYMBOL = tl.constexpr(machines.O200k.NEWLINE)


@triton.jit
def _begins_contraction(text, place, count):
    length = contraction_length(byte_at(text, place + 1, count), byte_at(text, place + 2, count), True)
    return (byte_at(text, place, count) == APOSTROPHE) & (length != 0)


@triton.jit
def o200k_symbols(text, classes, place, count, CONTRACTIONS: tl.constexpr, GROUPS: tl.constexpr):
    byte, kind = byte_at(text, place, count), kind_at(classes, place, count)
    before, after = kind_at(classes, place - 1, count), kind_at(classes, place_after(place, byte), count)
    opens = (before == BLANK) | (is_word(after) == 0)
    slash = tl.where(opens, OPENING_SLASH, PREFIX_SLASH)
    prefix = PREFIX_SYMBOL
    upper, lower = UPPER_SYMBOL, LOWER_SYMBOL
    if CONTRACTIONS:
        prefix = tl.where(_begins_contraction(text, place, count), APOSTROPHE_SYMBOL, PREFIX_SYMBOL)
        one_before = byte_at(text, place - 1, count)
        length = contraction_length(byte, byte_at(text, place + 1, count), True)
        length = tl.where(one_before == APOSTROPHE, length, 0)
        last = (length == 2) | ((length == 3) & (byte == LONG_S_FIRST))
        third = contraction_length(one_before, byte, True) == 3
        last = last | (third & (byte_at(text, place - 2, count) == APOSTROPHE))
        upper = tl.where(last, SUFFIX_LAST_UPPER, tl.where(length == 3, SUFFIX_UPPER, UPPER_SYMBOL))
        lower = tl.where(last, SUFFIX_LAST_LOWER, tl.where(length == 3, SUFFIX_LOWER, LOWER_SYMBOL))
    symbol = tl.where(byte == SLASH, slash, tl.where(opens, OPENING_SYMBOL, prefix))
    symbol = tl.where(kind == MARK, MARK_SYMBOL, tl.where(kind == BOTH, BOTH_SYMBOL, symbol))
    symbol = tl.where(kind == UPPER, upper, tl.where(kind == LOWER, lower, symbol))
    symbol = tl.where(kind == NEWLINE, NEWLINE_SYMBOL, symbol)
    symbol = tl.where(kind == NUMBER, DIGIT_SYMBOL if GROUPS else RESET, symbol)
    return tl.where(kind > NEWLINE, RESET, symbol)


@triton.jit
def o200k_starts(text, classes, place, count, state, newline_ahead, word_ahead, CONTRACTIONS: tl.constexpr):
    byte, kind = byte_at(text, place, count), kind_at(classes, place, count)
    before = class_at(classes, place - 1, count) & KIND_MASK
    after = kind_at(classes, place_after(place, byte), count)
    in_word = (state == UPPER_PART) | (state == LOWER_PART)
    in_other, trailing = state == IN_OTHER, state == TRAILING
    # Upper-case letters part from the letters of both cases before them where the word has no lower-case letter.
    gives_back = ((before == BOTH) | (before == MARK)) & (word_ahead == 0)
    case = (kind == UPPER) & ((state == LOWER_PART) | ((state == UPPER_PART) & gives_back))
    joins = in_word | is_plain_space(before) | ((before < MARK) & (state == RESET))
    words = (is_letter(kind) | ((kind == MARK) & (in_other == 0))) & ((joins == 0) | case)
    digits = (kind == NUMBER) & (state != ONE_DIGIT) & (state != TWO_DIGITS)
    absorbed = in_other | (trailing & (byte == SLASH)) | (before == BLANK)
    if CONTRACTIONS:
        absorbed = absorbed | (in_word & _begins_contraction(text, place, count))
    others = (kind < MARK) & (absorbed == 0)
    spaces = white_space_starts(kind, before, after, in_other | trailing, newline_ahead, after == SEPARATOR)
    return (words | digits | others | spaces) & (state != SUFFIX)
