"""Memory of one batch on its way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from ...triton_kernels.batch import COUNTERS, SIZES, Batch
from ...triton_kernels.device_words import PADDING
from .streams import Streams


class Lane:
    """Memory of one batch on its way: pinned, for what comes and goes, and its `Batch` on the device."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._batch: Batch | None = None
        self._numbers = streams.pinned(SIZES, torch.int32)
        self.staging = streams.pinned(0, torch.int64)
        self.counters = streams.pinned(COUNTERS, torch.int32)
        self.ids = streams.pinned(0, torch.int32)
        self.row_offsets = streams.pinned(0, torch.int64)

    @property
    def capacity(self) -> int:
        return 0 if self._batch is None else self._batch.bucket

    def batch(self, bucket: int) -> Batch:
        assert self._batch is not None
        return self._batch.within(bucket)

    def room_for(self, most_bytes: int) -> npt.NDArray[np.uint8]:
        """The staging memory, with room for so many bytes and PADDING."""
        most_words = -(-(most_bytes + PADDING) // 8)
        if len(self.staging) < most_words:
            self.staging = self._streams.pinned(0, torch.int64)
            self.staging = self._streams.pinned(most_words * 5 // 4, torch.int64)
        staged: npt.NDArray[np.uint8] = self.staging.view(torch.uint8).numpy()
        return staged

    def numbers(self, separators: int, rows: int) -> list[torch.Tensor]:
        """Staging memory for sizes, positions, token ids and row ends."""
        needed = SIZES + 2 * separators + rows
        if len(self._numbers) < needed:
            self._numbers = self._streams.pinned(needed * 5 // 4, torch.int32)
        return list(self._numbers[:needed].split([SIZES, separators, separators, rows]))

    def grow(self, bucket: int, device: torch.device) -> None:
        """Buffers for that bucket, if they are smaller. Half as many ids as bytes are fetched through pinned memory."""
        if self.capacity < bucket:
            self._batch = None
            self._batch = Batch.empty(bucket, device)
            self.ids = self._streams.pinned(bucket // 2, torch.int32)
            self.row_offsets = self._streams.pinned(len(self._batch.row_offsets), torch.int64)

    def bytes(self) -> int:
        return 0 if self._batch is None else self._batch.bytes()
