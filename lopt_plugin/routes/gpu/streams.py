"""Streams of a device: copies overlap with kernels, and the host waits once for each batch.

A batch is sent on one stream, computed on a second, and its results are fetched on a third:

    send     copies from pinned memory; only the kernels of the same batch wait for it
    launch   kernels, after what was sent
    fetch    copies into pinned memory, after the kernels
    wait     the host waits for one batch; it waits nowhere else

Two batches may be in flight, in *lanes* 0 and 1 with separate memory. A caller that has read a lane's results on its
own stream calls `taken`; the lane's next kernels wait for that. Memory is allocated on the stream of the kernels, and
the other streams then wait for it; it is freed only after `wait_for_all`.

`HostStreams` is for Triton's interpreter, without a device: each call returns when its work is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch

from ...triton_kernels.batch.buffers import COUNTERS, SIZES, Batch
from ...triton_kernels.common.device_words import PADDING

LANES = 2
# Target and source.
Copy = tuple[torch.Tensor, torch.Tensor]


class HostStreams:
    """The streams without a device: runs everything at once, in order."""

    def allocating(self) -> contextlib.AbstractContextManager[None]:
        """A context in which device memory is allocated and filled."""
        return contextlib.nullcontext()

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Page-locked host memory, which the device copies from and to directly."""
        return torch.empty(size, dtype=dtype)

    def send(self, lane: int, copies: Sequence[Copy]) -> None:
        _copy(copies)

    def launch(self, lane: int, work: Callable[[], None], copies: Sequence[Copy]) -> None:
        """work: launches on the current stream without waiting. copies: of its small results, after it."""
        work()
        _copy(copies)

    def fetch(self, lane: int, copies: Sequence[Copy]) -> None:
        _copy(copies)

    def wait(self, lane: int) -> None:
        pass

    def taken(self, lane: int) -> None:
        pass

    def wait_for_all(self) -> None:
        pass


class CudaStreams(HostStreams):
    """Streams of a CUDA device, for one thread at a time. The caller's current stream stays current."""

    def __init__(self, device: torch.device) -> None:
        self._sending, self._computing, self._fetching = (torch.cuda.Stream(device) for _ in range(3))
        self._sent, self._done, self._taken = ([torch.cuda.Event() for _ in range(LANES)] for _ in range(3))

    @contextlib.contextmanager
    def allocating(self) -> Iterator[None]:
        with torch.cuda.stream(self._computing):
            yield
        self._sending.wait_stream(self._computing)
        self._fetching.wait_stream(self._computing)

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(size, dtype=dtype, pin_memory=True)

    def send(self, lane: int, copies: Sequence[Copy]) -> None:
        with torch.cuda.stream(self._sending):
            _copy(copies)
            self._sent[lane].record()

    def launch(self, lane: int, work: Callable[[], None], copies: Sequence[Copy]) -> None:
        with torch.cuda.stream(self._computing):
            self._computing.wait_event(self._sent[lane])
            # An event that was never recorded counts as done, so the first batch does not wait.
            self._computing.wait_event(self._taken[lane])
            work()
            _copy(copies)
            self._done[lane].record()

    def fetch(self, lane: int, copies: Sequence[Copy]) -> None:
        with torch.cuda.stream(self._fetching):
            self._fetching.wait_event(self._done[lane])
            _copy(copies)
            self._done[lane].record()

    def wait(self, lane: int) -> None:
        self._done[lane].synchronize()

    def taken(self, lane: int) -> None:
        self._taken[lane].record()

    def wait_for_all(self) -> None:
        for stream in (self._sending, self._computing, self._fetching):
            stream.synchronize()
        for event in self._taken:
            event.synchronize()


def _copy(copies: Sequence[Copy]) -> None:
    for target, source in copies:
        target.copy_(source, non_blocking=True)


class Lane:
    """Memory of a batch in flight: pinned memory for its input and output, and its `Batch` on the device."""

    def __init__(self, streams: HostStreams) -> None:
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
        """The staging memory, with room for that many bytes and PADDING."""
        most_words = -(-(most_bytes + PADDING) // 8)
        if len(self.staging) < most_words:
            self.staging = self._streams.pinned(0, torch.int64)
            self.staging = self._streams.pinned(most_words * 5 // 4, torch.int64)
        staged: npt.NDArray[np.uint8] = self.staging.view(torch.uint8).numpy()
        return staged

    def numbers(self, lengths: list[int]) -> list[torch.Tensor]:
        """Staging memory for the sizes, and for arrays int32 of these lengths."""
        needed = SIZES + sum(lengths)
        if len(self._numbers) < needed:
            self._numbers = self._streams.pinned(needed * 5 // 4, torch.int32)
        return list(self._numbers[:needed].split([SIZES, *lengths]))

    def grow(self, bucket: int, device: torch.device) -> None:
        """Enlarges the buffers for a bucket if needed. Pinned memory holds half as many ids as the bucket has bytes."""
        if self.capacity < bucket:
            self._batch = None
            self._batch = Batch.empty(bucket, device)
            self.ids = self._streams.pinned(bucket // 2, torch.int32)
            self.row_offsets = self._streams.pinned(len(self._batch.row_offsets), torch.int64)

    def bytes(self) -> int:
        return 0 if self._batch is None else self._batch.bytes()
