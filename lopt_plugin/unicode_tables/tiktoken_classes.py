"""Compares the character classes of tiktoken's regex engine with the reference's."""

from __future__ import annotations

import functools

import numpy as np

from . import table
from .derive.classes import CHARACTER_SETS, HAN
from .derive.oracle import SCALAR_VALUES, to_text
from .load import character_classes, classes_with_han

_ASKED = (table.LETTER, table.MARK, table.UPPER_SIDE, table.LOWER_SIDE, table.NUMBER, table.SPACE)


@functools.cache
def characters_that_differ(with_han: bool = False) -> int:
    """The number of characters that tiktoken puts into different classes from `character_classes`; 0.3 s, once.

    with_han: also into Han, as in `classes_with_han`.

    An encoding whose pattern is a single class keeps the characters of that class and drops all others. Its ids are
    bytes.
    """
    import tiktoken

    bits, text = character_classes().bits(), to_text(SCALAR_VALUES)
    sets = {CHARACTER_SETS[bit]: bits & bit != 0 for bit in _ASKED}
    if with_han:
        sets[HAN] = classes_with_han().bits() & table.CJK != 0
    byte_ids = {bytes([byte]): byte for byte in range(256)}
    differ = np.zeros(table.CODE_POINTS, dtype=np.bool_)
    for pattern, expected in sets.items():
        keep = tiktoken.Encoding("one class", pat_str=f"{pattern}+", mergeable_ranks=byte_ids, special_tokens={})
        kept = bytes(keep.encode_ordinary(text)).decode().encode("utf-32-le")
        in_class = np.zeros(table.CODE_POINTS, dtype=np.bool_)
        in_class[np.frombuffer(kept, dtype="<u4")] = True
        differ |= in_class != expected
    return int(np.count_nonzero(differ))
