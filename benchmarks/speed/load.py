"""What an accelerated tokenizer costs at load: CPU time and memory on top of the HF tokenizer's own.

    python benchmarks/speed/load.py --tokenizers qwen3,llama3

There is no number where the native route does not do the work: its self-check at load must have found the ids of the HF
tokenizer. Memory is what stays resident once freed memory is handed back.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import tokenizer_files, tokenizer_json
from benchmarks.common.report import Table
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.fresh_process import choose_cpus, thread_limits
from lopt_plugin.cli.benchmarking.worker import forget_peak, memory

ABOUT = """\
From a folder to the first call, in fresh processes ({repeat} each, medians): the CPU time of transformers'
`from_pretrained`; then, in times of it, what lopt_plugin's adds and what `accelerate` takes. `written` is the part of
both in which Hugging Face writes out the model, which is the only way to learn its merges. Memory is on top of HF's:
`peak` is the highest at load, `tables` what the core holds. Imports are not included."""
TIMES = ("from_pretrained adds", "accelerate", "written")
COLUMNS = ("tokenizer", "HF s", *TIMES, "HF MB", "ours MB", "peak MB", "tables MB")


def measure(bench: Bench) -> list[Result]:
    """Seconds and bytes of each tokenizer, one sample for each process."""
    given = bench.given
    results = {name: Result("lopt", {"tokenizer": name}) for name in given.tokenizers}
    folders = {name: _store(name, bench.processes.folder / name) for name in given.tokenizers}
    # What the processes that load inherit.
    os.environ |= thread_limits(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, choose_cpus(1))
    for _ in range(given.repeat):
        for name, folder in folders.items():
            for load in (load_and_accelerate, load_accelerated):
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh_process:
                    figures = fresh_process.submit(load, folder).result()
                results[name].problem = figures.pop("problem", results[name].problem)
                results[name].add(figures)
    rows = [_cells(name, result) for name, result in results.items()]
    bench.report.tables.append(Table(COLUMNS, rows, "load, in times of HF's own CPU time"))
    return list(results.values())


def load_and_accelerate(folder: Path) -> dict[str, Any]:
    """Seconds of transformers and of `accelerate`, and bytes of resident memory and of the core's tables."""
    from transformers import AutoTokenizer

    from lopt_plugin import accelerate

    memory_before = _settled_memory()
    hf, hf_seconds = _timed(lambda: _called(AutoTokenizer.from_pretrained(folder)))
    memory_hf = _settled_memory()
    forget_peak()
    ours, ours_seconds = _timed(lambda: _called(accelerate(hf)))
    memory_peak = memory("VmHWM")
    memory_ours = _settled_memory()
    explained = ours.lopt.explain()
    if explained["route"] != "native":
        return {"problem": f"{explained['route']} route: {explained['reason']}"}
    figures = {
        "hf_seconds": hf_seconds,
        "accelerate_seconds": ours_seconds,
        "written_seconds": _timed(ours.backend_tokenizer.model.__getstate__)[1],
        "tables_bytes": sum(size for name, size in explained["core"].items() if name.endswith("bytes")),
    }
    if memory_before is not None and memory_hf is not None and memory_ours is not None and memory_peak is not None:
        figures["hf_bytes"] = memory_hf - memory_before
        figures["ours_bytes"] = memory_ours - memory_hf
        figures["peak_bytes"] = memory_peak - memory_hf
    return figures


def load_accelerated(folder: Path) -> dict[str, Any]:
    """Seconds of lopt_plugin's `from_pretrained`, transformers' included."""
    from lopt_plugin import from_pretrained

    return {"from_pretrained_seconds": _timed(lambda: _called(from_pretrained(folder)))[1]}


def _called(tokenizer: Any) -> Any:
    tokenizer("a first call")
    return tokenizer


def _timed(load: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and its seconds of CPU time."""
    start = time.process_time()
    return load(), time.process_time() - start


def _store(name: str, folder: Path) -> Path:
    """Writes what transformers needs, with the tokenizer's own configuration where there is one."""
    folder.mkdir()
    (folder / "tokenizer.json").write_text(tokenizer_json(name), encoding="utf-8")
    own = tokenizer_files().get(name, Path(name)).with_name("tokenizer_config.json")
    if own.is_file():
        shutil.copy(own, folder)
    else:
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


def _cells(name: str, result: Result) -> list[str]:
    if result.problem:
        return [name, result.problem, *[""] * 7]
    figures = ("hf_seconds", "from_pretrained_seconds", "accelerate_seconds", "written_seconds")
    hf, both, *parts = result.medians(figures).values()
    ratios = [f"{seconds / hf:.2f}" for seconds in (both - hf, *parts)]
    sizes = [result.median(f"{whose}_bytes") for whose in ("hf", "ours", "peak", "tables")]
    return [name, f"{hf:.3f}", *ratios, *["-" if size is None else f"{size / 1e6:.1f}" for size in sizes]]


def _settled_memory() -> int | None:
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # malloc_trim is glibc's
        ctypes.CDLL(None).malloc_trim(0)
    return memory("VmRSS")


if __name__ == "__main__":
    made = Options(__doc__)
    made.add_several("tokenizers", ("qwen3", "llama3", "gemma3"), ["tiny_qwen2"])
    made.add("--repeat", 5, "fresh processes for each number", 1)
    sys.exit(run(made.read(), "load", "Load", ABOUT, measure))
