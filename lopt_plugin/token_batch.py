"""Ids of several texts in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .padding import PaddedBatch, padded


@dataclass(frozen=True)
class TokenBatch:
    """Ids of several texts.

    ids: int32 [n], those of all rows.
    row_offsets: int64 [rows + 1]; row i is ``ids[row_offsets[i]:row_offsets[i + 1]]``.

    Both are NumPy arrays, or torch tensors where the batch was asked for on a device.
    """

    ids: Any
    row_offsets: Any

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    def row(self, index: int) -> Any:
        """Ids of one text, int32 [n], a view."""
        return self.ids[self.row_offsets[index] : self.row_offsets[index + 1]]

    def padded(self, pad_id: int, *, side: Literal["right", "left"] = "right", multiple: int = 1) -> PaddedBatch:
        """The rows as a table and its attention mask, int32 [rows, width], where the batch is: on the host or a device.

        side: where pad_id stands. width: the length of the longest row, or the next `multiple` of that many.
        Raises ValueError for a pad_id that is no int32, another side, and a multiple below 1.
        """
        return padded(self.ids, self.row_offsets, pad_id, side, multiple)
