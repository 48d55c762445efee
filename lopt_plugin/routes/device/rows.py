"""Rows from several places, put together in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Part(NamedTuple):
    """Some rows of a batch: their numbers in it, ids [n] and row offsets [len(numbers) + 1], torch tensors."""

    numbers: Sequence[int]
    ids: Any
    row_offsets: Any


def in_order(parts: Sequence[Part], rows: int, device: Any) -> tuple[Any, Any]:
    """Ids, int32 [n], and row offsets, int64 [rows + 1], on `device`. Every row is in exactly one part."""
    import torch

    if [number for part in parts for number in part.numbers] == list(range(rows)):
        if len(parts) == 1:
            return parts[0].ids.to(device), parts[0].row_offsets.to(device)
        shift = 0
        offsets = [torch.zeros(1, dtype=torch.int64, device=device)]
        for part in parts:
            offsets.append(part.row_offsets[1:].to(device) + shift)
            shift += len(part.ids)
        return torch.cat([part.ids.to(device) for part in parts]), torch.cat(offsets)
    lengths = torch.zeros(rows, dtype=torch.int64, device=device)
    moved = []
    for numbers, ids, row_offsets in parts:
        places = torch.as_tensor(np.asarray(numbers, dtype=np.int64), device=device)
        row_offsets = row_offsets.to(device)
        lengths[places] = row_offsets[1:] - row_offsets[:-1]
        moved.append((places, ids.to(device), row_offsets))
    offsets = torch.zeros(rows + 1, dtype=torch.int64, device=device)
    torch.cumsum(lengths, 0, out=offsets[1:])
    result = torch.empty(int(offsets[-1]), dtype=torch.int32, device=device)
    for places, ids, row_offsets in moved:
        shifts = offsets[places] - row_offsets[:-1]
        targets = torch.arange(len(ids), device=device)
        result[targets + torch.repeat_interleave(shifts, row_offsets[1:] - row_offsets[:-1])] = ids
    return result, offsets


def from_host(numbers: Sequence[int], ids: npt.NDArray[np.int32], row_offsets: npt.NDArray[np.int64]) -> Part:
    import torch

    return Part(numbers, torch.from_numpy(ids), torch.from_numpy(row_offsets))
