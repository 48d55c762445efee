"""Texts that some tokenizers take quadratic time for: long runs without a boundary. Seconds, and what doubling costs.

    python benchmarks/worst_case.py --tokenizer qwen3 --engines lopt,fastokens,gigatoken

Linear time doubles (a ratio of 2), quadratic time grows by 4. Each text comes once to a fresh process, after a short
prompt. The ids are compared with the HF tokenizer's, which may take minutes for a text: where it takes longer than
--timeout, nothing is compared and no number is shown.
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

from report import Table, show, write_json
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import random_words
from lopt_plugin.benchmarking.worker import Measurement

WARM_UP_CHARS = 10_000
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
        problem = f"not compared: HF {reference.failed}" if reference.failed else ""
        taken = []
        for _ in range(0 if problem else repeat):
            measured = processes.measure(self.engine, tokenizer, passes, cpus)
            if measured.refused:
                problem = f"does not load: {measured.refused}"
                break
            if measured.failed or measured.digests != reference.digests:
                problem, self.is_error = measured.failed or "ids differ", True
                break
            taken.append(measured.seconds[1][0])
        if problem and problem not in self.problems:
            self.problems.append(problem)
        self.seconds.append(None if problem else statistics.median(taken))

    def cells(self) -> list[str]:
        """For the table: seconds, how they grow, and what went wrong."""
        growth = [_ratio(before, after) for before, after in pairwise(self.seconds)]
        return [self.case, self.engine, *map(_seconds, self.seconds), *growth, "; ".join(self.problems)]


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
            for engine in given.engines:
                print(f"{case}, {engine}", file=sys.stderr, flush=True)
                rows.append(Row(case, engine))
                for pair, reference in zip(passes, references, strict=True):
                    rows[-1].measure(processes, tokenizer, pair, reference, cpus, given.repeat)
    sizes = [f"{size:g} MB" for size in given.sizes]
    growth = [f"{after:g}/{before:g}" for before, after in pairwise(given.sizes)]
    columns = ["text", "engine", *sizes, *growth, "problem"]
    table = Table(columns, [row.cells() for row in rows], f"{given.tokenizer}: seconds", text_columns=2)
    show(table, given.markdown)
    write_json(given.json, "worst_case", vars(given), [asdict(row) for row in rows])
    return 1 if any(row.is_error for row in rows) else 0


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _ratio(before: float | None, after: float | None) -> str:
    return "-" if before is None or after is None else f"{after / before:.1f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = "qwen3"
    parser.add_argument("--tokenizer", default=default, help="name or path (default %(default)s)")
    parser.add_argument("--engines", type=lambda value: value.split(","), default=["lopt", "fastokens", "gigatoken"])
    parser.add_argument("--cases", type=lambda value: value.split(","), default=list(CASES), help=", ".join(CASES))
    parser.add_argument(
        "--sizes", type=lambda value: [float(size) for size in value.split(",")], default=[0.5, 1.0, 2.0], help="in MB"
    )
    parser.add_argument("--repeat", type=int, default=3, help="fresh processes for each number (default 3)")
    parser.add_argument("--threads", type=int, default=1, help="threads and CPUs of an engine (default 1)")
    parser.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one process (default 300)")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    given = parser.parse_args()
    for case in given.cases:
        if case not in CASES:
            parser.error(f"no case {case!r}; there are {', '.join(CASES)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
