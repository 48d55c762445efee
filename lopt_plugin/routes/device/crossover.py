"""From how many bytes on the GPU route is sooner than the native one: measured on this machine, and noted for others.

Measured when a GPU route is made that nothing is noted for: texts of growing length, of which no two are alike, go both
ways and end as an array and as a list. What was found is noted by device, processors and versions in a file of the
cache folder, which is read instead the next time. `LOPT_GPU_MIN_BYTES` goes before both.
"""

from __future__ import annotations

import json
import logging
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...character_classes.cache_folder import cache_folder

logger = logging.getLogger("lopt_plugin")

# The first length is below what a GPU can win; beyond the last one it keeps what it has.
SIZES = tuple(1 << power for power in range(16, 23))
_REPEATS = 3
_FILE = "gpu_crossover.json"
_FORMAT = 1
# Machines that a file of a shared folder is to hold.
_MOST_NOTES = 256


class Ways(Protocol):
    """What is timed, of either route."""

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Any: ...
    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Any: ...


@dataclass(frozen=True)
class Crossover:
    """Bytes from which on the GPU route is sooner; math.inf where it never was. source: "measured" or "noted"."""

    arrays: float
    lists: float
    source: str

    def info(self) -> dict[str, Any]:
        """What `explain` shows; None for never."""
        return {"arrays": _or_none(self.arrays), "lists": _or_none(self.lists), "source": self.source}


def crossover_of(gpu: Ways, native: Ways, words: list[str], key: str) -> Crossover:
    """What is noted under `key`, or else what is measured now, and noted. words: of the vocabulary, for the texts."""
    noted = read(key)
    if noted is not None:
        return noted
    begin = time.perf_counter()
    measured = measure(gpu, native, words)
    logger.info(
        "lopt_plugin: the GPU is sooner from %s bytes on as an array, %s as a list; measured in %.0f ms",
        _or_none(measured.arrays), _or_none(measured.lists), 1000 * (time.perf_counter() - begin),
    )  # fmt: skip
    note(key, measured)
    return measured


def measure(
    gpu: Ways,
    native: Ways,
    words: list[str],
    sizes: tuple[int, ...] = SIZES,
    clock: Callable[[], float] = time.perf_counter,
) -> Crossover:
    """Medians over texts that neither route has seen; the first two on the GPU do not count: recordings are made."""
    made = texts(words)
    sooner: dict[str, list[bool]] = {"encode_array": [], "encode_list": []}
    for size in sizes:
        for _ in range(2):
            gpu.encode_array(made(size), False, True)
        for method, found in sooner.items():
            medians = []
            for route in (gpu, native):
                call = getattr(route, method)
                seconds = []
                for _ in range(_REPEATS):
                    text = made(size)
                    begin = clock()
                    call(text, False, True)
                    seconds.append(clock() - begin)
                medians.append(statistics.median(seconds))
            found.append(medians[0] < medians[1])
    arrays, lists = (_from(sizes, found) for found in sooner.values())
    return Crossover(arrays, lists, "measured")


def texts(words: list[str]) -> Callable[[int], str]:
    """Texts of any length from random words: one in sixteen is made of two, so mostly no entry of the vocabulary."""
    rng = random.Random(0)
    words = words or ["word"]

    def one(size: int) -> str:
        def parts() -> Iterator[str]:
            length = 0
            while length < size:
                word = rng.choice(words) + (rng.choice(words) if rng.random() < 1 / 16 else "")
                length += len(word) + 1
                yield word

        return " ".join(parts())[:size]

    return one


def read(key: str) -> Crossover | None:
    """What is noted under the key; None where nothing is, or nothing readable."""
    found = _notes().get(key)
    if not isinstance(found, dict):
        return None
    arrays, lists = (_bytes(found.get(name)) for name in ("arrays", "lists"))
    return None if arrays is None or lists is None else Crossover(arrays, lists, "noted")


def note(key: str, crossover: Crossover) -> None:
    """Adds to the file; where that cannot be written, it is measured again the next time."""
    path = _path()
    if path is None:
        return
    notes = _notes()
    notes.pop(key, None)
    notes[key] = {"arrays": _or_none(crossover.arrays), "lists": _or_none(crossover.lists)}
    kept = dict(list(notes.items())[-_MOST_NOTES:])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"format": _FORMAT, "notes": kept}, file, indent=1)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        logger.debug("lopt_plugin: the crossover is not noted: %s", error)


def _notes() -> dict[str, Any]:
    path = _path()
    try:
        content = None if path is None else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict) or content.get("format") != _FORMAT or not isinstance(content.get("notes"), dict):
        return {}
    notes: dict[str, Any] = content["notes"]
    return notes


def _path() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / _FILE


def _from(sizes: tuple[int, ...], sooner: list[bool]) -> float:
    """The first size from which on all are sooner."""
    if False not in sooner:
        return sizes[0]
    last = len(sooner) - 1 - sooner[::-1].index(False)
    return sizes[last + 1] if last + 1 < len(sizes) else math.inf


def _bytes(noted: Any) -> float | None:
    """What a note says; None where that is no number of bytes."""
    if noted is None:
        return math.inf
    return noted if isinstance(noted, int) and not isinstance(noted, bool) and noted >= 0 else None


def _or_none(value: float) -> int | None:
    return None if math.isinf(value) else int(value)
