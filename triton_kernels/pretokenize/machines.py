r"""The state machines of split patterns: what a pattern remembers from one character to the next.

A pattern decides by nearby characters, by what comes at the end of a run (look-ahead), and by what it has read before.
The latter is the state of a machine that reads one symbol per character. Each symbol is a function from states to
states, written as an octal number: digit i, from the right, is the state that state i becomes. Functions compose, and
composition is associative, so the states before all characters are a scan.

Qwen and Llama 3 are read by the machine of cl100k, Tekken by that of o200k, DeepSeek's three patterns by one. "Other"
characters are those of `[^\s\p{L}\p{N}]`.
"""

from __future__ import annotations

STATES = 8
IDENTITY = 0o76543210  # a continuation byte changes nothing
RESET = 0o00000000


class Cl100k:
    """0 nothing; 1 in other characters or the newlines after them; 2, 3 after one or two digits of a group."""

    AFTER_OTHER, ONE_DIGIT, TWO_DIGITS = 1, 2, 3

    OTHER = 0o11111111
    NEWLINE = 0o00000010
    DIGIT = 0o00000322  # in groups of three


class O200k:
    r"""The state after each character of o200k's pattern.

    0 nothing, or after a character that can only be the optional first character of a word;
    1 in a word that has no lower-case letter yet; 2 in a word that has one; 3 in the contraction at the end of a word;
    4 in ` ?[^\s\p{L}\p{N}]+`; 5 in the `[\r\n/]*` after that; 6, 7 after one or two digits of a group.

    A mark is part of a word except in state 4. Whether an other character begins such a run or a word depends on the
    next character: it "opens" a run if that is neither a letter nor a mark, or if a space is before it.
    """

    UPPER_PART, LOWER_PART, SUFFIX, IN_OTHER, TRAILING, ONE_DIGIT, TWO_DIGITS = 1, 2, 3, 4, 5, 6, 7

    UPPER = 0o11111111
    LOWER = 0o22222222
    SUFFIX_UPPER, SUFFIX_LOWER = 0o11113111, 0o22223222  # a letter of a contraction, not its last
    SUFFIX_LAST_UPPER, SUFFIX_LAST_LOWER = 0o11110111, 0o22220222
    BOTH = 0o11111211
    MARK = 0o11141211
    DIGIT = 0o07666666  # in groups of three
    OPENING = 0o44444444
    PREFIX = 0o00040000
    APOSTROPHE = 0o00040330  # of a contraction
    OPENING_SLASH = 0o44544444
    PREFIX_SLASH = 0o00540000
    NEWLINE = 0o00550000


class Deepseek:
    """0 nothing; 1 in punctuation or the newlines after it; 2 in ASCII letters after their prefix; 3, 4 as digits."""

    AFTER_PUNCTUATION, PREFIXED, ONE_DIGIT, TWO_DIGITS = 1, 2, 3, 4

    PUNCTUATION = 0o11111111  # outside CJK stretches
    NEWLINE = 0o00000010
    PREFIXED_LETTER = 0o22222222  # an ASCII letter right after its prefix
    ASCII_LETTER = 0o00000200
    DIGIT = 0o00004333
