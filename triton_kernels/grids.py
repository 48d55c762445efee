"""Grids of kernels whose number of items is known on the device only.

Such a kernel reads the number from memory, and its programs take every `num_programs`-th tile until there are none
left. The grid is then bounded by the room of the buffers and by MOST_PROGRAMS, not by the number: nobody waits for it,
and a recorded launch serves batches of any number of items. Pointers to such numbers, which lie side by side, are not
specialized on alignment: a kernel would be compiled for each place.
"""

from __future__ import annotations

import torch

# More than any GPU runs at a time of these kernels, so that uneven tiles are shared out, and few enough to be started
# in microseconds where they find nothing to do.
MOST_PROGRAMS = 4096


def grid_of(most: int, tile: int) -> tuple[int]:
    """The grid for at most `most` items, `tile` of them at a time; at least one program."""
    return (max(1, min(MOST_PROGRAMS, -(-most // tile))),)


def counted(count: torch.Tensor | None, most: int, device: torch.device) -> torch.Tensor:
    """`count`, int32 [1], or, where there is none, `most` as such a tensor: all the buffer holds are items."""
    return torch.full((1,), most, dtype=torch.int32, device=device) if count is None else count
