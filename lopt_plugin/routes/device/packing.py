"""Texts packed as the one array of bytes that the kernels read; the native core writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Around(NamedTuple):
    """Ids that go before and behind every text."""

    prefix: Sequence[int] = ()
    suffix: Sequence[int] = ()

    @property
    def separators(self) -> int:
        """What every text has at least."""
        return len(self.prefix) + max(1, len(self.suffix))


class Packed(NamedTuple):
    """text_bytes: how many were written. positions, token_ids: int32 [s], bytes 0xFF, and the ids for which they stand,
    -2 for none. row_ends: int32 [rows], the numbers of those separators behind which a row ends.
    """

    text_bytes: int
    positions: npt.NDArray[np.int32]
    token_ids: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int32]


class Pack(Protocol):
    """`NativeRoute.pack`."""

    def __call__(
        self, texts: list[str], out: npt.NDArray[np.uint8], around: Around, split_special_tokens: bool
    ) -> Packed: ...


def most_bytes(texts: Sequence[str], around: Around) -> int:
    """No fewer than the UTF-8 of all texts takes, with a byte for each separator."""
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts) + len(texts) * around.separators
