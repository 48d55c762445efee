"""Starts a worker for each measurement, alone on its CPUs, and compares what it encoded with the oracle."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from .worker import Job, Measurement


class FreshProcesses:
    """A context manager that holds the files which workers read. Threads of an engine are as many as the CPUs."""

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self._temporary = tempfile.TemporaryDirectory(prefix="lopt_benchmark_")
        self.folder = Path(self._temporary.name)

    def __enter__(self) -> FreshProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._temporary.cleanup()

    def store_tokenizer(self, tokenizer_json: str) -> Path:
        """The text of a tokenizer.json as a file for `measure`."""
        path = self._new_file(".json")
        path.write_text(tokenizer_json, encoding="utf-8")
        return path

    def store_prompts(self, texts: Sequence[str] | Sequence[list[str]] | Sequence[bytes]) -> Path:
        """The prompts, or batches, of one pass as a file for `measure`. Of bytes a text is made when it is its turn."""
        path = self._new_file(".pickle")
        path.write_bytes(pickle.dumps(list(texts)))
        return path

    def measure(
        self,
        engine: str,
        tokenizer: Path,
        passes: Sequence[Path],
        cpus: Sequence[int],
        environment: Mapping[str, str] | None = None,
    ) -> Measurement:
        """Runs the engine over the passes in a process of its own. A process that dies or hangs is `failed`."""
        result = self._new_file(".json")
        job = Job(engine, str(tokenizer), [str(path) for path in passes], list(cpus), len(cpus), str(result))
        path = self._new_file(".json")
        path.write_text(json.dumps(asdict(job)), encoding="utf-8")
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "lopt_plugin.benchmarking.worker", str(path)],
                # `-m` looks into its folder first, and would find sources without a build in the repository's root.
                cwd=self.folder,
                env={**os.environ, **thread_limits(len(cpus)), "PYTHONPATH": _python_path(), **(environment or {})},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=self.timeout_seconds,
            )
        except subprocess.TimeoutExpired:
            return Measurement(failed=f"took more than {self.timeout_seconds:g} s")
        if ended.returncode != 0:
            last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return Measurement(failed=f"exit status {ended.returncode}: {''.join(last)}")
        found = json.loads(result.read_text(encoding="utf-8"))
        for name in ("seconds", "digests", "counts"):
            found[name] = tuple(map(tuple, found[name]))
        return Measurement(**found)

    def _new_file(self, suffix: str) -> Path:
        handle, name = tempfile.mkstemp(suffix=suffix, dir=self.folder)
        os.close(handle)
        return Path(name)


def _python_path() -> str:
    """What can be imported here can be imported there: engines may stand in modules beside a script."""
    return os.pathsep.join(str(Path(folder).resolve()) for folder in sys.path)


def thread_limits(threads: int) -> dict[str, str]:
    """Environment variables that hold every engine to that many threads."""
    return {
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "LOPT_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "TRANSFORMERS_VERBOSITY": "error",
    }


def choose_cpus(count: int, first: int | None) -> list[int]:
    """`count` of the CPUs that this process may use: from CPU `first` on, or the last ones.

    The last ones by default, because interrupts tend to go to the first. Raises ValueError if there are not as many.
    """
    if hasattr(os, "sched_getaffinity"):
        available = sorted(os.sched_getaffinity(0))
    else:
        available = list(range(os.cpu_count() or 1))
    chosen = available[-count:] if first is None else [cpu for cpu in available if cpu >= first][:count]
    if len(chosen) < count:
        raise ValueError(f"{count} threads need as many CPUs; of {available} that leaves {chosen}")
    return chosen
