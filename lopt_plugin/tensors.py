"""Columns of arrays to the tensors that `BatchEncoding.convert_to_tensors` would make of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers.utils import TensorType, is_torch_available


def from_arrays(tensors: Any) -> bool:
    """Whether `tensors_from_arrays` makes this type of tensor."""
    return tensors in (TensorType.NUMPY, TensorType.PYTORCH)


def tensors_from_arrays(data: dict[str, Any], tensors: Any) -> None:
    """Replaces each column of `data`, a list of int64 arrays of one shape, by one array or torch tensor.

    Other columns are left for `convert_to_tensors`, as is everything where torch is missing: that says so.
    """
    for key, rows in data.items():
        if isinstance(rows[0], np.ndarray):
            data[key] = np.stack(rows)
    if tensors == TensorType.PYTORCH and is_torch_available():
        import torch

        for key, column in data.items():
            if isinstance(column, np.ndarray):
                data[key] = torch.from_numpy(column)
