"""When an Encoder's batches go to the GPU: the route is made at the first batch that is for it, and kept."""

from __future__ import annotations

import logging
import math
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer

from .pipeline import Unsupported, read_pipeline
from .route_choice import Snapshot
from .routes.device.availability import DeviceUnavailableError, device_in_use, interpreted, numbered
from .routes.device.crossover import SIZES
from .routes.gpu import GpuRoute, GpuUnavailableError
from .routes.native import NativeRoute
from .settings import Settings
from .token_batch import TokenBatch

logger = logging.getLogger("lopt_plugin")

# Kernels are compiled and memory is taken for a batch or a text of that size; smaller ones follow if they are worth it.
MAKE_FROM_BYTES = 1 << 20
# Shorter texts are never for the GPU by themselves: no crossover is measured below.
LEAST_TEXT_CHARS = SIZES[0]
_BEGINNING_CHARS = 4096
_MOST_BEGINNINGS = 1024


class GpuUse:
    """The GPU routes of one backend, one a device, as long as its native route holds; and why there is none.

    Under the route "auto" the GPU is used for large batches and long texts, and only where the process computes on CUDA
    already: to start CUDA takes seconds and memory, and forbids forks, which is not for a tokenizer to decide. Under
    "gpu", and where a call names a device, it is started.
    """

    def __init__(self, backend: Tokenizer, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._lock = threading.Lock()
        self._native: NativeRoute | None = None
        self._routes: dict[str, GpuRoute | str] = {}
        self._said_on_host = False
        _alive.add(self)
        self._beginnings: OrderedDict[int, None] = OrderedDict()

    def copy_for(self, backend: Tokenizer) -> GpuUse:
        """The same for a copy of the backend; tables and memory on the device are shared."""
        copied = GpuUse(backend, self._settings)
        with self._lock:
            copied._native, copied._routes = self._native, dict(self._routes)
        return copied

    def route_for(self, snapshot: Snapshot, texts: Sequence[str], *, lists: bool = False) -> GpuRoute | None:
        """The route for a batch whose ids end on the host, as `lists` or as an array; None if another is sooner."""
        if snapshot.native is None or self._settings.route not in ("auto", "gpu"):
            return None
        if self._settings.route == "gpu":
            return self.route_on(snapshot, "cuda") if texts else None
        return self._if_worth_it(snapshot, sum(map(len, texts)), lists)

    def route_for_text(
        self, snapshot: Snapshot, text: str, limit: int | None = None, keep_end: bool = False, *, lists: bool = False
    ) -> GpuRoute | None:
        """The same for one text, of which at most `limit` ids are kept; None where another route is sooner.

        That is also so for a text that will not be read to its end, and for one that begins like one before it: the
        native route keeps what texts begin with.
        """
        native = snapshot.native
        if len(text) < LEAST_TEXT_CHARS or native is None or self._settings.route not in ("auto", "gpu"):
            return None
        if self._settings.route == "auto" and not device_in_use():
            return None
        if limit is not None and not keep_end and native.is_over_long(text, limit):
            return None
        if self._settings.prefix_cache_mb and self._begins_alike(text):
            return None
        return self._if_worth_it(snapshot, len(text), lists)

    def _if_worth_it(self, snapshot: Snapshot, size: int, lists: bool) -> GpuRoute | None:
        """Below the crossover, and before it is known below MAKE_FROM_BYTES, nothing is for the GPU."""
        least = self._settings.gpu_min_bytes
        if size < self._least(snapshot, lists)[0] or interpreted():
            return None
        if self._settings.route == "auto" and not device_in_use():
            return None
        route = self.route_on(snapshot, "cuda")
        if route is None or least is not None:
            return route
        crossover = route.measured_crossover()
        return route if size >= (crossover.lists if lists else crossover.arrays) else None

    def _least(self, snapshot: Snapshot, lists: bool) -> tuple[float, str]:
        """Bytes from which on the GPU comes into question, as is known now, and how that is known."""
        if self._settings.gpu_min_bytes is not None:
            return self._settings.gpu_min_bytes, "as the setting gpu_min_bytes says"
        made = self._routes.get(numbered("cuda")) if self._native is snapshot.native else None
        crossover = made.crossover if isinstance(made, GpuRoute) else None
        if crossover is None:
            return MAKE_FROM_BYTES, "and then from where it is seen to be sooner, which is not known before that"
        return crossover.lists if lists else crossover.arrays, f"where it is sooner, {crossover.source}"

    def outlook(self, snapshot: Snapshot, texts: str | Sequence[str]) -> dict[str, Any]:
        """What `explain` shows of a text, or a batch, that is not encoded: whether it would go to the GPU, and why.

        gpu: True or False. from_bytes: as arrays and as lists; None for never, or where no number decides. Starts and
        measures nothing.
        """
        settings, alone = self._settings, isinstance(texts, str)
        size = len(texts) if isinstance(texts, str) else sum(map(len, texts))
        from_bytes = None
        goes = False
        known = self._routes.get(numbered("cuda")) if self._native is snapshot.native else None
        if settings.route not in ("auto", "gpu"):
            reason = f"the setting route={settings.route!r} leaves the GPU out"
        elif snapshot.native is None:
            reason = "the kernels do what the native route does, and there is none"
        elif isinstance(known, str):
            reason = f"it is not available: {known}"
        elif known is not None and not known.usable:
            reason = f"it is not used any more: {known.failure or 'the process has forked'}"
        elif settings.route == "gpu" and not alone:
            goes, reason = size > 0, "the setting route='gpu' gives it all batches"
        elif (settings.route == "auto" and not device_in_use()) or interpreted():
            reason = "this process does not compute on CUDA"
        elif alone and size < LEAST_TEXT_CHARS:
            reason = f"a text of less than {LEAST_TEXT_CHARS:,} characters never is for the GPU"
        else:
            (arrays, how), (lists, _) = self._least(snapshot, False), self._least(snapshot, True)
            from_bytes = {name: None if math.isinf(n) else int(n) for name, n in (("arrays", arrays), ("lists", lists))}
            goes = size >= min(arrays, lists)
            reason = f"from so many bytes on, {how}"
            if goes and isinstance(texts, str) and settings.prefix_cache_mb and _beginning(texts) in self._beginnings:
                goes, reason = False, "a text began like this one, and the native route keeps beginnings"
        return {"gpu": goes, "from_bytes": from_bytes, "reason": reason}

    def _begins_alike(self, text: str) -> bool:
        """Whether a text began like this one not long ago; notes how this one does."""
        beginning = _beginning(text)
        with self._lock:
            known = beginning in self._beginnings
            self._beginnings[beginning] = None
            self._beginnings.move_to_end(beginning)
            while len(self._beginnings) > _MOST_BEGINNINGS:
                self._beginnings.popitem(last=False)
        return known

    def route_on(self, snapshot: Snapshot, device: str) -> GpuRoute | None:
        """The route on a device; None where it cannot be had or has failed, which is said once in the log."""
        if snapshot.native is None:
            return None
        device = numbered(device)
        with self._lock:
            if self._native is not snapshot.native:
                self._native, self._routes = snapshot.native, {}
            found = self._routes.get(device)
            if found is None:
                found = self._routes[device] = self._make(snapshot, device)
        return found if isinstance(found, GpuRoute) and found.usable else None

    def info(self) -> dict[str, Any] | None:
        """What `explain` shows: for each device that was asked for, the route's state, or why there is none."""
        routes = dict(self._routes)
        if not routes:
            return None
        return {device: {"unavailable": r} if isinstance(r, str) else r.info() for device, r in routes.items()}

    def moved(self, batch: TokenBatch, device: str) -> TokenBatch:
        """The batch as torch tensors on the device; on the CPU where it cannot be had, which is said once in the log.

        Raises ImportError without torch.
        """
        import torch

        on_host = TokenBatch(torch.as_tensor(batch.ids), torch.as_tensor(batch.row_offsets))
        try:
            if interpreted() or not torch.cuda.is_available():
                raise DeviceUnavailableError("there is no such device")
            return TokenBatch(on_host.ids.to(device), on_host.row_offsets.to(device))
        except Exception as error:  # no memory there, a device that is lost, a forked process
            if not self._said_on_host:
                self._said_on_host = True
                logger.warning("lopt_plugin: not on %s, but on the CPU: the ids of a batch: %s", device, error)
            return on_host

    def _make(self, snapshot: Snapshot, device: str) -> GpuRoute | str:
        assert snapshot.native is not None
        try:
            pipeline = read_pipeline(self._backend)
            if isinstance(pipeline, Unsupported):
                raise GpuUnavailableError(pipeline.reason)
            route = GpuRoute(pipeline, snapshot.native, device=device)
        except GpuUnavailableError as error:
            logger.warning("lopt_plugin: the GPU is not used: %s; the native route does the work", error)
            return str(error)
        logger.info("lopt_plugin: GPU route on %s", route.device)
        return route


def _beginning(text: str) -> int:
    return hash(text[:_BEGINNING_CHARS])


_alive: weakref.WeakSet[GpuUse] = weakref.WeakSet()


def _renew_locks() -> None:
    # A lock that another thread held at the fork has no owner in the child that could ever release it.
    for use in list(_alive):
        use._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def check_device(device: Any) -> str:
    """The name of a CUDA device, given as that or as torch.device. Raises ValueError for others."""
    name = str(device)
    kind, _, index = name.partition(":")
    if kind != "cuda" or not (index.isdecimal() or name == "cuda"):
        raise ValueError(f"device={device!r}: batches are made on the host (None or 'cpu') or on a CUDA device")
    return name
