"""`character_kinds` as the kernels see them."""

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
BLANK = tl.constexpr(character_kinds.BLANK)
SEPARATOR = tl.constexpr(character_kinds.SEPARATOR)

KIND_MASK = tl.constexpr(character_kinds.KIND_MASK)
CJK = tl.constexpr(character_kinds.CJK)
LEAD = tl.constexpr(character_kinds.LEAD)
SEPARATOR_BYTE = tl.constexpr(character_kinds.SEPARATOR_BYTE)
