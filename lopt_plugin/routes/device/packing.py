"""Texts laid out as the one array of bytes that the kernels read; the native core writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .stretches import Stretch

_NO_ID = -2  # triton_kernels.lookup.naive.SEPARATOR


@dataclass(frozen=True)
class Layout:
    """Pieces of text, each with a separator behind it, for the added or special token there or for nothing.

    pieces: [s]. token_ids: int32 [s], -2 for none. row_ends: int64 [rows], the numbers of those separators behind which
    a row ends.
    """

    pieces: list[str]
    token_ids: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int64]

    def most_bytes(self) -> int:
        """No fewer than the UTF-8 of all pieces takes, with a byte for each separator."""
        return sum(len(piece) if piece.isascii() else 4 * len(piece) for piece in self.pieces) + len(self.pieces)


def lay_out(rows: Iterable[Sequence[Stretch]], prefix: Sequence[int], suffix: Sequence[int]) -> Layout:
    """Rows of stretches, each row with the ids of `prefix` before it and of `suffix` behind it."""
    pieces: list[str] = []
    token_ids: list[int] = []
    row_ends: list[int] = []
    for stretches in rows:
        for token in prefix:
            pieces.append("")
            token_ids.append(token)
        for text, behind in stretches:
            pieces.append(text)
            token_ids.append(_NO_ID if behind is None else behind)
        if suffix:
            token_ids[-1:] = suffix
            pieces.extend([""] * (len(suffix) - 1))
        row_ends.append(len(pieces) - 1)
    return Layout(pieces, np.array(token_ids, np.int32), np.array(row_ends, dtype=np.int64))
