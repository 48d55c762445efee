"""Rows of ids as a table with an attention mask, on the host or on the device."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .routes.device.availability import interpreted

logger = logging.getLogger("lopt_plugin")

_INT32 = np.iinfo(np.int32)


class PaddedBatch(NamedTuple):
    """input_ids and attention_mask (1 where an id stands), int32 [rows, width]; arrays or tensors as the batch has."""

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
        raise ValueError(f"pad_id={pad_id} is no int32")
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


# In a boolean mask, as in the ids, row stands behind row.


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

    from .triton_kernels.emit.padding import pad

    with torch.cuda.device(ids.device) if ids.device.type == "cuda" else contextlib.nullcontext():
        return PaddedBatch(*pad(ids, row_offsets, width, pad_id, left=left))
