"""The crossover: the size of a batch in bytes from which the GPU route is faster than the native one on this machine.

`lopt bench --gpu` and `make gpu-check` measure it and store it in the cache folder, under the device, the CPU count,
the versions, the pattern and the threads of the native route. No request measures anything. `LOPT_GPU_MIN_BYTES`
overrides it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

from ..._version import version
from ...settings import logger
from ...unicode_tables.files import atomic_file, cache_folder
from .device import device_name


def crossover_key(device: Any, pattern: str, threads: int) -> str:
    """The key of a stored crossover: the torch.device, the CPUs, versions, the split pattern, the native threads."""
    import torch
    import triton

    versions = f"lopt_plugin {version()}, torch {torch.__version__}, triton {triton.__version__}"
    return f"{device_name(device)}; {os.cpu_count()} processors; {versions}; {pattern}; {threads} threads"


def store_crossover(key: str, size: float | None) -> None:
    """Store the crossover under `key`; None if the GPU is never faster."""
    path = _path(key)
    if path is None:
        return
    try:
        with atomic_file(path) as file:
            file.write(json.dumps({"key": key, "bytes": math.inf if size is None else size}).encode())
    except OSError as error:
        logger.warning("lopt_plugin: could not store the GPU crossover in %s: %s", path, error)


def stored_crossover(key: str) -> float | None:
    """The crossover stored under `key`, math.inf for never; None if there is none or it cannot be read."""
    path = _path(key)
    try:
        stored = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
        size = float(stored["bytes"])
        return size if stored["key"] == key and size >= 0 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(key: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f"gpu_crossover_{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
