"""Records launches as CUDA graphs: one call starts all kernels of a batch.

This follows PyTorch's rules for recording: what is recorded has run before in the same way (so kernels are compiled and
loaded), reads and writes buffers that do not move, neither allocates nor waits, and uses only the current
stream. Only this thread has to follow them while it records; others may use the device.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Hashable
from typing import Any

import torch

logger = logging.getLogger("lopt_plugin")


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

        All works of one key must be the same launches with the same arguments. The first is launched directly, the
        second is recorded. If recording fails, which is logged once, all are launched directly from then on.
        """
        if self.enabled and key in self._recorded and self._recorded[key] is None:
            try:
                self._recorded[key] = record(work)
            except Exception as error:
                self.enabled, self.failure = False, f"{type(error).__name__}: {error}"
                self.clear()
                logger.warning("lopt_plugin: CUDA graphs failed; launching kernels one by one: %s", self.failure)
        graph = self._recorded.setdefault(key, None)
        if graph is None:
            work()
            self.direct += 1
        else:
            graph.replay()
            self.replayed += 1

    def clear(self) -> None:
        """Drop all recordings, because a buffer has moved. None may be running."""
        self._recorded.clear()

    def info(self) -> dict[str, Any]:
        recorded = sum(graph is not None for graph in self._recorded.values())
        return {"recorded": recorded, "replayed": self.replayed, "direct": self.direct, "failure": self.failure}


def record(work: Callable[[], None]) -> Any:
    """The launches of `work` as a torch.cuda.CUDAGraph; they are not executed."""
    graph = torch.cuda.CUDAGraph()
    # Not torch.cuda.graph: it waits for everything on the device, the model's kernels too, and frees the process's
    # unused memory to make room for a recording that allocates; ours does not.
    graph.capture_begin(capture_error_mode="thread_local")
    try:
        work()
    except BaseException:
        with contextlib.suppress(Exception):  # no stream may be left recording
            graph.capture_end()
        raise
    graph.capture_end()
    return graph
