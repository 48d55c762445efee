"""Compares a share of all calls with HF; after a difference HF does them all."""

from __future__ import annotations

import hashlib
import logging
from typing import TypeVar

from ..routes.hf import HfRoute
from ..routes.request import EncodeRequest, NeedsReference
from .operations import Operation
from .route_choice import BackendState

_T = TypeVar("_T")
_Given = TypeVar("_Given")
logger = logging.getLogger("lopt_plugin")


class Verification:
    """share: of the calls that are compared, 0 to 1. calls: how many were.

    HF is asked twice before a difference counts: somebody may have changed its truncation without our lock. It is the
    very tokenizer that was given, never a copy: one that is made through JSON may give other ids.
    """

    def __init__(self, hf: HfRoute, state: BackendState, share: float) -> None:
        self.calls = 0
        self._hf = hf
        self._state = state
        self._share = share
        self._due = 0.0

    def is_due(self) -> bool:
        """Whether this call is one that is compared; to be asked once a call."""
        self._due += self._share
        if self._due < 1.0:
            return False
        self._due -= 1.0
        return True

    def check(self, operation: Operation[_Given, _T], given: _Given, request: EncodeRequest, answer: _T) -> None:
        """Raises NeedsReference where the reference answers otherwise."""
        self.calls += 1
        if any(operation.equal(answer, operation.encode(self._hf, given, request)) for _ in range(2)):
            return
        # If the tokenizer has changed since, the difference means nothing.
        if self._state.stayed():
            digest = hashlib.sha256(repr(given).encode(errors="replace")).hexdigest()[:16]
            size = f"a text of {len(given)} characters" if isinstance(given, str) else "a batch"
            reason = f"verification found other values than HF's for {size}, sha256 {digest}"
            logger.error(
                "lopt_plugin: %s. The Hugging Face tokenizer answers, now and from now on. Please report this", reason
            )
            self._state.force_to_hf(reason)
        raise NeedsReference("verification found other values than HF's")
