"""Ids of several texts in one array, and as a padded table with its attention mask, on the host or on the device."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..routes.gpu.device import interpreted

logger = logging.getLogger("lopt_plugin")

_INT32 = np.iinfo(np.int32)


class PaddedBatch(NamedTuple):
    """Rows of one width; NumPy arrays or torch tensors, as the batch has.

    Attributes:
        input_ids: int32 [rows, width].
        attention_mask: int32 [rows, width]: 1 for an id of the text, 0 for padding.
    """

    input_ids: Any
    attention_mask: Any


def padded(
    ids: Any, row_offsets: Any, pad_id: int, side: Literal["right", "left"] = "right", multiple: int = 1
) -> PaddedBatch:
    """As `TokenBatch.padded`."""
    if side not in ("right", "left"):
        raise ValueError(f"side={side!r}: 'right' or 'left'")
    if multiple < 1:
        raise ValueError(f"multiple={multiple}: 1 or more")
    if not _INT32.min <= pad_id <= _INT32.max:
        raise ValueError(f"pad_id={pad_id} is not an int32")
    left = side == "left"
    if isinstance(ids, np.ndarray):
        return _padded_array(ids, row_offsets, _width(np.diff(row_offsets), multiple), pad_id, left)
    width = _width(row_offsets.diff(), multiple)
    if ids.device.type == "cuda" or interpreted():
        try:
            return _padded_by_kernel(ids, row_offsets, width, pad_id, left)
        except Exception as error:
            logger.warning("lopt_plugin: torch does the padding: %s: %s", type(error).__name__, error)
    return _padded_tensor(ids, row_offsets, width, pad_id, left)


def _width(lengths: Any, multiple: int) -> int:
    longest = int(lengths.max()) if len(lengths) else 0
    return -(-longest // multiple) * multiple


# A boolean mask lists its rows one after the other, as the ids do.


def _padded_array(
    ids: npt.NDArray[np.int32], row_offsets: npt.NDArray[np.int64], width: int, pad_id: int, left: bool
) -> PaddedBatch:
    lengths = np.diff(row_offsets)[:, None]
    columns = np.arange(width)
    inside = columns >= width - lengths if left else columns < lengths
    table = np.full(inside.shape, pad_id, dtype=np.int32)
    table[inside] = ids
    return PaddedBatch(table, inside.astype(np.int32))


def _padded_tensor(ids: Any, row_offsets: Any, width: int, pad_id: int, left: bool) -> PaddedBatch:
    import torch

    lengths = row_offsets.diff()[:, None]
    columns = torch.arange(width, device=ids.device)
    inside = columns >= width - lengths if left else columns < lengths
    table = torch.full(inside.shape, pad_id, dtype=torch.int32, device=ids.device)
    table[inside] = ids
    return PaddedBatch(table, inside.to(torch.int32))


def _padded_by_kernel(ids: Any, row_offsets: Any, width: int, pad_id: int, left: bool) -> PaddedBatch:
    import torch

    from ..triton_kernels.emit.padding import pad

    with torch.cuda.device(ids.device) if ids.device.type == "cuda" else contextlib.nullcontext():
        return PaddedBatch(*pad(ids, row_offsets, width, pad_id, left=left))


@dataclass(frozen=True)
class TokenBatch:
    """Ids of several texts. `len(batch)` is the number of rows.

    Attributes:
        ids: int32 [n], those of all rows.
        row_offsets: int64 [rows + 1]; row i is `ids[row_offsets[i]:row_offsets[i + 1]]`.

    Both are NumPy arrays, or torch tensors where the batch was asked for on a device.

    >>> batch = tokenizer.lopt.encode_batch_ids(["Hello", "", "Hello world"])
    >>> len(batch), batch.ids.dtype, batch.row_offsets.dtype, batch.row_offsets.shape
    (3, dtype('int32'), dtype('int64'), (4,))
    """

    ids: Any
    row_offsets: Any

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    def row(self, index: int) -> Any:
        """Gives the ids of one text.

        Args:
            index: The number of the row, from 0 on.

        Returns:
            int32 [n], a view of `ids`.

        Raises:
            IndexError: For a row beyond the last one.

        >>> batch = tokenizer.lopt.encode_batch_ids(["Hello", "Hello world"])
        >>> batch.row(0).tolist() == tokenizer.lopt.encode_list("Hello")
        True
        """
        return self.ids[self.row_offsets[index] : self.row_offsets[index + 1]]

    def padded(self, pad_id: int, *, side: Literal["right", "left"] = "right", multiple: int = 1) -> PaddedBatch:
        """Pads all rows to one width, on the host or on the device, wherever the batch is.

        Args:
            pad_id: The id to fill up with.
            side: The side of each row that is filled up.
            multiple: The width is that of the longest row, rounded up to a multiple of this.

        Returns:
            The ids and their attention mask, int32 [rows, width] each.

        Raises:
            ValueError: For a pad_id that does not fit into an int32, an unknown side, or a multiple below 1.

        >>> table = tokenizer.lopt.encode_batch_ids(["Hello", "Hello world"]).padded(0, multiple=8)
        >>> table.input_ids.shape, table.attention_mask.dtype
        ((2, 8), dtype('int32'))
        """
        return padded(self.ids, self.row_offsets, pad_id, side, multiple)
