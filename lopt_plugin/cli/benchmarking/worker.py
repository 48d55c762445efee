"""One engine in a fresh process: loads a tokenizer, encodes prompts, and writes seconds and digests of the ids.

    python -m lopt_plugin.cli.benchmarking.worker ARGUMENTS RESULT.pickle

`fresh_process` starts it. The worker does not know the reference ids; its parent process compares the digests.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import os
import pickle
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engine import Engine, UnavailableError, engine_class


@dataclass
class Measurement:
    """The result of a worker. `seconds`, `digests` and `counts` of ids have a row per pass, an entry per prompt.

    refused         why the engine does not load the tokenizer; if set, nothing else is
    failed          a later error; if set, `seconds` and `digests` are incomplete
    peak_rss_bytes  growth of the peak resident memory since before the load; None if the system does not report it
    """

    refused: str = ""
    failed: str = ""
    note: str = ""
    import_seconds: float = 0.0
    load_seconds: float = 0.0
    peak_rss_bytes: int | None = None
    seconds: tuple[tuple[float, ...], ...] = ()
    digests: tuple[tuple[str, ...], ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()

    def problem(self, expected: Sequence[Sequence[str]]) -> str:
        """Why no figure may be shown, given the reference's digests; "" if the figures may be shown."""
        if self.refused:
            return f"does not load: {self.refused}"
        if self.failed:
            return f"failed: {self.failed}"
        return "" if self.digests == tuple(map(tuple, expected)) else "ids differ"


def run(engine_name: str, tokenizer: str, passes: Sequence[str], cpus: Sequence[int]) -> Measurement:
    """Measures an engine in this process, which should have done nothing else before.

    Args:
        engine_name: As `engine_class` takes it.
        tokenizer: Path of a tokenizer.json.
        passes: Paths of pickled lists of prompts, encoded in this order; a path may occur more than once. A prompt that
            is a list of texts is a batch. One of bytes is UTF-8, decoded right before it is encoded, as a server
            decodes what it has received.
        cpus: The CPUs to run on, and as many threads.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)
    tokenizer_json = Path(tokenizer).read_text(encoding="utf-8")
    pickled = {name: Path(name).read_bytes() for name in passes}
    found = Measurement()
    try:
        engine_type = engine_class(engine_name)
        start = time.perf_counter()
        for module in engine_type.modules:
            importlib.import_module(module)
        found.import_seconds = time.perf_counter() - start
        forget_peak()
        before = memory("VmRSS")
        start = time.perf_counter()
        engine = engine_type(tokenizer_json, len(cpus))
        found.load_seconds = time.perf_counter() - start
    except Exception as error:
        found.refused = str(error) if isinstance(error, UnavailableError) else _one_line(error)
        return found
    del tokenizer_json

    gc.collect()
    gc.disable()
    try:
        for name in passes:
            seconds, digests, counts = _timed_pass(engine, pickled[name])
            found.seconds += (seconds,)
            found.digests += (digests,)
            found.counts += (counts,)
    except BaseException as error:  # a panic in a Rust library is not an Exception
        found.failed = _one_line(error)
    peak = memory("VmHWM")
    found.note = engine.note
    found.peak_rss_bytes = None if before is None or peak is None else peak - before
    return found


def _timed_pass(engine: Engine, pickled: bytes) -> tuple[tuple[float, ...], tuple[str, ...], tuple[int, ...]]:
    # Unpickled again for each pass: CPython caches the UTF-8 form of a string, and a second call with the same object
    # would reuse it.
    prompts = pickle.loads(pickled)
    seconds, lengths, counts = [], [], []
    last = len(prompts) - 1
    # The copies go to a file; in memory, they would occupy the blocks that the engine has just freed.
    with tempfile.TemporaryFile() as copies:
        for number, prompt in enumerate(prompts):
            if isinstance(prompt, bytes):
                prompt = prompt.decode()
            is_batch = isinstance(prompt, list)
            encode, ids_of = (engine.encode_batch, engine.batch_ids) if is_batch else (engine.encode, engine.ids)
            start = time.perf_counter()
            result = encode(prompt)
            ids = ids_of(result)
            seconds.append(time.perf_counter() - start)
            # Touch as little memory as possible between timed calls, to leave the CPU caches to the engine: the ids are
            # copied here and hashed below. Results are dropped, so that the engine gets its memory back.
            written = [*map(copies.write, _pieces(ids, engine.kind, is_batch, every_type=number == last))]
            lengths.append(sum(written))
            counts.append(int(ids) if engine.kind == "count" else sum(written[:-1]) // 4)
            del result, ids
        copies.seek(0)
        digests = tuple(hashlib.sha256(copies.read(length)).hexdigest() for length in lengths)
        return tuple(seconds), digests, tuple(counts)


def _pieces(ids: Any, kind: str, is_batch: bool, every_type: bool) -> list[bytes | array[int]]:
    """What is hashed, as uint32: the ids, in pieces, and finally the length of each row of a batch."""
    if kind == "count":
        return []
    if kind == "array":
        flat, ends = ids if is_batch else (ids, ids[:0])
        return [flat.astype("uint32").tobytes(), (ends[1:] - ends[:-1]).astype("uint32").tobytes()]
    rows = ids if is_batch else [ids]
    for row in rows:
        if type(row) is not list or not set(map(type, row if every_type else row[:1])) <= {int}:
            raise TypeError(f"the engine returned {type(row)}, not a list[int]")
    return [*(array("I", row) for row in rows), array("I", map(len, rows) if is_batch else ())]


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def forget_peak() -> None:
    """Resets the peak, VmHWM, to the memory that is resident now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int | None:
    """VmRSS (resident now) or VmHWM (its peak) of this process in bytes; None without /proc."""
    # Not getrusage, whose peak a process inherits from its parent.
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":")), None)


if __name__ == "__main__":
    measured = run(**json.loads(sys.argv[1]))
    Path(sys.argv[2]).write_bytes(pickle.dumps(vars(measured)))
