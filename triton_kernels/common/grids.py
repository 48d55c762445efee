"""Grids of kernels whose number of items only the device knows.

Such a kernel reads the number from memory, and each program takes every `num_programs`-th tile until none is left. The
grid is bounded by the size of the buffers and by MOST_PROGRAMS, not by the number of items: the host does not wait for
that, and a recorded launch serves batches with any number of items. Pointers to such numbers, which lie side by side,
are not specialized on alignment: that would compile a kernel for each position.
"""

from __future__ import annotations

import torch

# More programs than any GPU runs at a time, so that uneven tiles even out; few enough to start in microseconds when
# they find nothing to do.
MOST_PROGRAMS = 4096


def grid_of(most: int, tile: int) -> tuple[int]:
    """The grid for at most `most` items, `tile` of them at a time; at least one program."""
    return (max(1, min(MOST_PROGRAMS, -(-most // tile))),)


def counted(count: torch.Tensor | None, most: int, device: torch.device) -> torch.Tensor:
    """`count`, int32 [1]; if None, `most` as such a tensor, as the whole buffer is items."""
    return torch.full((1,), most, dtype=torch.int32, device=device) if count is None else count
