"""Texts packed into one array of bytes for the GPU kernels; the native core writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Around(NamedTuple):
    """Ids before and after every text."""

    prefix: Sequence[int] = ()
    suffix: Sequence[int] = ()

    @property
    def separators(self) -> int:
        """The least number of separators for one text."""
        return len(self.prefix) + max(1, len(self.suffix))


class Packed(NamedTuple):
    """A packed batch; a separator is a byte 0xFF.

    text_bytes: number of bytes written.
    positions, token_ids: int32 [s], each separator's position and its id, -2 for none.
    row_ends: int32 [rows], the index of the separator that ends each row.
    """

    text_bytes: int
    positions: npt.NDArray[np.int32]
    token_ids: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int32]


# `NativeRoute.pack`.
Pack = Callable[["list[str]", "npt.NDArray[np.uint8]", Around, bool], Packed]


def most_bytes(texts: Sequence[str], around: Around) -> int:
    """An upper bound of the bytes that the texts and their separators take."""
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts) + len(texts) * around.separators
