"""What a user may set, from keyword arguments and, for what they leave open, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

ROUTES = ("auto", "native", "hf_chunks", "gpu", "hf")


@dataclass(frozen=True)
class Settings:
    """Settings of one tokenizer; `Settings.read` fills them in.

    threads             most threads for one call (LOPT_THREADS; default: the CPUs this process may run on)
    route               "auto", "native", "hf_chunks", "gpu" or "hf" (LOPT_ROUTE); what a route cannot do exactly goes
                        to "hf" anyway. "auto" is "native" where that is exact, else "hf_chunks" for long texts; large
                        batches go to the GPU where this process computes on one already. "gpu" is the same, but all
                        batches go to the GPU, and it is started for that
    chunk_chars         characters a chunk of a long text (LOPT_CHUNK_CHARS; 0: the route's own choice)
    overlap_chars       characters by which chunks of "hf_chunks" overlap where they must (LOPT_OVERLAP_CHARS)
    processes           whether chunks of "hf_chunks" go to other processes, not to threads (LOPT_PROCESSES: 0 or 1)
    parallel_min_chars  shorter texts stay on one thread (LOPT_PARALLEL_MIN_CHARS)
    prefix_cache_mb     most MiB kept of what texts began with and its ids, so that a text that begins like earlier ones
                        is tokenized from there on (LOPT_PREFIX_CACHE_MB; 0: nothing is kept)
    gpu_min_bytes       smaller batches, and shorter texts, stay off the GPU under "auto" (LOPT_GPU_MIN_BYTES; bytes of
                        UTF-8, counted as characters). None: from where the GPU was sooner when it was measured on this
                        machine, which is done, and noted, when a batch or text of a MiB first comes
    verify              share of the calls, 0 to 1, that HF does as well and whose ids are compared (LOPT_VERIFY)
    """

    threads: int
    route: str = "auto"
    chunk_chars: int = 0
    overlap_chars: int = 256
    processes: int = 0
    parallel_min_chars: int = 262_144
    prefix_cache_mb: int = 256
    gpu_min_bytes: int | None = None
    verify: float = 0.0

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Settings from `given`, else from `environment` (os.environ), else the defaults.

        Raises ValueError naming the variable or argument whose value is not valid, TypeError for an unknown argument.
        """
        environment = os.environ if environment is None else environment
        unknown = sorted(set(given) - SETTING_NAMES)
        if unknown:
            raise TypeError(f"unknown settings {unknown}; known are {sorted(SETTING_NAMES)}")
        values: dict[str, Any] = {"threads": available_cpus()}
        for name in SETTING_NAMES:
            if given.get(name) is not None:
                values[name] = _parse(name, given[name], name)
            elif environment.get(f"LOPT_{name.upper()}", "") != "":
                variable = f"LOPT_{name.upper()}"
                values[name] = _parse(name, environment[variable], variable)
        return cls(**values)


SETTING_NAMES = frozenset(field.name for field in fields(Settings))


def available_cpus() -> int:
    """CPUs this process may run on (its affinity), at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _parse(name: str, value: Any, source: str) -> int | float | str:
    if name == "route":
        return _route(value, source)
    if name == "verify":
        return _share(value, source)
    if name == "processes":
        value = int(value) if isinstance(value, bool) else value
        if _whole_number(value, source, at_least=0) > 1:
            raise ValueError(f"{source} must be 0 or 1, got {value!r}")
    return _whole_number(value, source, at_least=1 if name in ("threads", "overlap_chars") else 0)


def _route(value: Any, source: str) -> str:
    if value not in ROUTES:
        raise ValueError(f"{source} must be one of {ROUTES}, got {value!r}")
    return str(value)


def _whole_number(value: Any, source: str, at_least: int) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int) or number < at_least:
        raise ValueError(f"{source} must be a whole number of at least {at_least}, got {value!r}")
    return number


def _share(value: Any, source: str) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else -1.0
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{source} must be a share between 0 and 1, got {value!r}")
    return number
