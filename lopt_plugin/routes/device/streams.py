"""Streams of a device: copies to it and back go on beside its kernels, and the host waits once a batch.

A batch is sent on one stream, computed on a second, and its results are fetched on a third:

    send     copies from pinned memory; nothing waits for it but the kernels of the same batch
    launch   kernels, behind what was sent
    fetch    copies into pinned memory, behind the kernels
    wait     the host, for one batch: the only place where it waits

Two batches may be under way, in *lanes* 0 and 1, whose memory is apart. Who has read a lane's results on a stream of
his own says so by `taken`; the lane's next kernels wait for that. Memory is allocated on the stream of the kernels, and
the others wait for it then; it is given back only behind `wait_for_all`.

`HostStreams` stands in where there is no device (Triton's interpreter): everything is done when it returns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch

LANES = 2
# Where a copy goes to, and what it copies.
Copy = tuple[torch.Tensor, torch.Tensor]


class Streams(Protocol):
    """See the module."""

    def allocating(self) -> contextlib.AbstractContextManager[None]:
        """In here, memory for the device is made, and filled."""

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Memory of the host that is copied from and to without a detour."""

    def send(self, lane: int, copies: Sequence[Copy]) -> None: ...
    def launch(self, lane: int, work: Callable[[], None], copies: Sequence[Copy]) -> None:
        """work: launches on the current stream, and waits for nothing. copies: of its small results, behind it."""

    def fetch(self, lane: int, copies: Sequence[Copy]) -> None: ...
    def wait(self, lane: int) -> None: ...
    def taken(self, lane: int) -> None: ...
    def wait_for_all(self) -> None: ...


def streams_of(device: torch.device) -> Streams:
    return CudaStreams(device) if device.type == "cuda" else HostStreams()


class CudaStreams:
    """Those of a CUDA device. Used by one thread at a time; the current stream of the caller is left as it is."""

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
            # Never recorded, an event is over: the first batch waits for nothing.
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


class HostStreams:
    """One thing after the other."""

    def allocating(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(size, dtype=dtype)

    def send(self, lane: int, copies: Sequence[Copy]) -> None:
        _copy(copies)

    def launch(self, lane: int, work: Callable[[], None], copies: Sequence[Copy]) -> None:
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


def _copy(copies: Sequence[Copy]) -> None:
    for target, source in copies:
        target.copy_(source, non_blocking=True)
