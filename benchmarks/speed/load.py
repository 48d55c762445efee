"""What an accelerated tokenizer costs at load: seconds and memory on top of the HF tokenizer's own.

    python benchmarks/speed/load.py --tokenizers qwen3,llama3

There is no number where the native route does not do the work: its self-check at load must have found the ids of the HF
tokenizer. Memory is what stays resident once freed memory is handed back.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import tokenizer_json
from benchmarks.common.report import Table
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.fresh_process import choose_cpus, thread_limits
from lopt_plugin.cli.benchmarking.worker import forget_peak, memory

ABOUT = """\
From the text of a tokenizer.json to the first call, in fresh processes ({repeat} each, medians): HF's seconds
and memory, and ours on top of them. `peak` is the highest at load, `tables` what the core holds. Imports are not
included."""
COLUMNS = ("tokenizer", "HF s", "ours s", "ratio", "self-check s", "HF MB", "ours MB", "peak MB", "tables MB")


def measure(bench: Bench) -> list[Result]:
    """Seconds and bytes of each tokenizer, one sample for each process."""
    given = bench.given
    results = {name: Result("lopt", {"tokenizer": name}) for name in given.tokenizers}
    files = {name: bench.processes.store_tokenizer(tokenizer_json(name)) for name in given.tokenizers}
    for _ in range(given.repeat):
        for name, file in files.items():
            figures = _load_in_fresh_process(file, given.cpu)
            results[name].problem = figures.pop("problem", "")
            results[name].add(figures)
    rows = [_cells(name, result) for name, result in results.items()]
    bench.report.tables.append(Table(COLUMNS, rows, "load, ours on top of HF's"))
    return list(results.values())


def load(tokenizer_json: Path) -> dict[str, Any]:
    """Loads in this process, HF first; seconds, and bytes of resident memory and of the core's tables, or `problem`."""
    from tokenizers import Tokenizer

    from lopt_plugin.encoder.encoder import Encoder

    text = tokenizer_json.read_text(encoding="utf-8")
    memory_before = _settled_memory()
    start = time.perf_counter()
    tokenizer = Tokenizer.from_str(text)
    hf_seconds = time.perf_counter() - start
    memory_hf = _settled_memory()
    forget_peak()
    start = time.perf_counter()
    encoder = Encoder(tokenizer)
    ours_seconds = time.perf_counter() - start
    memory_peak = memory("VmHWM")
    memory_ours = _settled_memory()
    explained = encoder.explain()
    if explained["route"] != "native":
        return {"problem": f"{explained['route']} route: {explained['reason']}"}
    figures = {
        "hf_seconds": hf_seconds,
        "ours_seconds": ours_seconds,
        "self_check_seconds": explained["self_check"]["seconds"],
        "tables_bytes": sum(size for name, size in explained["core"].items() if name.endswith("bytes")),
    }
    if memory_before is not None and memory_hf is not None and memory_ours is not None and memory_peak is not None:
        figures["hf_bytes"] = memory_hf - memory_before
        figures["ours_bytes"] = memory_ours - memory_hf
        figures["peak_bytes"] = memory_peak - memory_hf
    return figures


def _load_in_fresh_process(tokenizer_json: Path, cpu: int | None) -> dict[str, Any]:
    cpus = choose_cpus(1, cpu)
    ended = subprocess.run(
        [sys.executable, __file__, "--load", str(tokenizer_json), "--cpu", str(cpus[0])],
        env={**os.environ, **thread_limits(1)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _cells(name: str, result: Result) -> list[str]:
    if result.problem:
        return [name, result.problem, *[""] * 7]
    hf, ours, self_check = (result.median(f"{whose}_seconds") for whose in ("hf", "ours", "self_check"))
    sizes = [result.median(f"{whose}_bytes") for whose in ("hf", "ours", "peak", "tables")]
    megabytes = ["-" if size is None else f"{size / 1e6:.1f}" for size in sizes]
    return [name, f"{hf:.3f}", f"{ours:.3f}", f"{ours / hf:.2f}", f"{self_check:.3f}", *megabytes]


def _settled_memory() -> int | None:
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # malloc_trim is glibc's
        ctypes.CDLL(None).malloc_trim(0)
    return memory("VmRSS")


if __name__ == "__main__":
    made = Options(__doc__)
    made.add_several("tokenizers", ("qwen3", "llama3"), ["tiny_qwen2"])
    made.add("--repeat", 5, "fresh processes for each number", 1)
    made.add_argument("--cpu", type=int, help="the CPU to use (default: the last one)")
    made.add_argument("--load", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    given = made.read()
    if given.load is None:
        sys.exit(run(given, "load", "Load", ABOUT, measure))
    # The process that loads.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [given.cpu])
    print(json.dumps(load(given.load)))
