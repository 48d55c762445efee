"""What a device shows within eight minutes: are the ids right, and what does each step take?

    make gpu-check                                                    writes build/gpu-check/found.md and found.json
    TRITON_INTERPRET=1 python benchmarks/gpu/check.py --quick         without a GPU: does it run to its end?

Items run in the order of their worth. After each one both files are written again, so a run that is cut off loses only
the item it was at. An item that fails does not stop the others; the exit status is 1 then. No item begins that would
not end in time.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import TESTS_DATA, corpus_files, tokenizer_files
from benchmarks.common.report import Report, Table, write_json
from benchmarks.common.script import names, parse, plain_parser
from benchmarks.gpu import device_items, speed_items
from lopt_plugin.routes.gpu.device import GpuUnavailableError, find_device

TOKENIZERS = "gpt2,qwen3,llama3,gpt_oss,deepseek_v3,mistral_tekken"
CORPORA = "books_en,code,zh,multi,math,chat"


@dataclass(frozen=True)
class Item:
    """One of the things that are looked at; `seconds` is what it takes on an H100, an estimate."""

    name: str
    seconds: float
    tables: Callable[[], Iterable[Table]]


def items(given: argparse.Namespace) -> list[Item]:
    """All items, those first that matter most."""
    return [
        Item("versions", 5, device_items.versions),
        Item("equality", 100, functools.partial(device_items.equality, given)),
        Item("start, cold and warm", 60, functools.partial(device_items.starts, given)),
        Item("stages", 20, functools.partial(speed_items.stages, given)),
        Item("kernels", 20, functools.partial(speed_items.kernels, given)),
        Item("methods", 60, functools.partial(speed_items.methods, given)),
        Item("beside a model that trains", 20, functools.partial(device_items.training, given)),
        Item("crossover", 30, functools.partial(speed_items.crossover, given)),
        Item("memcheck and racecheck", 90, device_items.sanitizers),
        Item("BlockBPE and GPUTOK", 60, functools.partial(speed_items.papers, given)),
    ]


def main() -> int:
    made = plain_parser(__doc__)
    here = [name for name in names(TOKENIZERS) if name in tokenizer_files()]
    made.add_argument("--tokenizers", type=names, default=here)
    made.add_argument("--corpora", type=names, default=[name for name in names(CORPORA) if name in corpus_files()])
    made.add_argument("--items", type=names, help="only these, by how they begin")
    made.add_argument("--megabytes", type=float, default=64, help="compared in all, 10^6 bytes (default %(default)s)")
    made.add_argument("--bytes", type=int, default=16 << 20, help="characters of a batch that is timed")
    made.add_argument("--repeat", type=int, default=5, help="timed runs (default %(default)s)")
    made.add_argument("--peers", type=names, default=names("tiktoken"), help="engines beside the routes")
    made.add_argument("--crossover", type=_numbers, default=[1 << power for power in range(16, 24)], help="characters")
    made.add_argument("--seconds", type=float, default=460, help="for all items (default %(default)s)")
    made.add_argument("--out", type=Path, default=Path("build", "gpu-check"), metavar="FOLDER")
    quick = {
        **{"tokenizers": ["tiny_cl100k"], "corpora": ["books_en", "zh"], "megabytes": 0.004, "bytes": 1200},
        **{"peers": [], "crossover": [1000]},
    }
    given = parse(made, quick)
    try:
        find_device()
    except GpuUnavailableError as error:
        print(f"no GPU: {error}. Nothing was looked at.", file=sys.stderr)
        return 2
    print(f"Tokenizers: {', '.join(given.tokenizers)}; texts: {', '.join(given.corpora)}")
    if not given.quick and len(tokenizer_files()) <= len([*TESTS_DATA.glob("tokenizers/*")]):
        print("The folder ../shared is not there: what lies in tests/data is all that is compared.")
    return look(given)


def look(given: argparse.Namespace) -> int:
    """Runs the items; writes what they find after each."""
    given.out.mkdir(parents=True, exist_ok=True)
    begin, outcomes, found = time.monotonic(), [], []
    wanted = tuple(given.items or [""])
    for item in (item for item in items(given) if item.name.startswith(wanted)):
        started = time.monotonic()
        print(f"{item.name} ...", flush=True)
        if started - begin + item.seconds > given.seconds:
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
        _write(given, Table(["item", "s", "outcome"], outcomes, "Items"), found)
    print(f"{given.out}/found.md has all tables, found.json all figures.")
    return int(any(outcome.startswith("FAILED") for *_, outcome in outcomes))


def _write(given: argparse.Namespace, summary: Table, found: list[Table]) -> None:
    report = Report("The GPU route on a device", "", [summary, *found])
    pages = "\n\n".join(table.markdown() for table in report.tables)
    (given.out / "found.md").write_text(f"# {report.title}\n\n{pages}\n", encoding="utf-8")
    settings = {name: str(value) for name, value in vars(given).items()}
    write_json(str(given.out / "found.json"), "gpu-check", settings, [], report)


def _numbers(value: str) -> list[int]:
    return [int(one) for one in value.split(",")]


if __name__ == "__main__":
    sys.exit(main())
