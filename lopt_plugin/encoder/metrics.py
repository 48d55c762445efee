"""The interface through which an engine counts the calls of an Encoder (engines/metrics.py has one for Prometheus)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Observer(Protocol):
    """Called in the thread that tokenizes, once the ids are there. Must not raise, and takes microseconds at most."""

    def encoded(self, route: str, seconds: float) -> None:
        """A call has given ids by `route` ("native", "hf_chunks", "hf"); a batch is one call."""

    def fell_back(self, reason: str) -> None:
        """A call has been left to the HF tokenizer, because of `reason`."""

    def remembered(self, counts: Mapping[str, int]) -> None:
        """What the prefix cache has counted since the last call; `prefix_counters` in `_core.pyi` names the counts."""
