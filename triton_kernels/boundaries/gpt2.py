r"""Starts of `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, which remember nothing."""

from __future__ import annotations

import triton
import triton.language as tl

from ..device_kinds import BLANK, KIND_MASK, SEPARATOR
from .characters import (
    APOSTROPHE,
    begins_behind,
    byte_at,
    class_at,
    contraction_length,
    ends_contraction,
    is_letter,
    is_other,
    is_space,
    kind_at,
    place_after,
)


@triton.jit
def _group(kind):
    return tl.where(is_other(kind), 0, tl.where(is_letter(kind), 1, tl.where(is_space(kind), 2, kind)))


@triton.jit
def gpt2_starts(text, classes, place, count):
    byte, kind = byte_at(text, place, count), kind_at(classes, place, count)
    before = class_at(classes, place - 1, count) & KIND_MASK
    after = kind_at(classes, place_after(place, byte), count)
    next_byte = byte_at(text, place + 1, count)
    behind_apostrophe = byte_at(text, place - 1, count) == APOSTROPHE
    in_contraction = behind_apostrophe & (contraction_length(byte, next_byte, False) != 0)
    in_contraction = in_contraction & begins_behind(kind_at(classes, place - 2, count))
    space = is_space(kind)
    words = (space == 0) & (_group(kind) != _group(before)) & (before != BLANK) & (in_contraction == 0)
    last = (is_space(after) == 0) & (after != SEPARATOR)
    spaces = space & ((is_space(before) == 0) | last)
    return words | spaces | ends_contraction(text, classes, place, count, False)
