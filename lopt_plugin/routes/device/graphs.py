"""Launches that are recorded as CUDA graphs: one call starts all kernels of a batch.

PyTorch's rules for recording are kept: what is recorded has run before in the same way (kernels are compiled and
loaded), reads and writes buffers that stay where they are, allocates nothing, waits for nothing, and lies on one
stream, which is the current one. Only this thread is held to that while it records; others may use the device.
"""

from __future__ import annotations

import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import torch

logger = logging.getLogger("lopt_plugin")

# Of the recordings that were not used for longest, those beyond are dropped.
MOST_GRAPHS = 64


class Graphs:
    """Recordings by key. `enabled` False: everything is launched plainly, as where there is no CUDA."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.failure: str | None = None
        self.replayed = 0
        self.plain = 0
        self._seen: OrderedDict[Hashable, Any] = OrderedDict()

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        """Does `work`, launches on the current stream, by the recording of it where there is one.

        Works of one key must be the same launches with the same arguments. The first one is launched plainly, the
        second is recorded. Where that fails, which is said once in the log, all are launched plainly from then on.
        """
        if not self.enabled or self.failure is not None:
            self._plainly(work)
            return
        if key not in self._seen:
            self._plainly(work)
            self._seen[key] = None
            while len(self._seen) > MOST_GRAPHS:
                self._seen.popitem(last=False)
            return
        self._seen.move_to_end(key)
        graph = self._seen[key]
        if graph is None:
            try:
                graph = self._seen[key] = record(work)
            except Exception as error:
                self.failure = f"{type(error).__name__}: {error}"
                self._seen.clear()
                logger.warning("lopt_plugin: no CUDA graphs, kernels are launched one by one: %s", self.failure)
                self._plainly(work)
                return
        graph.replay()
        self.replayed += 1

    def clear(self) -> None:
        """To be called when a buffer has moved. Nothing recorded may be running."""
        self._seen.clear()

    def info(self) -> dict[str, Any]:
        recorded = sum(graph is not None for graph in self._seen.values())
        return {"recorded": recorded, "replayed": self.replayed, "plain": self.plain, "failure": self.failure}

    def _plainly(self, work: Callable[[], None]) -> None:
        work()
        self.plain += 1


def record(work: Callable[[], None]) -> Any:
    """The launches of `work`, which are not done, as a torch.cuda.CUDAGraph."""
    graph = torch.cuda.CUDAGraph()
    # Not torch.cuda.graph: that waits for all the device does, the model's kernels too, and gives the whole process's
    # unused memory back, to make room for a recording that allocates; ours does not.
    graph.capture_begin(capture_error_mode="thread_local")
    try:
        work()
    except BaseException:
        with contextlib.suppress(Exception):  # a stream must not stay behind that still records
            graph.capture_end()
        raise
    graph.capture_end()
    return graph
