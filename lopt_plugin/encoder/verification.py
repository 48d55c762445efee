"""Chooses the calls that are compared with the reference."""

from __future__ import annotations


class Verification:
    """share: the fraction of calls to compare, 0 to 1. calls: how many were compared."""

    def __init__(self, share: float) -> None:
        self.calls = 0
        self._share = share
        self._due = 0.0

    def is_due(self) -> bool:
        """Whether this call is to be compared, and counted as such. Call this once per call."""
        self._due += self._share
        if self._due < 1.0:
            return False
        self._due -= 1.0
        self.calls += 1
        return True
