"""Compares the character classes of tiktoken's regex engine with the reference's."""

from __future__ import annotations

import functools

import numpy as np

from . import table
from .derive.classes import CHARACTER_SETS
from .derive.oracle import SCALAR_VALUES, to_text
from .load import character_classes

_ASKED = (table.LETTER, table.MARK, table.UPPER_SIDE, table.LOWER_SIDE, table.NUMBER, table.SPACE)


@functools.cache
def characters_that_differ() -> int:
    """The number of characters that tiktoken puts into different classes from `character_classes`; 0.3 s, once.

    An encoding whose pattern is a single class keeps the characters of that class and drops all others. Its ids are
    bytes.
    """
    import tiktoken

    bits, text = character_classes().bits(), to_text(SCALAR_VALUES)
    byte_ids = {bytes([byte]): byte for byte in range(256)}
    differ = np.zeros(table.CODE_POINTS, dtype=np.bool_)
    for bit in _ASKED:
        keep = tiktoken.Encoding(
            "one class", pat_str=f"{CHARACTER_SETS[bit]}+", mergeable_ranks=byte_ids, special_tokens={}
        )
        kept = bytes(keep.encode_ordinary(text)).decode().encode("utf-32-le")
        in_class = np.zeros(table.CODE_POINTS, dtype=np.bool_)
        in_class[np.frombuffer(kept, dtype="<u4")] = True
        differ |= in_class != (bits & bit != 0)
    return int(np.count_nonzero(differ))
