"""One engine in a fresh process: loads a tokenizer, encodes prompts, and writes down seconds and what the ids were.

    python -m lopt_plugin.benchmarking.worker JOB.json

`fresh_process` starts it. It knows nothing of the oracle: who started it compares the digests.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .engine import Engine, UnavailableError
from .engines import engine_class


@dataclass(frozen=True)
class Job:
    """`passes` are pickled lists of prompts, encoded one after the other; a file may stand there more than once.

    A prompt that is a list of texts is a batch; one that is bytes is UTF-8, of which the text is made right before it
    is encoded, as a server has just made it of what it received.
    """

    engine: str
    tokenizer_json: str
    passes: list[str]
    cpus: list[int]
    threads: int
    result: str


@dataclass(frozen=True)
class Measurement:
    """What came of a job. `seconds`, `digests`, and `counts` of ids have a row for each pass, an entry for each prompt.

    refused         why the engine does not load the tokenizer; then there is nothing else
    failed          what went wrong after that; then `seconds` and `digests` are not complete
    peak_rss_bytes  growth of the peak resident memory since before the load; None where the system does not tell
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


def run(job: Job) -> Measurement:
    """Does the job in this process, which should have done nothing else before."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cpus)
    tokenizer_json = Path(job.tokenizer_json).read_text(encoding="utf-8")
    pickled = {name: Path(name).read_bytes() for name in job.passes}
    start = time.perf_counter()
    try:
        engine_type = engine_class(job.engine)
        for module in engine_type.modules:
            importlib.import_module(module)
    except ImportError as error:
        return Measurement(refused=_one_line(error))
    import_seconds = time.perf_counter() - start

    forget_peak()
    before = memory("VmRSS")
    start = time.perf_counter()
    try:
        engine = engine_type(tokenizer_json, job.threads)
    except Exception as error:
        return Measurement(refused=str(error) if isinstance(error, UnavailableError) else _one_line(error))
    load_seconds = time.perf_counter() - start
    del tokenizer_json

    failed = ""
    seconds: list[tuple[float, ...]] = []
    digests: list[tuple[str, ...]] = []
    counts: list[tuple[int, ...]] = []
    gc.collect()
    gc.disable()
    try:
        for name in job.passes:
            taken, seen, counted = _timed_pass(engine, pickled[name])
            seconds.append(taken)
            digests.append(seen)
            counts.append(counted)
    except BaseException as error:  # a panic in a Rust library is no Exception
        failed = _one_line(error)
    peak = memory("VmHWM")
    return Measurement(
        failed=failed,
        note=engine.note,
        import_seconds=import_seconds,
        load_seconds=load_seconds,
        peak_rss_bytes=None if before is None or peak is None else peak - before,
        seconds=tuple(seconds),
        digests=tuple(digests),
        counts=tuple(counts),
    )


def _timed_pass(engine: Engine, pickled: bytes) -> tuple[tuple[float, ...], tuple[str, ...], tuple[int, ...]]:
    # Unpickled for each pass anew: CPython keeps a UTF-8 copy on a string that was once asked for it, and a second call
    # with the same object would find it there.
    prompts = pickle.loads(pickled)
    seconds, lengths, counts = [], [], []
    last = len(prompts) - 1
    # Copies go to a file: kept in memory, they would take the place of what the engine has just freed.
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
            # Between timed calls as little as possible is touched, so that the caches stay the engine's: the ids are
            # copied here and hashed below. Results cannot be kept: engines would never get their memory back.
            copy = _copy_batch if is_batch else _copy
            lengths.append(copies.write(copy(ids, engine.kind, every_type=number == last)))
            counts.append(_count_of(ids, engine.kind, is_batch))
            del result, ids
        copies.seek(0)
        digests = tuple(hashlib.sha256(copies.read(length)).hexdigest() for length in lengths)
        return tuple(seconds), digests, tuple(counts)


def _count_of(ids: Any, kind: str, is_batch: bool) -> int:
    if kind == "count":
        return int(ids)
    if is_batch and kind == "list":
        return sum(map(len, ids))
    return len(ids[0] if is_batch else ids)


def _copy(ids: Any, kind: str, every_type: bool) -> bytes | array[int]:
    if kind == "count":
        return b""
    if kind == "array":
        return bytes(ids.astype("uint32").tobytes())
    if type(ids) is not list or not set(map(type, ids if every_type else ids[:1])) <= {int}:
        raise TypeError(f"the engine does not end in a list[int] but in {type(ids)}")
    return array("I", ids)


def _copy_batch(rows: Any, kind: str, every_type: bool) -> bytes | array[int]:
    """All ids, then the length of each row."""
    if kind == "array":
        ids, offsets = rows
        return bytes(ids.astype("uint32").tobytes() + (offsets[1:] - offsets[:-1]).astype("uint32").tobytes())
    copied: array[int] = array("I")
    for row in rows:
        copied += array("I", _copy(row, kind, every_type))
    return copied + array("I", map(len, rows))


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def forget_peak() -> None:
    """Makes VmHWM begin anew at what is resident now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int | None:
    """VmRSS (resident now) or VmHWM (its peak) of this process in bytes; None where there is no /proc."""
    # Not getrusage: its peak is inherited from the parent.
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":")), None)


if __name__ == "__main__":
    given = Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(given.result).write_text(json.dumps(asdict(run(given))), encoding="utf-8")
