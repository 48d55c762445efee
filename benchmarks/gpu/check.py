"""Checks a device within eight minutes: are the ids right, and how long does each step take?

    make gpu-check                                                    writes build/gpu-check/found.md and found.json
    TRITON_INTERPRET=1 python benchmarks/gpu/check.py --quick         without a GPU: does it run to its end?

Items run in the order of their worth. Before and after each one both files are written again, so a run that is cut off
loses only the item it was at, and says which that was. An item that fails does not stop the others; the exit status is
1 then. No item begins that would not end in time, and a device that hangs ends the run in time as well. What a process
compiles, all later ones find in the folder of the results.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import SHARED_DATA, corpus_files, tokenizer_files
from benchmarks.common.report import Report, Table, write_json
from benchmarks.common.script import Options, names
from benchmarks.gpu import device_items, speed_items
from lopt_plugin.routes.gpu.device import GpuUnavailableError, find_device

TOKENIZERS = ("gpt2", "qwen3", "llama3", "gpt_oss", "deepseek_v3", "mistral_tekken")
CORPORA = ("books_en", "code", "zh", "multi", "math", "chat")


@dataclass(frozen=True)
class Item:
    """One of the things that are looked at.

    seconds: what it took on an H100 with 16 cores; where it is processes, which are ended in time, the least that is
    worth a start.
    """

    name: str
    seconds: float
    tables: Callable[[], Iterable[Table]]


def items(given: argparse.Namespace) -> list[Item]:
    """All items, those first that matter most."""
    return [
        Item("versions", 5, device_items.versions),
        Item("start, cold and warm", 50, functools.partial(device_items.starts, given)),
        Item("equality", 60, functools.partial(device_items.equality, given)),
        Item("beside a model that trains", 20, functools.partial(device_items.training, given)),
        Item("kernels", 10, functools.partial(speed_items.kernels, given)),
        Item("methods", 30, functools.partial(speed_items.methods, given)),
        Item("crossover", 15, functools.partial(speed_items.crossover, given)),
        Item("one prompt", 20, functools.partial(speed_items.prompts, given)),
        Item("stages", 15, functools.partial(speed_items.stages, given)),
        Item("memcheck and racecheck", 40, functools.partial(device_items.sanitizers, given)),
        Item("BlockBPE and GPUTOK", 40, functools.partial(speed_items.papers, given)),
    ]


def main() -> int:
    made = Options(__doc__)
    made.add("--tokenizers", [name for name in TOKENIZERS if name in tokenizer_files()], "names", ["tiny_cl100k"])
    made.add("--corpora", [name for name in CORPORA if name in corpus_files()], "names", ["books_en", "zh"])
    made.add_argument("--items", type=names, help="only these, by how they begin")
    made.add("--megabytes", 64.0, "compared in all, 10^6 bytes", 0.004)
    made.add("--bytes", 16 << 20, "characters of a batch that is timed", 1200)
    made.add("--repeat", 5, "timed runs", 1)
    made.add("--peers", ["tiktoken"], "engines beside the routes", [])
    made.add("--crossover", [1 << power for power in range(16, 24)], "characters", [1000])
    made.add("--prompts", [1 << 20, 4 << 20], "characters", [1500])
    made.add("--seconds", 470.0, "for all items")
    made.add("--began", time.time(), "when these seconds began, since 1970")
    made.add("--out", Path("build", "gpu-check"), "folder of the results", kind=Path)
    given = made.read()
    given.deadline = time.monotonic() + given.seconds - (time.time() - given.began)
    # torch computes the same from run to run with this only, and Triton keeps what it compiles there.
    os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "TRITON_CACHE_DIR": str(given.out.resolve() / "triton")}
    try:
        find_device()
    except GpuUnavailableError as error:
        print(f"no GPU: {error}. Nothing was looked at.", file=sys.stderr)
        return 2
    print(f"Tokenizers: {', '.join(given.tokenizers)}; texts: {', '.join(given.corpora)}")
    if not (given.quick or SHARED_DATA.is_dir()):
        print("No folder `shared` is beside the checkout or in it: what lies in tests/data is all that is compared.")
    # Not only between items: the host waits without end for a kernel that does not end.
    faulthandler.dump_traceback_later(max(1, given.deadline + 5 - time.monotonic()), exit=True, file=sys.__stderr__)
    try:
        return look(given)
    finally:
        faulthandler.cancel_dump_traceback_later()


def look(given: argparse.Namespace) -> int:
    """Runs the items; writes what they find after each."""
    given.out.mkdir(parents=True, exist_ok=True)
    outcomes: list[list[str]] = []
    found: list[Table] = []
    wanted = tuple(given.items or [""])
    for item in (item for item in items(given) if item.name.startswith(wanted)):
        started = time.monotonic()
        print(f"{item.name} ...", flush=True)
        _write(given, [*outcomes, [item.name, "-", "did not end"]], found)
        if started + item.seconds > given.deadline:
            outcome = "left out: no time left"
        else:
            try:
                for table in item.tables():
                    found.append(table)
                    print(table.text(), flush=True)
                outcome = "passed"
            except Exception as error:
                traceback.print_exc()
                outcome = f"FAILED: {type(error).__name__}: {error}"[:500]
        outcomes.append([item.name, f"{time.monotonic() - started:.0f}", outcome])
        _write(given, outcomes, found)
    print(f"{given.out}/found.md has all tables, found.json all figures.")
    return int(any(outcome.startswith("FAILED") for *_, outcome in outcomes))


def _write(given: argparse.Namespace, outcomes: list[list[str]], found: list[Table]) -> None:
    report = Report("The GPU route on a device", "", [Table(["item", "s", "outcome"], outcomes, "Items"), *found])
    pages = "\n\n".join(table.markdown() for table in report.tables)
    (given.out / "found.md").write_text(f"# {report.title}\n\n{pages}\n", encoding="utf-8")
    settings = {name: str(value) for name, value in vars(given).items()}
    write_json(str(given.out / "found.json"), "gpu-check", settings, [], report)


if __name__ == "__main__":
    sys.exit(main())
