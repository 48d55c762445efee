"""The ids of several texts in one array, or as a padded table with an attention mask, on the host or on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .checks import an_int

_INT32 = np.iinfo(np.int32)


class PaddedBatch(NamedTuple):
    """Rows of equal width; NumPy arrays or torch tensors, like the batch.

    Attributes:
        input_ids: int32 [rows, width].
        attention_mask: int32 [rows, width]: 1 for an id of the text, 0 for padding.
    """

    input_ids: Any
    attention_mask: Any


@dataclass(frozen=True)
class TokenBatch:
    """The ids of several texts. `len(batch)` is the number of rows.

    Attributes:
        ids: int32 [n], the ids of all rows.
        row_offsets: int64 [rows + 1]; row i is `ids[row_offsets[i]:row_offsets[i + 1]]`.

    Both are NumPy arrays, or torch tensors if the batch was requested on a device.

    >>> batch = tokenizer.lopt.encode_batch_ids(["Hello", "", "Hello world"])
    >>> len(batch), batch.ids.dtype, batch.row_offsets.dtype, batch.row_offsets.shape
    (3, dtype('int32'), dtype('int64'), (4,))
    """

    ids: Any
    row_offsets: Any

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    def row(self, index: int) -> Any:
        """Returns the ids of one text.

        Args:
            index: The number of the row, from 0.

        Returns:
            int32 [n], a view of `ids`.

        Raises:
            IndexError: For a row after the last one.

        >>> batch = tokenizer.lopt.encode_batch_ids(["Hello", "Hello world"])
        >>> batch.row(0).tolist() == tokenizer.lopt.encode_list("Hello")
        True
        """
        return self.ids[self.row_offsets[index] : self.row_offsets[index + 1]]

    def padded(self, pad_id: int, *, side: Literal["right", "left"] = "right", multiple: int = 1) -> PaddedBatch:
        """Pads all rows to the same width, on the host or the device that holds the batch.

        Args:
            pad_id: The padding id.
            side: The side of each row that is padded.
            multiple: The width is that of the longest row, rounded up to a multiple of this.

        Returns:
            The ids and their attention mask, int32 [rows, width] each.

        Raises:
            TypeError: For a pad_id or a multiple that is not an int.
            ValueError: For a pad_id that does not fit into an int32, an unknown side, or a multiple below 1.

        >>> table = tokenizer.lopt.encode_batch_ids(["Hello", "Hello world"]).padded(0, multiple=8)
        >>> table.input_ids.shape, table.attention_mask.dtype
        ((2, 8), dtype('int32'))
        """
        if side not in ("right", "left"):
            raise ValueError(f"side={side!r}: 'right' or 'left'")
        pad_id, multiple = an_int(pad_id, "pad_id"), an_int(multiple, "multiple")
        if multiple < 1:
            raise ValueError(f"multiple={multiple}: 1 or more")
        if not _INT32.min <= pad_id <= _INT32.max:
            raise ValueError(f"pad_id={pad_id} is not an int32")
        ends = (self.row_offsets[1:] - self.row_offsets[:-1])[:, None]
        width = -(-(int(ends.max()) if len(ends) else 0) // multiple) * multiple
        if isinstance(self.ids, np.ndarray):
            columns = np.arange(width)
            table: Any = np.full((len(ends), width), pad_id, dtype=np.int32)
        else:
            import torch

            columns = torch.arange(width, device=self.ids.device)
            table = torch.full((len(ends), width), pad_id, dtype=torch.int32, device=self.ids.device)
        inside = columns >= width - ends if side == "left" else columns < ends
        mask = table * 0
        mask[inside] = 1
        # A boolean mask lists its rows one after the other, as the ids do.
        table[inside] = self.ids
        return PaddedBatch(table, mask)
