"""Compares a fraction of all calls with HF; after a difference, HF answers all calls."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from ..routes.hf import HfRoute
from ..routes.request import EncodeRequest, NeedsReference
from ..settings import logger
from .operations import Operation
from .route_choice import BackendState

_T = TypeVar("_T")
_Given = TypeVar("_Given")


class Verification:
    """share: the fraction of calls to compare, 0 to 1. calls: how many were compared.

    HF is called twice before a difference counts, because its truncation may have been changed without our lock. It is
    the original tokenizer, never a copy: a copy is made through JSON and may give different ids.
    """

    def __init__(self, hf: HfRoute, state: BackendState, share: float) -> None:
        self.calls = 0
        self._hf = hf
        self._state = state
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

    def check(self, operation: Operation[_Given, _T], given: _Given, request: EncodeRequest, answer: _T) -> None:
        """Raises NeedsReference if the reference's answer differs."""
        if any(operation.equal(answer, operation.encode(self._hf, given, request)) for _ in range(2)):
            return
        # If the tokenizer has changed since, the difference means nothing.
        if self._state.stayed():
            digest = hashlib.sha256(repr(given).encode(errors="replace")).hexdigest()[:16]
            size = f"a text of {len(given)} characters" if isinstance(given, str) else "a batch"
            reason = f"verification found values that differ from HF's for {size}, sha256 {digest}"
            logger.error(
                "lopt_plugin: %s. The Hugging Face tokenizer answers, now and from now on. Please report this", reason
            )
            self._state.force_to_hf(reason)
        raise NeedsReference("verification found values that differ from HF's")
