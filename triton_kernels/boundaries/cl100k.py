r"""Symbols and starts of the pattern of Qwen (digits one by one), cl100k and Llama 3 (in groups of three).

    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+

They are told apart by GROUPS.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..device_kinds import KIND_MASK, NEWLINE, NUMBER, SEPARATOR
from . import machines
from .characters import (
    begins_behind,
    byte_at,
    class_at,
    ends_contraction,
    is_letter,
    is_other,
    is_plain_space,
    kind_at,
    place_after,
    place_before,
    white_space_starts,
)

AFTER_OTHER = tl.constexpr(machines.Cl100k.AFTER_OTHER)
ONE_DIGIT = tl.constexpr(machines.Cl100k.ONE_DIGIT)
TWO_DIGITS = tl.constexpr(machines.Cl100k.TWO_DIGITS)
OTHER_SYMBOL = tl.constexpr(machines.Cl100k.OTHER)
NEWLINE_SYMBOL = tl.constexpr(machines.Cl100k.NEWLINE)
DIGIT_SYMBOL = tl.constexpr(machines.Cl100k.DIGIT)
RESET = tl.constexpr(machines.RESET)


@triton.jit
def cl100k_symbols(classes, place, count, GROUPS: tl.constexpr):
    kind = kind_at(classes, place, count)
    symbol = tl.where(is_other(kind), OTHER_SYMBOL, tl.where(kind == NEWLINE, NEWLINE_SYMBOL, RESET))
    if GROUPS:
        symbol = tl.where(kind == NUMBER, DIGIT_SYMBOL, symbol)
    return symbol


@triton.jit
def cl100k_starts(text, classes, place, count, state, newline_ahead):
    byte, kind = byte_at(text, place, count), kind_at(classes, place, count)
    class_before = class_at(classes, place - 1, count)
    before = class_before & KIND_MASK
    second_before = kind_at(classes, place_before(place, class_before) - 1, count)
    after = kind_at(classes, place_after(place, byte), count)
    # An other character that begins a token, alone, is the optional first character of the word behind it.
    joins = is_letter(before) | is_plain_space(before) | (is_other(before) & begins_behind(second_before))
    letters = is_letter(kind) & ((joins == 0) | ends_contraction(text, classes, place, count, True))
    digits = (kind == NUMBER) & (state != ONE_DIGIT) & (state != TWO_DIGITS)
    others = is_other(kind) & begins_behind(before)
    spaces = white_space_starts(kind, before, after, state == AFTER_OTHER, newline_ahead, after == SEPARATOR)
    return letters | digits | others | spaces
