"""The class byte of a character: its kind, and whether it is CJK for DeepSeek.

    bits 0 to 3   the kind, one of those below
    bit 4         CJK: U+4E00 to U+9FA5 and U+3040 to U+30FF
    bit 7         set on the first byte of each character, and on separators

On the other bytes of a character it is 0. Kinds are ordered so that each set of a split pattern is a range of them.
"""

from __future__ import annotations

# [^\s\p{L}\p{N}] is 0 to 2, [\p{P}\p{S}] is 1, [\p{L}\p{M}] is 2 to 5, \p{L} is 3 to 5, \s is 7 to 9.
UNASSIGNED = 0  # in none of the sets: controls, unassigned and private characters, format characters
PUNCTUATION = 1  # \p{P} and \p{S}
MARK = 2  # \p{M}
BOTH = 3  # \p{Lm} and \p{Lo}: in both halves of o200k's words
UPPER = 4  # \p{Lu} and \p{Lt}
LOWER = 5  # \p{Ll}
NUMBER = 6
NEWLINE = 7  # U+000A and U+000D
SPACE = 8  # other white space
ASCII_SPACE = 9  # U+0020
SEPARATOR = 10  # the byte 0xFF after every document

KIND_MASK = 0x0F
CJK = 0x10
LEAD = 0x80

SEPARATOR_BYTE = 0xFF
