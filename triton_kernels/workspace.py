"""Memory on the device that is kept from batch to batch: allocation would take longer than the kernels."""

from __future__ import annotations

import torch

_SPARE = 1.25


class Workspace:
    """Buffers by name. Not safe for several threads, nor for several streams at a time: one batch after another.

    A buffer is made anew, a quarter larger than asked for, when a batch needs a larger one; nothing is ever given back
    before `release`.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._buffers: dict[str, torch.Tensor] = {}

    def take(self, name: str, size: int, dtype: torch.dtype) -> torch.Tensor:
        """A tensor [size] of undefined contents; what was taken under the name before is overwritten."""
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            self._buffers.pop(name, None)
            del buffer
            buffer = torch.empty(int(size * _SPARE) + 1, dtype=dtype, device=self.device)
            self._buffers[name] = buffer
        return buffer[:size]

    def release(self) -> None:
        """Gives all memory back."""
        self._buffers.clear()

    def bytes(self) -> int:
        return sum(buffer.numel() * buffer.element_size() for buffer in self._buffers.values())
