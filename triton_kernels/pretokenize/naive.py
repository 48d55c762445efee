"""The reference for `launcher.start_bits`, character by character."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..common.character_kinds import (
    ASCII_SPACE,
    BOTH,
    LEAD,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    PUNCTUATION,
    SEPARATOR,
    UNASSIGNED,
    UPPER,
)
from .machines import RESET, STATES, Cl100k, Deepseek, O200k
from .naive_characters import Array, Characters, is_letter, is_other, is_plain_space, is_space, is_word, neighbour


def boundaries(text: npt.NDArray[np.uint8], classes: npt.NDArray[np.uint8], pattern: str) -> npt.NDArray[np.uint8]:
    """`starts`, uint8 [n]: 1 at the first byte of each pre-token and at each separator, 0 elsewhere.

    text: uint8 [n], valid UTF-8 with a byte 0xFF after each document.
    classes: uint8 [n], what `classify` makes of it.
    pattern: one of `PATTERNS`.
    """
    leads = np.flatnonzero(classes & LEAD)
    starts = np.zeros(len(text), dtype=np.uint8)
    starts[leads] = PATTERNS[pattern](Characters(text, classes, leads))
    return starts


def _states_before(symbols: Array) -> Array:
    """The state before each character; that before the first one is 0 (see `machines`)."""
    images = {int(symbol): [int(symbol) >> 3 * state & 7 for state in range(STATES)] for symbol in np.unique(symbols)}
    states = np.empty(len(symbols), dtype=np.int64)
    state = 0
    for place, symbol in enumerate(symbols.tolist()):
        states[place] = state
        state = images[symbol][state]
    return states


def _white_space_starts(characters: Characters, after_absorbed: Array, enders: Array) -> Array:
    r"""Starts of `\s*[\r\n]+|\s+(?!\S)|\s+` among white space, except for newlines that something before has absorbed.

    after_absorbed: the character before is absorbed. enders: characters at which the text ends for the pattern.
    """
    kind, before = characters.kind, characters.before
    is_plain = is_plain_space(kind)
    after_last_newline = is_plain & (before == NEWLINE) & (characters.first_beyond(is_plain) != NEWLINE)
    last = is_plain & ~is_space(characters.after) & ~neighbour(enders, 1, 1)
    return is_space(kind) & (~is_space(before) | (is_plain & after_absorbed)) | after_last_newline | last


def _gpt2(characters: Characters) -> Array:
    kind, before = characters.kind, characters.before

    def group(kinds: Array) -> Array:
        return np.select([is_other(kinds), is_letter(kinds), is_space(kinds)], [0, 1, 2], default=kinds.astype(int))

    begins_token = ~is_other(before) & (before != ASCII_SPACE)
    contraction = np.where(begins_token, characters.contraction_lengths(ignore_case=False), 0)
    space = is_space(kind)
    words = ~space & (group(kind) != group(before)) & (before != ASCII_SPACE) & (neighbour(contraction, -1, 0) == 0)
    ends = (neighbour(contraction, -2, 0) == 2) | (neighbour(contraction, -3, 0) == 3)
    last = ~is_space(characters.after) & (characters.after != SEPARATOR)
    return words | ends | space & (~is_space(before) | last) | characters.separator_starts()


def _cl100k(characters: Characters, max_digits: int) -> Array:
    kind, before = characters.kind, characters.before
    states = _states_before(
        np.select(
            [is_other(kind), kind == NEWLINE, (kind == NUMBER) & (max_digits == 3)],
            [Cl100k.OTHER, Cl100k.NEWLINE, Cl100k.DIGIT],
            default=RESET,
        )
    )
    # A single other character at the start of a pre-token is the optional first character of the word after it.
    begins_token = ~is_other(before) & (before != ASCII_SPACE)
    prefixed = is_other(before) & neighbour(begins_token, -1, 1)
    contraction = np.where(begins_token, characters.contraction_lengths(ignore_case=True), 0)
    ends = (neighbour(contraction, -2, 0) == 2) | (neighbour(contraction, -3, 0) == 3)
    absorbing = states == Cl100k.AFTER_OTHER

    letters = is_letter(kind) & (ends | ~(is_letter(before) | is_plain_space(before) | prefixed))
    digits = (kind == NUMBER) & (states != Cl100k.ONE_DIGIT) & (states != Cl100k.TWO_DIGITS)
    others = is_other(kind) & begins_token
    spaces = _white_space_starts(characters, absorbing, kind == SEPARATOR) & ~((kind == NEWLINE) & absorbing)
    return letters | digits | others | spaces | characters.separator_starts()


def _o200k(characters: Characters, contractions: bool, max_digits: int) -> Array:
    kind, before = characters.kind, characters.before
    lengths = characters.contraction_lengths(ignore_case=True) * contractions
    last_of_suffix = (neighbour(lengths, -1, 0) == 2) | (neighbour(lengths, -2, 0) == 3)
    in_suffix = neighbour(lengths, -1, 0) == 3
    is_slash = characters.ascii == ord("/")
    opening = (before == ASCII_SPACE) | ~is_word(characters.after)
    not_mark = kind < MARK
    states = _states_before(
        np.select(
            [
                *((kind == UPPER) & last_of_suffix, (kind == UPPER) & in_suffix, kind == UPPER),
                *((kind == LOWER) & last_of_suffix, (kind == LOWER) & in_suffix, kind == LOWER),
                *(kind == BOTH, kind == MARK, (kind == NUMBER) & (max_digits == 3), kind == NEWLINE),
                *(is_slash & opening, is_slash, not_mark & opening, not_mark & (lengths > 0), not_mark),
            ],
            [
                *(O200k.SUFFIX_LAST_UPPER, O200k.SUFFIX_UPPER, O200k.UPPER),
                *(O200k.SUFFIX_LAST_LOWER, O200k.SUFFIX_LOWER, O200k.LOWER),
                *(O200k.BOTH, O200k.MARK, O200k.DIGIT, O200k.NEWLINE),
                *(O200k.OPENING_SLASH, O200k.PREFIX_SLASH, O200k.OPENING, O200k.APOSTROPHE, O200k.PREFIX),
            ],
            default=RESET,
        )
    )
    in_word = (states == O200k.UPPER_PART) | (states == O200k.LOWER_PART)
    in_other, trailing, suffix = states == O200k.IN_OTHER, states == O200k.TRAILING, states == O200k.SUFFIX
    # Upper-case letters begin a new pre-token after letters of both cases if the word has no lower-case letter.
    gives_back = ((before == BOTH) | (before == MARK)) & ~is_word(characters.first_beyond(kind == UPPER))
    case = (kind == UPPER) & ((states == O200k.LOWER_PART) | ((states == O200k.UPPER_PART) & gives_back))
    prefixed = is_plain_space(before) | ((before < MARK) & (states == 0))
    words = (is_letter(kind) | ((kind == MARK) & ~in_other)) & ((~in_word & ~prefixed) | case)
    digits = (kind == NUMBER) & (states != O200k.ONE_DIGIT) & (states != O200k.TWO_DIGITS)
    others = not_mark & ~in_other & (before != ASCII_SPACE) & ~(trailing & is_slash) & ~(in_word & (lengths > 0))
    spaces = _white_space_starts(characters, trailing, kind == SEPARATOR)
    spaces &= ~((kind == NEWLINE) & (in_other | trailing))
    return (words | digits | others | spaces) & ~suffix | characters.separator_starts()


def _deepseek(characters: Characters) -> Array:
    kind, before, after = characters.kind, characters.before, characters.after
    is_cjk, ascii_byte = characters.is_cjk, characters.ascii
    cjk_before = neighbour(is_cjk, -1, 0)
    is_ascii_letter = (ascii_byte != 0) & is_letter(kind)
    # A single ASCII punctuation character at the start of a pre-token begins the ASCII letters after it.
    in_run = (before == PUNCTUATION) & ~cjk_before
    is_prefix = (kind == PUNCTUATION) & (ascii_byte != 0) & ~in_run & (before != ASCII_SPACE)
    prefixed = neighbour(is_prefix, -1, 0)
    states = _states_before(
        np.select(
            [
                *(kind == NUMBER, (kind == PUNCTUATION) & ~is_cjk, kind == NEWLINE),
                *(is_ascii_letter & prefixed, is_ascii_letter),
            ],
            [
                *(Deepseek.DIGIT, Deepseek.PUNCTUATION, Deepseek.NEWLINE),
                *(Deepseek.PREFIXED_LETTER, Deepseek.ASCII_LETTER),
            ],
            default=RESET,
        )
    )
    absorbing = states == Deepseek.AFTER_PUNCTUATION
    of_another_stretch = (kind != NUMBER) & ((before == NUMBER) | (is_cjk != cjk_before))

    digits = (kind == NUMBER) & (states != Deepseek.ONE_DIGIT) & (states != Deepseek.TWO_DIGITS)
    goes_on = np.where(states == Deepseek.PREFIXED, is_ascii_letter, is_word(before))
    joins = is_plain_space(before) | (before == UNASSIGNED) | (prefixed & is_ascii_letter)
    words = is_word(kind) & ~goes_on & ~joins
    punctuation = (kind == PUNCTUATION) & (before != PUNCTUATION) & (before != ASCII_SPACE)
    is_first_of_word = is_word(after) & (neighbour(is_cjk, 1, 0) == is_cjk)
    unassigned = (kind == UNASSIGNED) & ((before != UNASSIGNED) | is_first_of_word)
    enders = (kind == SEPARATOR) | (kind == NUMBER) | is_cjk
    spaces = _white_space_starts(characters, absorbing, enders) & ~((kind == NEWLINE) & absorbing)
    return digits | of_another_stretch | words | punctuation | unassigned | spaces | characters.separator_starts()


PATTERNS: dict[str, Callable[[Characters], Array]] = {
    "gpt2": _gpt2,
    "qwen2": lambda characters: _cl100k(characters, max_digits=1),
    "cl100k": lambda characters: _cl100k(characters, max_digits=3),
    "o200k": lambda characters: _o200k(characters, contractions=True, max_digits=3),
    "tekken": lambda characters: _o200k(characters, contractions=False, max_digits=1),
    "deepseek_v3": _deepseek,
}
