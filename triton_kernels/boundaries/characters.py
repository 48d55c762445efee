"""What the patterns ask about single characters and their neighbours, for one lane a byte.

Everything that is said of a lane holds on lead bytes; on continuation bytes it may be anything, and is masked out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..device_kinds import (
    BLANK,
    BOTH,
    DISTANCE_SHIFT,
    KIND_MASK,
    LOWER,
    MARK,
    NEWLINE,
    SEPARATOR,
    SEPARATOR_BYTE,
    SPACE,
)

APOSTROPHE = tl.constexpr(ord("'"))
# U+017F, which (?i) takes for an s.
LONG_S_FIRST = tl.constexpr(0xC5)
LONG_S_SECOND = tl.constexpr(0xBF)


@triton.jit
def byte_at(text, place, count):
    """The byte at each place; outside of the text a separator."""
    return tl.load(text + place, mask=(place >= 0) & (place < count), other=SEPARATOR_BYTE).to(tl.int32)


@triton.jit
def class_at(classes, place, count):
    """The class byte at each place; outside of the text that of a separator."""
    return tl.load(classes + place, mask=(place >= 0) & (place < count), other=SEPARATOR).to(tl.int32)


@triton.jit
def kind_at(classes, place, count):
    return class_at(classes, place, count) & KIND_MASK


@triton.jit
def place_after(place, byte):
    """Where the next character begins, from the lead byte of this one."""
    length = tl.where(byte < 0x80, 1, tl.where(byte < 0xE0, 2, tl.where(byte < 0xF0, 3, 4)))
    return place + tl.where(byte == SEPARATOR_BYTE, 1, length)


@triton.jit
def place_before(place, class_before):
    """Where the character before begins, from the class of the byte before."""
    return place - 1 - (class_before >> DISTANCE_SHIFT)


@triton.jit
def is_other(kind):
    return kind <= MARK


@triton.jit
def is_letter(kind):
    return (kind >= BOTH) & (kind <= LOWER)


@triton.jit
def is_word(kind):
    return (kind >= MARK) & (kind <= LOWER)


@triton.jit
def is_space(kind):
    return (kind >= NEWLINE) & (kind <= BLANK)


@triton.jit
def is_plain_space(kind):
    return (kind == SPACE) | (kind == BLANK)


@triton.jit
def contraction_length(first, second, IGNORE_CASE: tl.constexpr):
    """Bytes of the contraction that an apostrophe before these two bytes begins, itself included; 0 for none."""
    if IGNORE_CASE:
        long_s = (first == LONG_S_FIRST) & (second == LONG_S_SECOND)
        # No byte but a letter becomes one of the letters asked for: those are 0x61 to 0x7A, and 0x41 to 0x5A below.
        one, two = first | 0x20, second | 0x20
    else:
        long_s = first < 0
        one, two = first, second
    of_two = (one == 0x73) | (one == 0x74) | (one == 0x6D) | (one == 0x64)
    of_three = ((one == 0x72) | (one == 0x76)) & (two == 0x65) | (one == 0x6C) & (two == 0x6C)
    return tl.where(of_two, 2, tl.where(of_three | long_s, 3, 0))


@triton.jit
def begins_behind(kind_before):
    """Whether an other character behind this kind begins a token by itself: no run of others, no blank before it."""
    return (kind_before > MARK) & (kind_before != BLANK)


@triton.jit
def ends_contraction(text, classes, place, count, IGNORE_CASE: tl.constexpr):
    """Whether a contraction that begins a token ends before each place."""
    one_before, two_before = byte_at(text, place - 1, count), byte_at(text, place - 2, count)
    three_before = byte_at(text, place - 3, count)
    length_of_two = contraction_length(one_before, byte_at(text, place, count), IGNORE_CASE)
    length_of_three = contraction_length(two_before, one_before, IGNORE_CASE)
    of_two = (two_before == APOSTROPHE) & (length_of_two == 2) & begins_behind(kind_at(classes, place - 3, count))
    of_three = (three_before == APOSTROPHE) & (length_of_three == 3) & begins_behind(kind_at(classes, place - 4, count))
    return of_two | of_three


@triton.jit
def white_space_starts(kind, before, after, absorbing, newline_ahead, ender_after):
    r"""Whether each character of white space begins a token of `\s*[\r\n]+|\s+(?!\S)|\s+`.

    absorbing: a newline here belongs to the token before, and so does one right before here.
    newline_ahead: the run of plain spaces here ends at a newline.
    ender_after: the text ends behind this character, for the pattern.
    """
    plain = is_plain_space(kind)
    behind_word = is_space(before) == 0
    newlines = (kind == NEWLINE) & behind_word & (absorbing == 0)
    last = (is_space(after) == 0) & (ender_after == 0)
    behind_newline = (before == NEWLINE) & (newline_ahead == 0)
    return newlines | plain & (behind_word | absorbing | behind_newline | last)
