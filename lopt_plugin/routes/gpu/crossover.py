"""The crossover: the size from which the GPU route is faster than the native one on this machine.

`measure_crossover` is called explicitly, never by a request. It times texts of growing length, no two alike, on both
routes, as an array and as a list of ids, and stores the result in the cache folder under the device, the CPU count, the
versions and the pattern. `stored_crossover` reads it. `LOPT_GPU_MIN_BYTES` overrides it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...unicode_tables.files import atomic_file, cache_folder
from .. import Route
from ..request import PLAIN
from .device import device_name

logger = logging.getLogger("lopt_plugin")

# The GPU is slower below the first size; the result at the last size holds for all larger ones.
SIZES = tuple(1 << power for power in range(16, 23))
_REPEATS = 3
_REQUEST = PLAIN[False][True]


@dataclass(frozen=True)
class Crossover:
    """Sizes in bytes from which the GPU route is faster; math.inf if it never is. source: "measured" or "stored"."""

    arrays: float
    lists: float
    source: str

    def info(self) -> dict[str, Any]:
        """For `explain`; None means never."""
        sizes = {"arrays": self.arrays, "lists": self.lists}
        least = {name: None if math.isinf(size) else int(size) for name, size in sizes.items()}
        return {**least, "source": self.source}


def crossover_key(device: Any, pattern: str, threads: int) -> str:
    """What a crossover is stored under: the torch.device and its versions, the split pattern, the native threads."""
    return f"{device_name(device)}; {pattern}; {threads} threads"


def measure_crossover(
    gpu: Route,
    native: Route,
    words: list[str],
    key: str,
    sizes: tuple[int, ...] = SIZES,
    clock: Callable[[], float] = time.perf_counter,
) -> Crossover:
    """Measure the crossover and store it under `key`. Takes some seconds.

    Compares medians over texts that neither route has seen. At each size two GPU calls come first and are not timed:
    they record CUDA graphs. words: vocabulary entries to make the texts of.
    """
    begin = time.perf_counter()
    made = texts(words)
    faster: dict[str, list[bool]] = {"encode_array": [], "encode_list": []}
    for size in sizes:
        for _ in range(2):
            gpu.encode_array(made(size), _REQUEST)
        for method, found in faster.items():
            medians = []
            for route in (gpu, native):
                call = getattr(route, method)
                seconds = []
                for _ in range(_REPEATS):
                    text = made(size)
                    start = clock()
                    call(text, _REQUEST)
                    seconds.append(clock() - start)
                medians.append(statistics.median(seconds))
            found.append(medians[0] < medians[1])
    arrays, lists = (_first_always(sizes, found) for found in faster.values())
    measured = Crossover(arrays, lists, "measured")
    logger.info("lopt_plugin: measured the GPU crossover in %.1f s: %s", time.perf_counter() - begin, measured.info())
    _store(key, measured)
    return measured


def stored_crossover(key: str) -> Crossover | None:
    """The crossover stored under `key`; None if there is none or it cannot be read."""
    path = _path(key)
    try:
        stored = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
        found = Crossover(float(stored["arrays"]), float(stored["lists"]), "stored")
        return found if stored["key"] == key and min(found.arrays, found.lists) >= 0 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def texts(words: list[str]) -> Callable[[int], str]:
    """A function from a length to a new text of random words; one in sixteen is two joined words."""
    rng = random.Random(0)
    words = words or ["word"]

    def make(size: int) -> str:
        parts: list[str] = []
        length = 0
        while length < size:
            parts.append(rng.choice(words) + (rng.choice(words) if rng.random() < 1 / 16 else ""))
            length += len(parts[-1]) + 1
        return " ".join(parts)[:size]

    return make


def _store(key: str, crossover: Crossover) -> None:
    path = _path(key)
    if path is None:
        return
    try:
        with atomic_file(path) as file:
            file.write(json.dumps({"key": key, "arrays": crossover.arrays, "lists": crossover.lists}).encode())
    except OSError as error:
        logger.warning("lopt_plugin: could not store the GPU crossover in %s: %s", path, error)


def _path(key: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f"gpu_crossover_{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _first_always(sizes: tuple[int, ...], faster: list[bool]) -> float:
    """The smallest size from which all are faster; math.inf if there is none."""
    if False not in faster:
        return sizes[0]
    last = len(faster) - 1 - faster[::-1].index(False)
    return sizes[last + 1] if last + 1 < len(sizes) else math.inf
