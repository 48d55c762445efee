"""`character_kinds` as compile-time constants of Triton."""

from __future__ import annotations

import triton.language as tl

from . import character_kinds

UNASSIGNED = tl.constexpr(character_kinds.UNASSIGNED)
PUNCTUATION = tl.constexpr(character_kinds.PUNCTUATION)
MARK = tl.constexpr(character_kinds.MARK)
BOTH = tl.constexpr(character_kinds.BOTH)
UPPER = tl.constexpr(character_kinds.UPPER)
LOWER = tl.constexpr(character_kinds.LOWER)
NUMBER = tl.constexpr(character_kinds.NUMBER)
NEWLINE = tl.constexpr(character_kinds.NEWLINE)
SPACE = tl.constexpr(character_kinds.SPACE)
ASCII_SPACE = tl.constexpr(character_kinds.ASCII_SPACE)
SEPARATOR = tl.constexpr(character_kinds.SEPARATOR)

KIND_MASK = tl.constexpr(character_kinds.KIND_MASK)
CJK = tl.constexpr(character_kinds.CJK)
LEAD = tl.constexpr(character_kinds.LEAD)
SEPARATOR_BYTE = tl.constexpr(character_kinds.SEPARATOR_BYTE)
