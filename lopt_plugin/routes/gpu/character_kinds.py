"""From class bits to the character kinds of the GPU kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...triton_kernels.classify.table import KindTable
from ...triton_kernels.common import character_kinds
from ...unicode_tables import table

_SETS = (
    *(table.LETTER, table.MARK, table.UPPER_SIDE, table.LOWER_SIDE, table.NUMBER),
    *(table.SPACE, table.NEWLINE, table.PUNCTUATION_OR_SYMBOL),
)
_LETTER_OF_BOTH = table.LETTER | table.UPPER_SIDE | table.LOWER_SIDE
# The exact sets that contain a character of each kind.
_KINDS = {
    0: character_kinds.UNASSIGNED,
    table.PUNCTUATION_OR_SYMBOL: character_kinds.PUNCTUATION,
    table.MARK | table.UPPER_SIDE | table.LOWER_SIDE: character_kinds.MARK,
    _LETTER_OF_BOTH: character_kinds.BOTH,
    _LETTER_OF_BOTH & ~table.LOWER_SIDE: character_kinds.UPPER,
    _LETTER_OF_BOTH & ~table.UPPER_SIDE: character_kinds.LOWER,
    table.NUMBER: character_kinds.NUMBER,
    table.SPACE | table.NEWLINE: character_kinds.NEWLINE,
    table.SPACE: character_kinds.SPACE,
}


def kind_table(classes: table.CharacterClasses, marks_are_letters: bool = False) -> KindTable:
    """The kinds of all characters, from the classes of the installed `tokenizers`.

    Raises ValueError if its sets divide the characters differently from the kinds.
    """
    bits = classes.bits()
    of_sets = bits & sum(_SETS)
    known = np.array(list(_KINDS), dtype=np.uint16)
    if not np.isin(of_sets, known).all():
        raise ValueError("a character is in a combination of sets that has no kind")
    kinds = np.zeros(len(bits), dtype=np.uint8)
    for sets, kind in _KINDS.items():
        kinds[of_sets == sets] = kind
    if not np.array_equal(np.flatnonzero(kinds == character_kinds.NEWLINE), [0x0A, 0x0D]):
        raise ValueError("the newlines are not U+000A and U+000D")
    if kinds[ord(" ")] != character_kinds.SPACE:
        raise ValueError("U+0020 is not white space")
    kinds[ord(" ")] = character_kinds.ASCII_SPACE
    if marks_are_letters:
        kinds[kinds == character_kinds.MARK] = character_kinds.BOTH
    kinds[bits & table.CJK != 0] |= character_kinds.CJK
    _check_ascii(kinds)
    pages, cells = table.fold(kinds)
    return KindTable(pages.view(np.int16), cells)


def _check_ascii(kinds: npt.NDArray[np.uint8]) -> None:
    """Checks what the kernels read from bytes: apostrophe, slash, ASCII letters, and that U+017F is a letter."""
    punctuation = [c for c in range(0x21, 0x7F) if not chr(c).isalnum()]
    letters = {ord("A"): character_kinds.UPPER, ord("a"): character_kinds.LOWER}
    right = all(kinds[c] == character_kinds.PUNCTUATION for c in punctuation)
    right = right and all((kinds[first : first + 26] == kind).all() for first, kind in letters.items())
    if not right or kinds[0x017F] != character_kinds.LOWER:
        raise ValueError("an ASCII character or U+017F is of an unexpected kind")
