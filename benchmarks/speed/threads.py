"""One long English prompt on one thread and on more: what the second core is worth to a single request.

python benchmarks/speed/threads.py --threads 1,2 --engines lopt,fastokens
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import whole_text
from benchmarks.common.report import Table
from benchmarks.common.result import Race, Result, medians_by, progress
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.fresh_process import choose_cpus

LATER_CALLS = 5
ABOUT = """\
One prompt, in a process with as many CPUs as threads. Cold is its first call after a short prompt; later the
median of {calls} further calls with the same text, each beginning elsewhere in it: nearly all words are known.
Ratios are to the engine's own first row."""


def measure(bench: Bench) -> list[Result]:
    """`cold` and `later` seconds of one prompt, by engine and number of threads."""
    given = bench.given
    text, remark = whole_text(given.corpus)
    text = text[: given.chars]
    results = [Result(name, {"threads": threads}) for name in given.engines for threads in given.threads]
    begins = [len(text) * call // (LATER_CALLS + 1) for call in range(LATER_CALLS + 1)]
    passes = {f"from {begin:,}": bench.processes.store_prompts([text[begin:] + text[:begin]]) for begin in begins}
    race = Race(bench.processes, bench.tokenizer, passes, choose_cpus(1))
    for repetition in range(given.repeat):
        # Forward, then backward, so that none always follows the same other one: it finds the memory that one has left.
        for result in results[:: 1 if repetition % 2 == 0 else -1]:
            threads = result.case["threads"]
            progress(f"repetition {repetition + 1}: {result.engine}, {threads}")
            measured = race.measure(result, choose_cpus(threads))
            if measured is not None:
                cold, *later = [seconds[0] for seconds in measured.seconds[1:]]
                result.add({"cold": cold, "later": statistics.median(later)})
    columns = ("engine", "threads", "cold ms", "cold MB/s", "cold ratio", "later ms", "later MB/s", "later ratio")
    firsts = {result.engine: result for result in reversed(results)}
    megabytes = len(text.encode()) / 1e6
    rows = [_cells(result, megabytes, firsts[result.engine]) for result in results]
    title = f"{given.tokenizer}, one prompt of {len(text):,} characters of {given.corpus}"
    bench.report.tables.append(Table(columns, rows, f"{title} ({remark})" if remark else title))
    for figure in ("cold", "later"):
        by_engine = medians_by(results, "threads", figure)
        bench.report.add_losses(by_engine, f"{{}} threads, {figure}", smaller_is_better=True)
    return results


def _cells(result: Result, megabytes: float, first: Result) -> list[str]:
    """Medians, and ratios to the engine's first row."""
    cells = [result.engine, str(result.case["threads"])]
    if result.problem:
        return [*cells, result.problem, *[""] * 5]
    for figure in ("cold", "later"):
        median, of_first = result.median(figure), first.median(figure)
        ratio = "-" if first.problem else f"{of_first / median:.2f}"
        cells += [f"{1e3 * median:.2f}", f"{megabytes / median:.0f}", ratio]
    return cells


if __name__ == "__main__":
    made = Options(__doc__, repeat=5, threads=[1, 2], timeout=600.0)
    made.add_inputs("qwen3", "books_en", ["lopt", "fastokens", "gigatoken"], "tiny_qwen2", None, ["lopt"])
    made.add("--chars", 4_000_000, "at most that many characters", 20_000)
    sys.exit(run(made.read(), "threads", "A long prompt by threads", ABOUT.format(calls=LATER_CALLS), measure))
