"""Packing and padding, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]


def emit(ids_of_words: Sequence[Sequence[int]], row_ends: Sequence[int]) -> tuple[Ids, npt.NDArray[np.int64]]:
    """ids, int32 [n], and row offsets, int64 [rows + 1].

    row_ends: for each row, the number of the first word after it.
    """
    ids = np.array([token for word in ids_of_words for token in word], dtype=np.int32)
    before = np.cumsum([0, *map(len, ids_of_words)], dtype=np.int64)
    return ids, np.concatenate([np.zeros(1, np.int64), before[list(row_ends)]])


def pad(rows: Sequence[Ids], width: int, pad_id: int, *, left: bool = False) -> tuple[Ids, Ids]:
    """The table and its mask, as `TokenBatch.padded` makes them."""
    padded = np.full((len(rows), width), pad_id, dtype=np.int32)
    mask = np.zeros_like(padded)
    for number, row in enumerate(rows):
        kept = row[max(0, len(row) - width) :] if left else row[:width]
        places = slice(width - len(kept), width) if left else slice(0, len(kept))
        padded[number, places] = kept
        mask[number, places] = 1
    return padded, mask
