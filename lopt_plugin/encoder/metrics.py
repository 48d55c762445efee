"""The interface through which an engine counts the calls of an Encoder (engines/metrics.py has one for Prometheus)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Observer(Protocol):
    """Called in the tokenizing thread, once the ids are available. Must not raise, and must return in microseconds."""

    def encoded(self, route: str, seconds: float) -> None:
        """A call got its ids from `route` ("native", "hf_chunks", "hf"); a batch is one call."""

    def fell_back(self, reason: str) -> None:
        """A call was left to the HF tokenizer because of `reason`."""

    def remembered(self, counts: Mapping[str, int]) -> None:
        """The prefix cache's counts since the last call; `prefix_counters` in `_core.pyi` names them."""
