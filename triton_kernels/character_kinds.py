"""The byte that says what a character is: its kind, whether DeepSeek calls it CJK, and how far its first byte is.

    bits 0 to 3   the kind, one of those below
    bit 4         CJK: U+4E00 to U+9FA5 and U+3040 to U+30FF
    bits 5 and 6  distance to the lead byte of the character: 0 on lead bytes, 1 to 3 on continuation bytes
    bit 7         never set

Every byte of a character carries the kind of the whole character, so what stands before a lead byte is read one byte
before it. The kinds are so ordered that each set of a split pattern is a range of them.
"""

from __future__ import annotations

# [^\s\p{L}\p{N}] is 0 to 2, [\p{P}\p{S}] is 1, [\p{L}\p{M}] is 2 to 5, \p{L} is 3 to 5, \s is 7 to 9.
UNASSIGNED = 0  # in no set at all: controls, unassigned and private characters, format characters
PUNCTUATION = 1  # \p{P} and \p{S}
MARK = 2  # \p{M}
BOTH = 3  # \p{Lm} and \p{Lo}: upper and lower side of o200k's words
UPPER = 4  # \p{Lu} and \p{Lt}
LOWER = 5  # \p{Ll}
NUMBER = 6
NEWLINE = 7  # U+000A and U+000D
SPACE = 8  # other white space
BLANK = 9  # U+0020
SEPARATOR = 10  # the byte 0xFF behind every document

KIND_MASK = 0x0F
CJK = 0x10
DISTANCE_SHIFT = 5

SEPARATOR_BYTE = 0xFF
