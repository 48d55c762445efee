"""The reference for `kernel.classify`, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..common.character_kinds import LEAD, SEPARATOR, SEPARATOR_BYTE
from .table import PAGE_SIZE, KindTable

Bytes = npt.NDArray[np.uint8]


def classify(text: Bytes, table: KindTable) -> Bytes:
    """`classes` of `text`, both uint8 [n]: see `character_kinds` for the bits.

    text: valid UTF-8, with bytes 0xFF between characters.
    """
    leads = np.flatnonzero((text & 0xC0) != 0x80)
    following = np.concatenate([text, np.zeros(3, dtype=np.uint8)]).astype(np.int64)
    first, second, third, fourth = (following[leads + offset] for offset in range(4))
    code_points = np.select(
        [first < 0x80, first < 0xE0, first < 0xF0, first < SEPARATOR_BYTE],
        [
            first,
            (first & 31) << 6 | second & 63,
            (first & 15) << 12 | (second & 63) << 6 | third & 63,
            (first & 7) << 18 | (second & 63) << 12 | (third & 63) << 6 | fourth & 63,
        ],
        default=0,
    )
    kinds = table.cells[table.pages[code_points // PAGE_SIZE].astype(np.int64) * PAGE_SIZE + code_points % PAGE_SIZE]
    kinds[first == SEPARATOR_BYTE] = SEPARATOR
    classes = np.zeros(len(text), dtype=np.uint8)
    classes[leads] = kinds | LEAD
    return classes
