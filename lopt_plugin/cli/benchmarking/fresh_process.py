"""Start a worker process for each measurement, on its own CPUs."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .engine import ENGINES
from .worker import Measurement


class FreshProcesses:
    """A context manager that holds the files that workers read. An engine has as many threads as CPUs."""

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self._temporary = tempfile.TemporaryDirectory(prefix="lopt_benchmark_")
        self.folder = Path(self._temporary.name)

    def __enter__(self) -> FreshProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        self._temporary.cleanup()

    def store_tokenizer(self, tokenizer_json: str) -> Path:
        """Writes a tokenizer.json for `measure`; returns its path."""
        path = self._new_file()
        path.write_text(tokenizer_json, encoding="utf-8")
        return path

    def store_prompts(self, texts: Sequence[str] | Sequence[list[str]] | Sequence[bytes]) -> Path:
        """Writes the prompts or batches of one pass for `measure`; returns the path. The worker decodes bytes."""
        path = self._new_file()
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
        """Runs the engine over the passes in a new process. A process that dies or hangs has `failed`."""
        name = ENGINES.get(engine, engine)
        job = {"engine_name": name, "tokenizer": str(tokenizer), "passes": [*map(str, passes)], "cpus": [*cpus]}
        # Pass on our own search path: engines may be in modules next to a script.
        python_path = os.pathsep.join(str(Path(folder).resolve()) for folder in sys.path)
        result = self._new_file()
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "lopt_plugin.cli.benchmarking.worker", json.dumps(job), str(result)],
                # `-m` searches the working directory first, and the repository's sources are not built.
                cwd=self.folder,
                env={**os.environ, **thread_limits(len(cpus)), "PYTHONPATH": python_path, **(environment or {})},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=self.timeout_seconds,
            )
        except subprocess.TimeoutExpired:
            return Measurement(failed=f"took more than {self.timeout_seconds:g} s")
        if ended.returncode != 0:
            last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return Measurement(failed=f"exit status {ended.returncode}: {''.join(last)}")
        return Measurement(**pickle.loads(result.read_bytes()))

    def _new_file(self) -> Path:
        return self.folder / secrets.token_hex(8)


def thread_limits(threads: int) -> dict[str, str]:
    """Environment variables that limit every engine to that many threads."""
    return {
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "LOPT_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "TRANSFORMERS_VERBOSITY": "error",
    }


def choose_cpus(count: int) -> list[int]:
    """The last `count` of the CPUs that this process may use: the first ones tend to handle interrupts.

    Raises ValueError if there are fewer.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    available = sorted(os.sched_getaffinity(0)) if has_affinity else list(range(os.cpu_count() or 1))
    if len(available) < count:
        raise ValueError(f"{count} threads need {count} CPUs; this process may use {available}")
    return available[-count:]
