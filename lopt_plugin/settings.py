"""Settings of a tokenizer: from keyword arguments, else from the environment, else from the defaults."""

from __future__ import annotations

import functools
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

logger = logging.getLogger("lopt_plugin")

ROUTES = ("auto", "native", "hf_chunks", "gpu", "hf")


@dataclass(frozen=True)
class Settings:
    """Settings of one tokenizer; `Settings.read` fills them in.

    Attributes:
        threads: Maximum number of threads per call (LOPT_THREADS; default: the CPUs that this process may run on).
        route: "auto", "native", "hf_chunks", "gpu" or "hf" (LOPT_ROUTE). Whatever a route cannot do exactly goes to
            "hf". "auto": "native" if it is exact, else "hf_chunks" for long texts; large batches go to the GPU if this
            process already uses it. "gpu": the same, but all batches go to the GPU, which is initialized if necessary.
        chunk_chars: Characters per chunk of a long text (LOPT_CHUNK_CHARS; 0: the route chooses).
        overlap_chars: Characters by which chunks of "hf_chunks" overlap if they must (LOPT_OVERLAP_CHARS).
        parallel_min_chars: Shorter texts, and batches with less text, use one thread; longer ones several if that is
            faster (LOPT_PARALLEL_MIN_CHARS).
        prefix_cache_mb: Size of the prefix cache in MiB (LOPT_PREFIX_CACHE_MB; 0 disables it).
        gpu_min_bytes: With "auto", smaller batches and shorter texts are not sent to the GPU (LOPT_GPU_MIN_BYTES; bytes
            of UTF-8, counted as characters). None: the size that `lopt bench MODEL --gpu` measured and stored on this
            machine; without one, "auto" does not use the GPU.
        verify: Fraction of calls, 0 to 1, that are also run through Hugging Face and compared (LOPT_VERIFY).
        decode: Whether to decode natively (LOPT_DECODE; 0: Hugging Face decodes).

    >>> Settings(threads=4).route
    'auto'
    """

    threads: int
    route: str = "auto"
    chunk_chars: int = 0
    overlap_chars: int = 256
    parallel_min_chars: int = 32_768
    prefix_cache_mb: int = 256
    gpu_min_bytes: int | None = None
    verify: float = 0.0
    decode: bool = True

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Reads settings from the arguments, else from the environment, else uses the defaults.

        Args:
            environment: The environment variables; None for those of this process.
            **given: Settings by name; None means not given.

        Returns:
            The settings.

        Raises:
            ValueError: For an invalid value; the message names the argument or the variable.
            TypeError: For an unknown setting.

        >>> Settings.read({"LOPT_VERIFY": "0.01"}, threads=2).verify
        0.01
        >>> Settings.read({"LOPT_THREADS": "none"})
        Traceback (most recent call last):
            ...
        ValueError: LOPT_THREADS must be a whole number of at least 1, got 'none'
        """
        environment = os.environ if environment is None else environment
        unknown = sorted(set(given) - SETTING_NAMES)
        if unknown:
            raise TypeError(f"unknown settings {unknown}; known are {sorted(SETTING_NAMES)}")
        _log_unknown(frozenset(name for name in environment if name.startswith("LOPT_")))
        values: dict[str, Any] = {"threads": available_cpus()}
        for name in SETTING_NAMES:
            variable = f"LOPT_{name.upper()}"
            if given.get(name) is not None:
                values[name] = _parse(name, given[name], name)
            elif environment.get(variable, "") != "":
                values[name] = _parse(name, environment[variable], variable)
        return cls(**values)


SETTING_NAMES = frozenset(field.name for field in fields(Settings))


# Of the engines, and, by their beginnings, of builds, tests and benchmarks.
_OTHER_VARIABLES = (
    *("LOPT_ACCELERATE", "LOPT_CPU", "LOPT_RENDERER", "LOPT_PURE", "LOPT_SANITIZE", "LOPT_TIER"),
    *("LOPT_REQUIRE_", "LOPT_REFERENCE_", "LOPT_LARGE_", "LOPT_BENCHMARK_"),
)


@functools.cache
def _log_unknown(variables: frozenset[str]) -> None:
    """Logs, once, which of these look like settings but are not."""
    known = {f"LOPT_{name.upper()}" for name in SETTING_NAMES}
    unknown = sorted(name for name in variables - known if not name.startswith(_OTHER_VARIABLES))
    if unknown:
        names = ", ".join(unknown), ", ".join(sorted(known))
        logger.warning("lopt_plugin: unknown environment variables: %s; the settings are %s", *names)


def available_cpus() -> int:
    """CPUs that this process may run on (its affinity), at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _parse(name: str, value: Any, source: str) -> bool | int | float | str:
    if name == "decode":
        if value not in (True, False, "0", "1"):
            raise ValueError(f"{source} must be 0 or 1, got {value!r}")
        return value in (True, "1")
    if name == "route":
        if value not in ROUTES:
            raise ValueError(f"{source} must be one of {ROUTES}, got {value!r}")
        return str(value)
    least = 1 if name in ("threads", "overlap_chars") else 0
    kind: type[int] | type[float] = int
    most, what = math.inf, f"a whole number of at least {least}"
    if name == "verify":
        kind, most, what = float, 1, "a share between 0 and 1"
    try:
        number = kind(value) if kind is float or isinstance(value, str) else value
    except (TypeError, ValueError):
        number = None
    if isinstance(value, bool) or not isinstance(number, kind) or not least <= number <= most:
        raise ValueError(f"{source} must be {what}, got {value!r}")
    return number
