"""One long English prompt on one thread and on more: what the second core is worth to a single request.

    python benchmarks/threads.py --threads 1,2 --engines lopt,fastokens

Each repetition is a fresh process that has as many CPUs as threads. Cold is its first call after a short prompt; warm
is the median of further calls with the same text, which flatters every cache. The ids are compared with those of the HF
tokenizer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corpora import corpus_files, whole_text
from report import Report, Table, others_win
from script import add_output, end, errors, names, numbers, parse
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import random_words

WARM_UP_CHARS = 10_000
WARM_CALLS = 5
ABOUT = """\
One prompt, in a process with as many CPUs as threads. Cold is its first call after a short prompt; warm the
median of further calls with the same text, which flatters every cache. Ratios are to the engine's own first
row."""


@dataclass
class Row:
    """An engine on a number of threads. Seconds are to be shown only where `problem` is empty."""

    engine: str
    threads: int
    problem: str = ""
    is_error: bool = False
    cold_seconds: list[float] = field(default_factory=list)
    warm_seconds: list[float] = field(default_factory=list)

    def measure(
        self,
        processes: FreshProcesses,
        tokenizer: Path,
        passes: Sequence[Path],
        expected: Sequence[Sequence[str]],
        cpu: int | None,
    ) -> None:
        """One repetition."""
        if self.problem:
            return
        measured = processes.measure(self.engine, tokenizer, passes, choose_cpus(self.threads, cpu))
        if measured.refused:
            self.problem = f"does not load: {measured.refused}"
        elif measured.failed or measured.digests != expected:
            self.problem, self.is_error = measured.failed or "ids differ", True
        else:
            cold, *warm = [seconds[0] for seconds in measured.seconds[1:]]
            self.cold_seconds.append(cold)
            self.warm_seconds.append(statistics.median(warm))

    def cells(self, megabytes: float, baseline: Row) -> list[str]:
        """Medians, and ratios to the engine's first row."""
        if self.problem:
            return [self.engine, str(self.threads), self.problem, *[""] * 5]
        cells = [self.engine, str(self.threads)]
        for own, of in ((self.cold_seconds, baseline.cold_seconds), (self.warm_seconds, baseline.warm_seconds)):
            median = statistics.median(own)
            ratio = f"{statistics.median(of) / median:.2f}" if of else "-"
            cells += [f"{1e3 * median:.2f}", f"{megabytes / median:.0f}", ratio]
        return cells


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    text, remark = whole_text(given.corpus)
    text = text[: given.chars]
    title = f"{given.tokenizer}, one prompt of {len(text):,} characters of {given.corpus}"
    print(f"{machine_line()}\n", flush=True)
    rows = {name: [Row(name, threads) for threads in given.threads] for name in given.engines}
    with FreshProcesses(given.timeout) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        warm_up, prompt = (
            processes.store_prompts([random_words(WARM_UP_CHARS, seed=0)]),
            processes.store_prompts([text]),
        )
        reference = processes.measure("hf", tokenizer, [warm_up, prompt], choose_cpus(1, given.cpu))
        if reference.failed or reference.refused:
            raise RuntimeError(f"no reference ids: {reference.failed}{reference.refused}")
        calls = 1 + WARM_CALLS
        passes = [warm_up, *[prompt] * calls]
        expected = (reference.digests[0], *[reference.digests[1]] * calls)
        for repetition in range(given.repeat):
            for row in (row for engine_rows in rows.values() for row in engine_rows):
                print(f"repetition {repetition + 1}: {row.engine}, {row.threads}", file=sys.stderr, flush=True)
                row.measure(processes, tokenizer, passes, expected, given.cpu)
    size = len(text.encode()) / 1e6
    cells = [row.cells(size, of_engine[0]) for of_engine in rows.values() for row in of_engine]
    columns = ("engine", "threads", "cold ms", "cold MB/s", "cold ratio", "warm ms", "warm MB/s", "warm ratio")
    flat = [row for of_engine in rows.values() for row in of_engine]
    report = Report("A long prompt by threads", ABOUT)
    report.tables.append(Table(columns, cells, f"{title} ({remark})" if remark else title))
    for name in ("cold", "warm"):
        places: dict[str, dict[str, float]] = {}
        for row in flat:
            seconds = getattr(row, f"{name}_seconds")
            if seconds:
                places.setdefault(f"{row.threads} threads, {name}", {})[row.engine] = statistics.median(seconds)
        report.others_win += others_win(places, smaller_is_better=True)
    return end(given, "threads", [asdict(row) for row in flat], report, errors(flat))


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tokenizer", default="qwen3", help="name or path (default %(default)s)")
    made.add_argument("--corpus", default="books_en", help=f"one of {', '.join(corpus_files())}, or a path")
    made.add_argument("--chars", type=int, default=4_000_000, help="at most as many characters (default %(default)s)")
    made.add_argument("--engines", type=names, default=["lopt", "fastokens", "gigatoken"])
    made.add_argument("--threads", type=numbers, default=[1, 2], help="default 1,2")
    made.add_argument("--repeat", type=int, default=5, help="fresh processes for each number (default %(default)s)")
    made.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    made.add_argument("--timeout", type=float, default=600.0, help="seconds for one process (default %(default)g)")
    add_output(made)
    return parse(made, {"tokenizer": "tiny_qwen2", "chars": 20_000, "engines": ["lopt"], "threads": [1]})


if __name__ == "__main__":
    sys.exit(main())
