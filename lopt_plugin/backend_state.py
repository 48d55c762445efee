"""What holds for a backend now: found out at the first use, and again before the first call after a change."""

from __future__ import annotations

import logging
from dataclasses import replace

from tokenizers import Tokenizer

from .backend_watch import ADDED_TOKENS_VERSION, BackendWatch, differ_only_in, same_state
from .route_choice import Snapshot, choose_route
from .routes import AcceleratedRoute, CannotEncodeError
from .routes.gpu import GpuRoute
from .routes.hf import HfRoute
from .settings import Settings

logger = logging.getLogger("lopt_plugin")


class BackendState:
    """The snapshot of the backend behind `hf`. A tokenizer that has gone to HF stays there. Safe under threads."""

    def __init__(self, hf: HfRoute, settings: Settings) -> None:
        self._hf = hf
        self._settings = settings
        self._snapshot: Snapshot | None = None
        self._forced_to_hf: str | None = None
        self._watch = BackendWatch.of(hf.backend) if isinstance(hf.backend, Tokenizer) else None

    def snapshot(self) -> Snapshot:
        """What holds for the backend as it is now; built anew where it has changed."""
        snapshot = self._snapshot
        if snapshot is None:
            return self._renew()
        if snapshot.fingerprint is not None and self._stale(snapshot):
            return self._renew()
        return snapshot

    def stayed(self) -> bool:
        """Whether the backend is what it was when `snapshot` was last called."""
        return self._snapshot is self.snapshot()

    def pass_on(self, copied: BackendState) -> None:
        """To the state of a copy of the backend: what was built for this one, as far as it is true of that one."""
        copied._forced_to_hf = self._forced_to_hf
        snapshot = self._snapshot
        if snapshot is None or (snapshot.fingerprint is not None and self._stale(snapshot)):
            return
        if snapshot.fingerprint is not None and copied._watch is not None:
            fingerprint = copied._watch.fingerprint()
            # A copy is made through JSON, and a backend in an odd state does not come back as it was.
            same = same_state(fingerprint, snapshot.fingerprint)
            if not same or copied._watch.added_tokens() != snapshot.added_tokens:
                return
            snapshot = replace(snapshot, fingerprint=fingerprint)
            if snapshot.hf_chunks is not None:
                # Its tokenizers share the components of this backend, which may change without the copy's notice.
                snapshot = replace(snapshot, hf_chunks=snapshot.hf_chunks.over(copied._hf))
        copied._snapshot = snapshot

    def failed(self, route: AcceleratedRoute | GpuRoute, error: Exception) -> None:
        """Gives the tokenizer to HF, unless the route only said that this text is not for it."""
        if isinstance(error, CannotEncodeError):
            return
        logger.error(
            "lopt_plugin: the %s route failed; the HF tokenizer is used from now on", route.name, exc_info=error
        )
        self.force_to_hf(f"the {route.name} route failed: {type(error).__name__}: {error}")

    def force_to_hf(self, reason: str) -> None:
        with self._hf.lock:
            self._forced_to_hf = reason
            before = self._snapshot
            self._snapshot = Snapshot(
                None,
                reason,
                description=None if before is None else before.description,
                checked=None if before is None else before.checked,
            )

    def _stale(self, snapshot: Snapshot) -> bool:
        if self._watch is None:
            return False
        try:
            return self._watch.fingerprint() != snapshot.fingerprint
        except Exception:
            return True

    def _renew(self) -> Snapshot:
        with self._hf.lock:
            snapshot = self._snapshot
            if snapshot is not None:
                if snapshot.fingerprint is None or not self._stale(snapshot):
                    return snapshot
                same = self._same_added_tokens(snapshot)
                if same is not None:
                    self._snapshot = same
                    return same
            if self._forced_to_hf is not None:
                renewed = Snapshot(None, self._forced_to_hf)
            else:
                renewed = choose_route(self._watch, self._hf, self._settings, snapshot)
            self._snapshot = renewed
            return renewed

    def _same_added_tokens(self, snapshot: Snapshot) -> Snapshot | None:
        """The snapshot under its new fingerprint if nothing but unchanged tokens was added; else None."""
        if self._watch is None or snapshot.fingerprint is None:
            return None
        try:
            fingerprint = self._watch.fingerprint()
        except Exception:
            return None
        if not differ_only_in(ADDED_TOKENS_VERSION, fingerprint, snapshot.fingerprint):
            return None
        if self._watch.added_tokens() != snapshot.added_tokens:
            return None
        return replace(snapshot, fingerprint=fingerprint)
