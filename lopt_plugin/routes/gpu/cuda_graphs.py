"""Records launches as CUDA graphs: one call starts all kernels of a batch.

This follows CUDA's rules for recording: what is recorded has run before in the same way (so kernels are compiled and
loaded), reads and writes buffers that do not move, neither allocates nor waits, and uses only the current
stream. Only this thread has to follow them while it records; others may use the device.

Recordings are made through CUDA's own bindings, which torch brings along. A torch.cuda.CUDAGraph would register the
process's random number generator, and the sampling of a model in another thread could fail meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import torch

from ...settings import logger


class Graphs:
    """Recordings by key, of which there are few. With `enabled` False everything is launched directly."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.failure: str | None = None
        self.replayed = 0
        self.direct = 0
        self._recorded: dict[Hashable, Any] = {}

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        """Run `work`, which launches on the current stream, or replay its recording.

        All calls with the same key must make the same launches with the same arguments. The first is launched directly,
        the second is recorded. If recording fails, which is logged once, all are launched directly from then on. If
        CUDA refuses a recording (another one may be in progress on the device), this work is launched directly. A lack
        of memory is raised.
        """
        if self.enabled and key in self._recorded and self._recorded[key] is None:
            try:
                self._recorded[key] = record(work)
            except torch.cuda.OutOfMemoryError:
                raise
            except Exception as error:
                self.enabled, self.failure = False, f"{type(error).__name__}: {error}"
                self.clear()
                logger.warning("lopt_plugin: CUDA graphs failed; launching kernels one by one: %s", self.failure)
        recording = self._recorded.setdefault(key, None)
        if recording is not None and recording.replay():
            self.replayed += 1
        else:
            work()
            self.direct += 1

    def clear(self) -> None:
        """Drop all recordings, because a buffer has moved. None may be running."""
        self._recorded.clear()

    def info(self) -> dict[str, Any]:
        recorded = sum(recording is not None for recording in self._recorded.values())
        return {"recorded": recorded, "replayed": self.replayed, "direct": self.direct, "failure": self.failure}


@contextlib.contextmanager
def beside_recordings() -> Iterator[None]:
    """Lets this thread allocate and wait while others record graphs, as a model's thread may do.

    Otherwise CUDA refuses that, and the recording of the other thread, if torch made it as it does by default, is lost.
    """
    try:
        from cuda.bindings import runtime
    except ImportError:
        yield
        return
    of_this_thread = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    _, before = runtime.cudaThreadExchangeStreamCaptureMode(of_this_thread)
    try:
        yield
    finally:
        if before is not None:  # else CUDA has refused
            runtime.cudaThreadExchangeStreamCaptureMode(before)


class Recording:
    """The launches of a work, for the stream on which they were recorded."""

    def __init__(self, runtime: Any, executable: Any, stream: int) -> None:
        self._runtime = runtime
        self._executable = executable
        self._stream = stream

    def replay(self) -> bool:
        """Start the launches; False if CUDA refuses."""
        (status,) = self._runtime.cudaGraphLaunch(self._executable, self._stream)
        return bool(status == self._runtime.cudaError_t.cudaSuccess)

    def __del__(self) -> None:
        self._runtime.cudaGraphExecDestroy(self._executable)


def record(work: Callable[[], None]) -> Recording:
    """Record the launches of `work` on the current stream, without executing them.

    Raises ImportError without CUDA's bindings, RuntimeError if CUDA refuses, and what `work` raises.
    """
    from cuda.bindings import runtime

    def checked(status: Any, *values: Any) -> Any:
        if status != runtime.cudaError_t.cudaSuccess:
            raise RuntimeError(f"CUDA refuses to record a graph: {status}")
        return values[0] if values else None

    stream = torch.cuda.current_stream().cuda_stream
    of_this_thread = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    checked(*runtime.cudaStreamBeginCapture(stream, of_this_thread))
    try:
        work()
    except BaseException:
        with contextlib.suppress(Exception):  # no stream may be left recording
            runtime.cudaGraphDestroy(checked(*runtime.cudaStreamEndCapture(stream)))
        raise
    graph = checked(*runtime.cudaStreamEndCapture(stream))
    try:
        return Recording(runtime, checked(*runtime.cudaGraphInstantiate(graph, 0)), stream)
    finally:
        runtime.cudaGraphDestroy(graph)
