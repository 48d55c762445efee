"""What an accelerated tokenizer costs at load: seconds and memory on top of the HF tokenizer's own.

    python benchmarks/load.py --tokenizers qwen3,llama3

Each repetition is a fresh process. There is no number where the native route does not do the work: its self-check at
load has to have found the ids of the HF tokenizer. Memory is what stays resident once freed memory is handed back; a
library's imports are outside of all figures.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from report import Report, Table
from script import add_output, end, names, parse
from tokenizer_files import tokenizer_files, tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus, thread_limits
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.worker import forget_peak, memory

ABOUT = """\
From the text of a tokenizer.json to the first call, in fresh processes ({repeat} each, medians): HF's seconds
and memory, and ours on top of them. `peak` is the highest at load, `tables` what the core holds. Imports are in
none of them."""


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    if given.measure is not None:
        print(json.dumps(measure(Path(given.measure))))
        return 0
    print(machine_line(), end="\n\n", flush=True)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in given.tokenizers}
    with FreshProcesses(timeout_seconds=600) as processes:
        files = {name: processes.store_tokenizer(tokenizer_json(name)) for name in given.tokenizers}
        for _ in range(given.repeat):
            for name, file in files.items():
                results[name].append(_measure_in_fresh_process(file, given.cpu))
    columns = ("tokenizer", "HF s", "ours s", "ratio", "self-check s", "HF MB", "ours MB", "peak MB", "tables MB")
    table = Table(columns, [_cells(name, found) for name, found in results.items()], "load, ours on top of HF's")
    report = Report("Load", ABOUT.format(**vars(given)), [table])
    if given.tables:
        sizes = [(name, found[0].get("tables", {})) for name, found in results.items()]
        rows = [[name, table, f"{size:,}"] for name, tables in sizes for table, size in tables.items()]
        report.tables.append(Table(("tokenizer", "core.info()", "bytes or count"), rows, text_columns=2))
    return end(given, "load", results, report, failed=False)


def measure(tokenizer_json: Path) -> dict[str, Any]:
    """Loads in this process, HF first; seconds, bytes of resident memory and `core.info()`, or `problem`."""
    from tokenizers import Tokenizer

    from lopt_plugin.encoder import Encoder

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
    return {
        "hf_seconds": hf_seconds,
        "ours_seconds": ours_seconds,
        "self_check_seconds": explained["self_check"]["seconds"],
        "hf_bytes": _difference(memory_hf, memory_before),
        "ours_bytes": _difference(memory_ours, memory_hf),
        "peak_bytes": _difference(memory_peak, memory_hf),
        "tables": {name: int(value) for name, value in explained["core"].items() if isinstance(value, int)},
    }


def _measure_in_fresh_process(tokenizer_json: Path, cpu: int | None) -> dict[str, Any]:
    cpus = choose_cpus(1, cpu)
    ended = subprocess.run(
        [sys.executable, __file__, "--measure", str(tokenizer_json), "--cpu", str(cpus[0])],
        env={**os.environ, **thread_limits(1)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _cells(name: str, found: list[dict[str, Any]]) -> list[str]:
    problem = next((one["problem"] for one in found if "problem" in one), None)
    if problem is not None:
        return [name, problem, *[""] * 7]

    def median(figure: str) -> float:
        return float(statistics.median(one[figure] for one in found))

    tables = sum(size for table, size in found[0]["tables"].items() if table.endswith("bytes"))
    known = found[0]["peak_bytes"] is not None
    return [
        name,
        f"{median('hf_seconds'):.3f}",
        f"{median('ours_seconds'):.3f}",
        f"{median('ours_seconds') / median('hf_seconds'):.2f}",
        f"{median('self_check_seconds'):.3f}",
        *(f"{median(figure) / 1e6:.1f}" if known else "-" for figure in ("hf_bytes", "ours_bytes", "peak_bytes")),
        f"{tables / 1e6:.1f}",
    ]


def _settled_memory() -> int | None:
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # malloc_trim is glibc's
        ctypes.CDLL(None).malloc_trim(0)
    return memory("VmRSS")


def _difference(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default: list[str] = [name for name in ("qwen3", "llama3") if name in tokenizer_files()] or ["qwen3"]
    made.add_argument("--tokenizers", type=names, default=default, help="names or paths")
    made.add_argument("--repeat", type=int, default=5, help="fresh processes for each number (default %(default)s)")
    made.add_argument("--cpu", type=int, help="the CPU to use (default: the last one)")
    made.add_argument("--tables", action="store_true", help="print every entry of core.info()")
    made.add_argument("--measure", metavar="FILE", help=argparse.SUPPRESS)
    add_output(made)
    given = parse(made, {"tokenizers": ["tiny_qwen2"]})
    if given.measure is not None and given.cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [given.cpu])
    return given


if __name__ == "__main__":
    sys.exit(main())
