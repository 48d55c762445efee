"""Routes from text to the ids of one tokenizer. All return the same ids; they differ in speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .request import EncodeRequest

Ids = npt.NDArray[np.int32]
RowOffsets = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32]


class ListRoute(Protocol):
    """An accelerated route raises NeedsReference for a text that it cannot encode."""

    name: str

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        """Ids of one text, truncated; the request's padding and columns are ignored."""


class Route(ListRoute, Protocol):
    """A route for every kind of call."""

    def encode_array(self, text: str, request: EncodeRequest) -> Ids:
        """Ids of one text, int32 [n], not truncated."""

    def encode_batch(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Ids, RowOffsets]:
        """Ids of all texts, int32 [n], not truncated, and where each begins, int64 [len(texts) + 1]."""
