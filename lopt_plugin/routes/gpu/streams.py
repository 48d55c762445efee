"""The device stream on which batches are copied and computed; the host waits once per batch.

Work is done in the order in which it is queued: copies from pinned memory, kernels, copies of the results into pinned
memory. Meanwhile the host packs the next batch, so two may be in flight, in *lanes* 0 and 1 with separate memory.
(Copies do not overlap with kernels, which should not matter: packing takes longer than both.) A caller
that has read a lane's results on its own stream calls `taken`; later work for that lane waits for it. Memory is
allocated on the stream, and freed only after `wait_for_all`.

`HostStream` is for Triton's interpreter, without a device: each call returns when its work is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ...triton_kernels.batch.buffers import COUNTERS, SIZES, Batch
from ...triton_kernels.common.device_words import PADDING

LANES = 2
# Target and source.
Copy = tuple[torch.Tensor, torch.Tensor]


class HostStream:
    """The stream without a device: runs everything at once, in order."""

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Makes this the current stream, on which device memory is allocated and filled."""
        return contextlib.nullcontext()

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Page-locked host memory, which the device copies from and to directly."""
        return torch.empty(size, dtype=dtype)

    def queue(self, lane: int, copies: Sequence[Copy], work: Callable[[], None] | None = None) -> None:
        """work: launches on the current stream without waiting. copies: made after it."""
        if work is not None:
            work()
        for target, source in copies:
            target.copy_(source, non_blocking=True)

    def wait(self, lane: int) -> None:
        """Makes the host wait for the work queued for a lane."""

    def taken(self, lane: int) -> None:
        """Marks the point up to which the caller's current stream reads a lane's results."""

    def wait_for_all(self) -> None:
        """Makes the host wait for both lanes and for the readers of their results."""


class CudaStream(HostStream):
    """A stream of a CUDA device, for one thread at a time. The caller's current stream remains current."""

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device)
        self._done, self._taken = ([torch.cuda.Event() for _ in range(LANES)] for _ in range(2))

    def current(self) -> contextlib.AbstractContextManager[Any]:
        stream: contextlib.AbstractContextManager[Any] = torch.cuda.stream(self._stream)
        return stream

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(size, dtype=dtype, pin_memory=True)

    def queue(self, lane: int, copies: Sequence[Copy], work: Callable[[], None] | None = None) -> None:
        with self.current():
            # An event that was never recorded counts as done, so the first batch does not wait.
            self._stream.wait_event(self._taken[lane])
            super().queue(lane, copies, work)
            self._done[lane].record()

    def wait(self, lane: int) -> None:
        self._done[lane].synchronize()

    def taken(self, lane: int) -> None:
        self._taken[lane].record()

    def wait_for_all(self) -> None:
        self._stream.synchronize()
        for event in self._taken:
            event.synchronize()


class Lane:
    """Memory of a batch in flight: pinned memory for its input and output, and its `Batch` on the device."""

    def __init__(self, stream: HostStream) -> None:
        self._stream = stream
        self._batch: Batch | None = None
        self._within: dict[int, Batch] = {}
        self._numbers = stream.pinned(SIZES, torch.int32)
        self.staging = stream.pinned(0, torch.int64)
        self.counters = stream.pinned(COUNTERS, torch.int32)
        self.ids = stream.pinned(0, torch.int32)
        self.row_offsets = stream.pinned(0, torch.int64)

    @property
    def capacity(self) -> int:
        return 0 if self._batch is None else self._batch.bucket

    def batch(self, bucket: int) -> Batch:
        assert self._batch is not None
        if bucket not in self._within:
            self._within[bucket] = self._batch.within(bucket)
        return self._within[bucket]

    def room_for(self, most_bytes: int) -> npt.NDArray[np.uint8]:
        """The staging memory, with room for that many bytes and PADDING."""
        most_words = -(-(most_bytes + PADDING) // 8)
        if len(self.staging) < most_words:
            self.staging = self._stream.pinned(0, torch.int64)
            self.staging = self._stream.pinned(most_words * 5 // 4, torch.int64)
        staged: npt.NDArray[np.uint8] = self.staging.view(torch.uint8).numpy()
        return staged

    def numbers(self, lengths: list[int]) -> list[torch.Tensor]:
        """Staging memory for the sizes, and for arrays int32 of these lengths."""
        needed = SIZES + sum(lengths)
        if len(self._numbers) < needed:
            self._numbers = self._stream.pinned(needed * 5 // 4, torch.int32)
        return list(self._numbers[:needed].split([SIZES, *lengths]))

    def grow(self, bucket: int, device: torch.device) -> None:
        """Enlarges the buffers for a bucket if needed. Pinned memory holds half as many ids as the bucket has bytes."""
        if self.capacity < bucket:
            self._batch = None
            self._within.clear()
            self._batch = Batch.empty(bucket, device)
            self.ids = self._stream.pinned(bucket // 2, torch.int32)
            self.row_offsets = self._stream.pinned(len(self._batch.row_offsets), torch.int64)

    def bytes(self) -> int:
        return 0 if self._batch is None else self._batch.bytes()
