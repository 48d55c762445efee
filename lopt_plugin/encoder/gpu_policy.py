"""Decides which batches and texts of an Encoder go to the GPU. GPU routes are created when first needed, and kept."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer

from ..pipeline import Unsupported, read_pipeline
from ..routes.gpu.crossover import crossover_key, stored_crossover
from ..routes.gpu.device import GpuUnavailableError, device_in_use, find_device, interpreted, numbered
from ..routes.gpu.route import GpuRoute
from ..routes.hf import new_lock_now_and_after_forks
from ..routes.native import NativeRoute
from ..routes.request import EncodeRequest
from ..settings import Settings, logger
from .route_choice import Snapshot
from .token_batch import TokenBatch

# With route="gpu", single texts of at least this size go to the GPU if no crossover is stored.
UNMEASURED_MIN_BYTES = 1 << 20
# A single shorter text never goes to the GPU, and a smaller batch only by the setting.
LEAST_TEXT_CHARS = 1 << 16
_PREFIX_CHARS = 4096
_MAX_PREFIXES = 1024


class GpuUse:
    """The GPU routes of one backend, one per device, as long as its native route is valid.

    Under the route "auto" the GPU gets batches and texts from the setting `gpu_min_bytes` or the stored crossover on,
    and only if this process already uses CUDA: starting CUDA takes seconds and memory and rules out forking, which a
    tokenizer must not decide. Without a setting or a stored crossover it gets none. Until the route is made, by a
    thread of its own, the native one answers: no request waits for a compiler. Under "gpu" it gets every batch; there,
    and when a call names a device, CUDA is started, and the first call makes the route. No request measures anything.
    """

    def __init__(self, backend: Tokenizer, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._native: NativeRoute | None = None
        self._routes: dict[str, GpuRoute | str] = {}
        self._crossovers: dict[str, float | None] = {}
        self._least = LEAST_TEXT_CHARS if settings.gpu_min_bytes is None else settings.gpu_min_bytes
        self._being_made: set[str] = set()
        self._prefixes: dict[int, bool] = {}  # the least recently used one first
        self._warned_of_host = False
        new_lock_now_and_after_forks(self)

    def new_lock(self) -> None:
        self._lock = threading.Lock()

    def copy_for(self, backend: Tokenizer) -> GpuUse:
        """The same for a copy of the backend; tables and device memory are shared."""
        copied = GpuUse(backend, self._settings)
        with self._lock:
            copied._native, copied._routes = self._native, dict(self._routes)
        return copied

    def route_for(self, snapshot: Snapshot, texts: Sequence[str]) -> GpuRoute | None:
        """The GPU route for a batch whose ids are wanted on the host; None to use another route."""
        if self._settings.route == "gpu":
            return self.route_on(snapshot, "cuda") if texts else None
        return self._route_from(snapshot, sum(map(len, texts)))

    def route_for_text(self, snapshot: Snapshot, text: str, request: EncodeRequest) -> GpuRoute | None:
        """The GPU route for one text, truncated as the request says; None to use another route.

        None too if the native route need not read the whole text, because it is truncated early, or because its prefix
        was seen before and may be in the prefix cache.
        """
        native = snapshot.native
        if len(text) < LEAST_TEXT_CHARS or native is None or not self._size_decides():
            return None
        if not request.keeps_end and native.is_over_long(text, native.post_processing.room(request)):
            return None
        if self._settings.prefix_cache_mb and self._prefix_seen(text):
            return None
        return self._route_from(snapshot, len(text))

    def _route_from(self, snapshot: Snapshot, size: int) -> GpuRoute | None:
        if size < self._least or not self._size_decides() or size < self._min_bytes(snapshot)[0]:
            return None
        return self.route_on(snapshot, "cuda") if self._settings.route == "gpu" else self._route_made(snapshot)

    def _route_made(self, snapshot: Snapshot) -> GpuRoute | None:
        """The route on the current device, if it is made; else a thread makes it for later calls."""
        device = numbered("cuda")
        with self._lock:
            self._renew(snapshot)
            found = self._routes.get(device)
            if found is None and device not in self._being_made:
                self._being_made.add(device)
                threading.Thread(target=self._make, args=(snapshot, device), daemon=True).start()
        return found if isinstance(found, GpuRoute) and found.usable else None

    def _make(self, snapshot: Snapshot, device: str) -> None:
        made = self._create(snapshot, device)
        with self._lock:
            self._being_made.discard(device)
            if self._native is snapshot.native:
                self._routes.setdefault(device, made)

    def _size_decides(self) -> bool:
        """Whether the route setting and the state of the process allow the GPU for texts that are large enough."""
        route = self._settings.route
        return (route == "gpu" or (route == "auto" and device_in_use())) and not interpreted()

    def _min_bytes(self, snapshot: Snapshot) -> tuple[float, str]:
        """The smallest size for the GPU (math.inf: never), and where that size comes from."""
        if self._settings.gpu_min_bytes is not None:
            return self._settings.gpu_min_bytes, "the setting gpu_min_bytes"
        crossover = self._crossover(snapshot)
        if crossover is not None:
            return max(crossover, LEAST_TEXT_CHARS), "the stored crossover"
        if self._settings.route == "gpu":
            return UNMEASURED_MIN_BYTES, "route='gpu' without a stored crossover"
        return math.inf, "no crossover is stored for this device; run `lopt bench MODEL --gpu`, or set gpu_min_bytes"

    def _crossover(self, snapshot: Snapshot) -> float | None:
        """The crossover of the current device, read once from the cache folder; None while CUDA is not in use."""
        if not device_in_use():
            return None
        device = numbered("cuda")
        with self._lock:
            self._renew(snapshot)
            if device not in self._crossovers:
                pattern = (snapshot.description or {}).get("scanner", "")
                with contextlib.suppress(GpuUnavailableError):
                    key = crossover_key(find_device(), pattern, self._settings.threads)
                    self._crossovers[device] = stored_crossover(key)
            return self._crossovers.setdefault(device, None)

    def outlook(self, snapshot: Snapshot, texts: str | Sequence[str]) -> dict[str, Any]:
        """For `explain`: whether a text or a batch would go to the GPU, and why. Starts and measures nothing.

        gpu: True or False. from_bytes: the least size; None for never, and if size does not matter.
        """
        settings, alone = self._settings, isinstance(texts, str)
        size = len(texts) if isinstance(texts, str) else sum(map(len, texts))
        from_bytes = None
        gpu = False
        known = self._routes.get(numbered("cuda")) if self._native is snapshot.native else None
        if settings.route not in ("auto", "gpu"):
            reason = f"the setting route={settings.route!r} excludes the GPU"
        elif snapshot.native is None:
            reason = "the GPU needs the native route, which this tokenizer does not have"
        elif isinstance(known, str):
            reason = f"the GPU is unavailable: {known}"
        elif known is not None and not known.usable:
            reason = f"the GPU is no longer used: {known.failure or 'the process has forked'}"
        elif settings.route == "gpu" and not alone:
            gpu, reason = size > 0, "the setting route='gpu' sends every batch to the GPU"
        elif not self._size_decides():
            reason = "this process does not use CUDA"
        elif alone and size < LEAST_TEXT_CHARS:
            reason = f"a single text of fewer than {LEAST_TEXT_CHARS:,} characters never goes to the GPU"
        else:
            least, source = self._min_bytes(snapshot)
            gpu, reason, from_bytes = size >= least, f"size decides: {source}", _whole(least)
            if gpu and isinstance(texts, str) and settings.prefix_cache_mb and _prefix_hash(texts) in self._prefixes:
                gpu, reason = False, "a text with this prefix was seen; the native route may have it in its cache"
        return {"gpu": gpu, "from_bytes": from_bytes, "reason": reason}

    def _prefix_seen(self, text: str) -> bool:
        """Whether a recent text had the same prefix; remembers this one's."""
        prefix = _prefix_hash(text)
        with self._lock:
            seen = self._prefixes.pop(prefix, False)
            self._prefixes[prefix] = True
            if len(self._prefixes) > _MAX_PREFIXES:
                del self._prefixes[next(iter(self._prefixes))]
        return seen

    def route_on(self, snapshot: Snapshot, device: str) -> GpuRoute | None:
        """The route on a device; None if it is unavailable or has failed, which is logged once."""
        if snapshot.native is None:
            return None
        device = numbered(device)
        with self._lock:
            self._renew(snapshot)
            found = self._routes.get(device)
            if found is None:
                found = self._routes[device] = self._create(snapshot, device)
        return found if isinstance(found, GpuRoute) and found.usable else None

    def info(self) -> dict[str, Any] | None:
        """For `explain`: for each device in use, the state of its route, or why there is none."""
        routes, crossovers = dict(self._routes), dict(self._crossovers)
        found: dict[str, Any] = {}
        for device, route in routes.items():
            if isinstance(route, str):
                found[device] = {"unavailable": route}
            else:
                found[device] = {**route.info(), "crossover": _whole(crossovers.get(device))}
        return found or None

    def moved(self, batch: TokenBatch, device: str) -> TokenBatch:
        """The batch as torch tensors on the device; on the CPU if the device fails, which is logged once."""
        import torch

        on_host = TokenBatch(torch.as_tensor(batch.ids), torch.as_tensor(batch.row_offsets))
        try:
            if interpreted() or not torch.cuda.is_available():
                raise GpuUnavailableError("there is no such device")
            return TokenBatch(on_host.ids.to(device), on_host.row_offsets.to(device))
        except Exception as error:  # no memory, a lost device, a forked process
            if not self._warned_of_host:
                self._warned_of_host = True
                logger.warning("lopt_plugin: could not move the batch to %s; returning CPU tensors: %s", device, error)
            return on_host

    def _renew(self, snapshot: Snapshot) -> None:
        """Drops everything that belonged to another native route. The caller holds the lock."""
        if self._native is not snapshot.native:
            self._native, self._routes, self._crossovers = snapshot.native, {}, {}

    def _create(self, snapshot: Snapshot, device: str) -> GpuRoute | str:
        assert snapshot.native is not None
        try:
            route = GpuRoute(read_pipeline(self._backend), snapshot.native, device=device)
        except (GpuUnavailableError, Unsupported) as error:
            logger.warning("lopt_plugin: the GPU is not used: %s; using the native route", error)
            return str(error)
        logger.info("lopt_plugin: GPU route on %s", route.device)
        return route


def _whole(size: float | None) -> int | None:
    return None if size is None or math.isinf(size) else int(size)


def _prefix_hash(text: str) -> int:
    return hash(text[:_PREFIX_CHARS])


def check_device(device: Any) -> str:
    """The name of a CUDA device given as a string or a torch.device. Raises ValueError for other devices.

    Raises ImportError without torch, which provides the tensors.
    """
    name = str(device)
    kind, _, index = name.partition(":")
    if kind != "cuda" or not (index.isdecimal() or name == "cuda"):
        raise ValueError(f"device={device!r}: must be None, 'cpu' or a CUDA device")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(f"device={name!r}: the ids become torch tensors, and torch is not installed") from error
    return name
