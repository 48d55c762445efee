"""Columns of arrays to the tensors that `BatchEncoding.convert_to_tensors` would make of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers.utils import TensorType, is_torch_available


def from_arrays(tensors: Any) -> bool:
    """Whether `tensors_from_arrays` makes this type of tensor."""
    return tensors in (TensorType.NUMPY, TensorType.PYTORCH)


def tensors_from_arrays(data: dict[str, Any], tensors: Any) -> None:
    """Makes torch tensors of the arrays among the columns of `data`, if torch tensors are asked for.

    Other columns are left for `convert_to_tensors`, as is everything where torch is missing: that says so.
    """
    if tensors == TensorType.PYTORCH and is_torch_available():
        import torch

        for key, column in data.items():
            if isinstance(column, np.ndarray):
                data[key] = torch.from_numpy(column)
