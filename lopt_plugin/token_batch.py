"""Ids of several texts in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
