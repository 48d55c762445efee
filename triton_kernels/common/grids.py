"""Grids of kernels whose number of items only the device knows.

Such a kernel reads the number from memory, and each program takes every `num_programs`-th tile until none is left. The
grid is bounded by the size of the buffers and by what the device runs at a time, not by the number of items: the host
does not wait for that, and a recorded launch serves batches with any number of items. Pointers to such numbers, which
lie side by side, are not specialized on alignment: that would compile a kernel for each position.
"""

from __future__ import annotations

import functools

import torch

# What a multiprocessor of sm_80 and sm_90 holds at a time; others hold fewer, and start the rest when these end.
_WARPS = 64
_PROGRAMS = 32
_INTERPRETED_PROGRAMS = 64


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    number: int = torch.cuda.get_device_properties(device).multi_processor_count
    return number


def grid_of(most: int, tile: int, device: torch.device, warps: int = 4) -> tuple[int]:
    """The grid for at most `most` items, `tile` of them at a time; at least one program.

    No more programs than the device holds, each of `warps` warps, which is Triton's default.
    """
    held = _INTERPRETED_PROGRAMS
    if device.type == "cuda":
        held = _multiprocessors(device) * min(_PROGRAMS, _WARPS // warps)
    return (max(1, min(held, -(-most // tile))),)


def counted(count: torch.Tensor | None, most: int, device: torch.device) -> torch.Tensor:
    """`count`, int32 [1]; if None, `most` as such a tensor, as the whole buffer is items."""
    return torch.full((1,), most, dtype=torch.int32, device=device) if count is None else count
