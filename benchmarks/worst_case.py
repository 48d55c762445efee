"""Texts that some tokenizers take quadratic time for: long runs without a boundary. Seconds, and what doubling costs.

    python benchmarks/worst_case.py --tokenizer qwen3 --engines lopt,fastokens,gigatoken

Linear time doubles (a ratio of 2), quadratic time grows by 4. Each text comes once to a fresh process, after a short
prompt. The ids are compared with the HF tokenizer's, which may take minutes for a text: where it takes longer than
--timeout, nothing is compared and no number is shown. An engine that fails at a size is not asked for greater ones.
"""

from __future__ import annotations

import argparse
import random
import statistics
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from report import Report, Table, number, others_win
from script import end, errors, names, parse, parser
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.engines import engine_class
from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import random_words
from lopt_plugin.benchmarking.worker import Measurement

WARM_UP_CHARS = 10_000
ABOUT = """\
One text in a fresh process, {threads} thread(s), {tokenizer}, milliseconds to a `list[int]`; then what doubling
costs: 2 is linear, 4 quadratic. `github_bpe` is GitHub's crate, whose linear worst case this asks for."""
_SEED = 1


def one_letter(size: int) -> str:
    """`size` bytes of one letter."""
    return "a" * size


def random_letters(size: int) -> str:
    """`size` bytes of random lower-case letters without a space."""
    return "".join(random.Random(_SEED).choices(string.ascii_lowercase, k=size))


def digits(size: int) -> str:
    """`size` bytes of random digits."""
    return "".join(random.Random(_SEED).choices(string.digits, k=size))


def spaces(size: int) -> str:
    r"""`size` bytes: spaces, and a letter behind them, for which `\s+(?!\S)` steps back."""
    return " " * (size - 1) + "a"


def cjk(size: int) -> str:
    """`size` bytes, less at most two, of random CJK ideographs without punctuation."""
    return "".join(map(chr, random.Random(_SEED).choices(range(0x4E00, 0x9FA6), k=size // 3)))


CASES: dict[str, Callable[[int], str]] = {
    "one letter": one_letter,
    "random letters": random_letters,
    "digits": digits,
    "spaces": spaces,
    "CJK": cjk,
}


@dataclass
class Row:
    """An engine on a text; seconds for each size, None where there is nothing to show."""

    case: str
    engine: str
    seconds: list[float | None] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_error: bool = False

    def measure(
        self,
        processes: FreshProcesses,
        tokenizer: Path,
        passes: Sequence[Path],
        reference: Measurement,
        cpus: Sequence[int],
        repeat: int,
    ) -> None:
        """Adds the next size: the median of fresh processes, for the prompt of the second pass."""
        if self.problems:
            self.seconds.append(None)
            return
        problem = f"not compared: HF {reference.failed}" if reference.failed else ""
        taken = []
        for _ in range(0 if problem else repeat):
            measured = processes.measure(self.engine, tokenizer, passes, cpus)
            if measured.refused:
                problem = f"does not load: {measured.refused}"
                break
            if measured.failed:
                problem, self.is_error = measured.failed, not engine_class(self.engine).is_peer
                break
            if measured.digests != reference.digests:
                problem, self.is_error = "ids differ", True
                break
            taken.append(measured.seconds[1][0])
        if problem:
            self.problems.append(problem)
        self.seconds.append(None if problem else statistics.median(taken))

    def cells(self) -> list[str]:
        """For the table: milliseconds, how they grow, and what went wrong."""
        growth = [_ratio(before, after) for before, after in pairwise(self.seconds)]
        milliseconds = [number(None if seconds is None else 1e3 * seconds) for seconds in self.seconds]
        return [self.case, self.engine, *milliseconds, *growth, "; ".join(self.problems)]


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    cpus = choose_cpus(given.threads, given.cpu)
    print(f"{machine_line()}\n{given.tokenizer}, {given.threads} thread(s)\n", flush=True)
    rows = []
    with FreshProcesses(given.timeout) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        warm_up = processes.store_prompts([random_words(WARM_UP_CHARS, seed=0)])
        for case in given.cases:
            texts = [CASES[case](round(size * 1e6)) for size in given.sizes]
            passes = [[warm_up, processes.store_prompts([text])] for text in texts]
            references = [processes.measure("hf", tokenizer, pair, cpus) for pair in passes]
            rows.append(Row(case, "hf", [None if one.failed else one.seconds[1][0] for one in references]))
            for engine in given.engines:
                print(f"{case}, {engine}", file=sys.stderr, flush=True)
                rows.append(Row(case, engine))
                for pair, reference in zip(passes, references, strict=True):
                    rows[-1].measure(processes, tokenizer, pair, reference, cpus, given.repeat)
    sizes = [f"{size:g} MB" for size in given.sizes]
    growth = [f"{after:g}/{before:g}" for before, after in pairwise(given.sizes)]
    columns = ["text", "engine", *sizes, *growth, "problem"]
    report = Report("Long runs without a boundary", ABOUT.format(**vars(given)))
    report.tables.append(Table(columns, [row.cells() for row in rows], f"{given.tokenizer}, ms", text_columns=2))
    for column, size in enumerate(given.sizes):
        places: dict[str, dict[str, float]] = {}
        for row in rows:
            seconds = row.seconds[column]
            if seconds is not None:
                places.setdefault(f"{row.case}, {size:g} MB", {})[row.engine] = seconds
        report.others_win += others_win(places, smaller_is_better=True)
    return end(given, "worst_case", [asdict(row) for row in rows], report, errors(rows))


def _ratio(before: float | None, after: float | None) -> str:
    return "-" if before is None or after is None else f"{after / before:.1f}"


def _arguments() -> argparse.Namespace:
    made = parser(__doc__, repeat=3, threads=1)
    made.add_argument("--tokenizer", default="qwen3", help="name or path (default %(default)s)")
    made.add_argument("--engines", type=names, default=["lopt", "fastokens", "gigatoken"])
    made.add_argument("--cases", type=names, default=list(CASES), help=", ".join(CASES))
    made.add_argument(
        "--sizes", type=lambda value: [float(size) for size in value.split(",")], default=[0.5, 1.0, 2.0], help="in MB"
    )
    quick = {"tokenizer": "tiny_o200k", "engines": ["lopt"], "cases": ["one letter", "CJK"], "sizes": [0.001, 0.002]}
    given = parse(made, quick)
    for case in given.cases:
        if case not in CASES:
            made.error(f"no case {case!r}; there are {', '.join(CASES)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
