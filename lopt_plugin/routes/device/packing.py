"""Texts as the one array of bytes that the kernels read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import CannotEncodeError
from .stretches import Stretch

_NO_ID = -2  # triton_kernels.lookup.naive.SEPARATOR


@dataclass(frozen=True)
class Packed:
    """UTF-8 with a byte 0xFF behind every stretch, for the added or special token there or for nothing.

    data: the bytes. positions: int32 [s] of the separators. token_ids: int32 [s], -2 for none. row_ends: int64 [rows],
    the numbers of those separators behind which a row ends.
    """

    data: bytes
    positions: npt.NDArray[np.int32]
    token_ids: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int64]


def pack(rows: Iterable[Sequence[Stretch]], prefix: Sequence[int], suffix: Sequence[int]) -> Packed:
    """Rows of stretches, each row with the ids of `prefix` before it and of `suffix` behind it.

    Raises CannotEncodeError for a lone surrogate.
    """
    pieces: list[bytes] = []
    token_ids: list[int] = []
    row_ends: list[int] = []
    try:
        for stretches in rows:
            for token in prefix:
                pieces.append(b"")
                token_ids.append(token)
            for text, behind in stretches:
                pieces.append(text.encode())
                token_ids.append(_NO_ID if behind is None else behind)
            if suffix:
                token_ids[-1:] = suffix
                pieces.extend([b""] * (len(suffix) - 1))
            row_ends.append(len(pieces) - 1)
    except UnicodeEncodeError as error:
        raise CannotEncodeError(f"a lone surrogate: {error}") from error
    lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    positions = np.cumsum(lengths + 1) - 1
    data = b"\xff".join([*pieces, b""])
    return Packed(data, positions.astype(np.int32), np.array(token_ids, np.int32), np.array(row_ends, dtype=np.int64))
