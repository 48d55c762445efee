"""LoPT's figures: one long text by length, by chunk length and by workers, and batches of texts, beside the peers.

    python benchmarks/lopt_figures.py --tokenizer qwen3 --corpus leval_en --figures length,chunk

length   milliseconds until the ids of an unseen text are there
chunk    the same for the longest text but one, by the length of a chunk
batch    MB/s of a call with several texts, by their number
workers  MB/s of the longest text but one, by threads

Accuracy is not a figure here: a row whose ids are not those of the HF tokenizer has no number. The accuracy of LoPT as
published is in lopt_table.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from corpora import batches_of, mean_megabytes, whole_text
from measuring import REFERENCE, Figures, Race, all_remarks, remarks
from report import Plot, Report, Table, number, others_win
from script import end, errors, known_corpus, known_tokenizer, names, numbers, parse, parser
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import spread
from lopt_plugin.settings import available_cpus

ENGINES = ("hf", "lopt_hf_chunks", "lopt", "fastokens", "gigatoken", "tiktoken")
ABOUT = """\
One text at a time to a `list[int]`, {threads} threads, {tokenizer}, {corpus}. `lopt_hf_chunks` is LoPT's own
way, lossless, over the HF tokenizer's threads; `lopt` is the native route. Every text is another one, in a
process that has encoded some before; HF is timed once, the others {repeat} times, in turns."""


class Bench:
    """What the figures have in common."""

    def __init__(self, given: argparse.Namespace, processes: FreshProcesses) -> None:
        self.given = given
        self.processes = processes
        self.tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        self.text = whole_text(given.corpus)[0]
        self.cpus = choose_cpus(given.threads, given.cpu)
        self.lengths = [length for length in given.lengths if length <= len(self.text)] or [len(self.text)]
        self.main_length = sorted(self.lengths)[-2:][0]

    def race(self, groups: dict[str, Sequence[Any]]) -> Race:
        """Passes by name, each of prompts or batches."""
        passes = {name: self.processes.store_prompts(prompts) for name, prompts in groups.items()}
        return Race(self.processes, self.tokenizer, passes, self.cpus)

    def texts(self, length: int) -> list[str]:
        """Different texts of that length."""
        return spread(self.text, max(1, min(self.given.texts, len(self.text) // length)), length)

    def megabytes(self, length: int) -> float:
        """Mean size of such a text."""
        found = self.texts(length)
        return sum(len(text.encode()) for text in found) / len(found) / 1e6


def by_length(bench: Bench, report: Report) -> list[Figures]:
    """The length of the text."""
    given = bench.given
    # A race for each: longer texts hold what shorter ones held, and would find it in caches.
    by = {n: bench.race({"text": bench.texts(n)}).run(given.engines, given.repeat) for n in bench.lengths}
    seconds = {name: {n: by[n][name].median("text") for n in bench.lengths} for name in given.engines}
    rows = [[name, *(number(_milliseconds(s)) for s in by.values())] for name, by in seconds.items()]
    columns = ["characters", *(f"{length:,}" for length in bench.lengths)]
    report.tables.append(Table(columns, rows, "By the length of the text, ms", remarks=all_remarks(by.values())))
    report.plots.append(
        Plot(
            f"lopt_length_{given.tokenizer}",
            f"One unseen text, {given.tokenizer}, {given.threads} threads",
            "characters",
            "ms",
            {name: [(n, 1e3 * s) for n, s in by.items() if s is not None] for name, by in seconds.items()},
            log_x=True,
            log_y=True,
        )
    )
    report.others_win += others_win(
        {
            f"a text of {n:,} characters": {e: by[n] for e, by in seconds.items() if by[n] is not None}
            for n in bench.lengths
        },
        smaller_is_better=True,
    )
    return [figures for by_engine in by.values() for figures in by_engine.values()]


def by_chunk(bench: Bench, report: Report) -> list[Figures]:
    """The length of a chunk, in characters; 0 leaves it to the route."""
    given, length = bench.given, bench.main_length
    ours = [name for name in given.engines if name.startswith("lopt")]
    race = bench.race({"text": bench.texts(length)})
    always = {"LOPT_PARALLEL_MIN_CHARS": "1"}
    found = {
        chunk: race.run(ours, given.repeat, environment={"LOPT_CHUNK_CHARS": str(chunk), **always})
        for chunk in given.chunks
    }
    medians = {name: {chunk: found[chunk][name].median("text") for chunk in given.chunks} for name in ours}
    rows = [[name, *(number(_milliseconds(s)) for s in by.values())] for name, by in medians.items()]
    columns = ["characters a chunk", *(f"{chunk:,}" if chunk else "own choice" for chunk in given.chunks)]
    title = f"By the length of a chunk, ms, texts of {length:,} characters"
    report.tables.append(Table(columns, rows, title, remarks=all_remarks(found.values())))
    report.plots.append(
        Plot(
            f"lopt_chunk_{given.tokenizer}",
            f"{length:,} characters, {given.tokenizer}, {given.threads} threads",
            "characters a chunk",
            "ms",
            {name: [(c, 1e3 * s) for c, s in by.items() if c and s is not None] for name, by in medians.items()},
            log_x=True,
            log_y=True,
        )
    )
    return [figures for by_engine in found.values() for figures in by_engine.values()]


def by_batch(bench: Bench, report: Report) -> list[Figures]:
    """The number of texts in one call."""
    given = bench.given
    groups, chars = batches_of(bench.text, given.batches, given.batch_chars)
    found = bench.race({str(n): group for n, group in groups.items()}).run(given.engines, given.repeat)
    sizes = {n: mean_megabytes(group) for n, group in groups.items()}
    speeds = {name: _speeds(sizes, lambda n, f=f: f.median(str(n))) for name, f in found.items()}
    columns = ["texts", *map(str, given.batches)]
    rows = [[name, *(number(by.get(n)) for n in given.batches)] for name, by in speeds.items()]
    title = f"By the number of texts of {chars:,} characters in one call, MB/s"
    report.tables.append(Table(columns, rows, title, remarks=remarks(found)))
    report.plots.append(
        Plot(
            f"lopt_batch_{given.tokenizer}",
            f"Texts of {chars:,} characters, {given.tokenizer}, {given.threads} threads",
            "texts in a call",
            "MB/s",
            {name: list(by.items()) for name, by in speeds.items()},
            log_x=True,
        )
    )
    report.others_win += others_win(
        {f"{n} texts in one call": {e: by[n] for e, by in speeds.items() if n in by} for n in given.batches}
    )
    return list(found.values())


def by_workers(bench: Bench, report: Report) -> list[Figures]:
    """The number of threads."""
    given, length = bench.given, bench.main_length
    race = bench.race({"text": bench.texts(length)})
    engines = [name for name in given.engines if name != REFERENCE]
    found = {n: race.run(engines, given.repeat, choose_cpus(n, given.cpu)) for n in given.workers}
    size = bench.megabytes(length)
    speeds = {e: _speeds(dict.fromkeys(found, size), lambda n, e=e: found[n][e].median("text")) for e in engines}
    rows = [[name, *(number(by.get(n)) for n in found)] for name, by in speeds.items()]
    hf = race.reference.seconds[1]
    title = f"By threads, MB/s, texts of {length:,} characters (HF, one thread: {number(size * len(hf) / sum(hf))})"
    report.tables.append(Table(["threads", *map(str, found)], rows, title, remarks=all_remarks(found.values())))
    report.plots.append(
        Plot(
            f"lopt_workers_{given.tokenizer}",
            f"{length:,} characters, {given.tokenizer}",
            "threads",
            "MB/s",
            {name: list(by.items()) for name, by in speeds.items()},
        )
    )
    report.others_win += others_win({f"{n} threads": {e: by[n] for e, by in speeds.items() if n in by} for n in found})
    return [figures for by_engine in found.values() for figures in by_engine.values()]


FIGURES: dict[str, Callable[[Bench, Report], list[Figures]]] = {
    "length": by_length,
    "chunk": by_chunk,
    "batch": by_batch,
    "workers": by_workers,
}


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    report = Report("LoPT: length, chunk length, batch and workers", ABOUT.format(**vars(given)))
    results: dict[str, list[Figures]] = {}
    with FreshProcesses(given.timeout) as processes:
        bench = Bench(given, processes)
        for name in given.figures:
            results[name] = FIGURES[name](bench, report)
    failed = any(errors(found) for found in results.values())
    return end(given, "lopt_figures", {k: list(map(asdict, v)) for k, v in results.items()}, report, failed)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _speeds(sizes: dict[int, float], seconds: Callable[[int], float | None]) -> dict[int, float]:
    taken = {n: seconds(n) for n in sizes}
    return {n: sizes[n] / s for n, s in taken.items() if s is not None}


def _arguments() -> argparse.Namespace:
    made = parser(__doc__, repeat=2)
    made.add_argument("--tokenizer", default=known_tokenizer("qwen3"), help="name or path (default %(default)s)")
    made.add_argument("--corpus", default=known_corpus("leval_en"), help="name or path (default %(default)s)")
    made.add_argument("--engines", type=names, default=list(ENGINES), help="known names, or module:Class")
    made.add_argument("--figures", type=names, default=list(FIGURES), help=",".join(FIGURES))
    made.add_argument("--lengths", type=numbers, default=[10_000, 100_000, 1_000_000, 4_000_000], help="characters")
    made.add_argument("--texts", type=int, default=5, help="of each length (default %(default)s)")
    made.add_argument("--chunks", type=numbers, default=[4_000, 16_000, 64_000, 256_000, 0], help="characters")
    made.add_argument("--batches", type=numbers, default=[1, 8, 64, 512], help="texts in a call")
    made.add_argument("--batch-chars", type=int, default=4_000, help="characters of such a text (default %(default)s)")
    counts = sorted({*(2**k for k in range(8) if 2**k < available_cpus()), available_cpus()})
    made.add_argument("--workers", type=numbers, default=counts, help="numbers of threads (default: up to all CPUs)")
    quick = {
        "tokenizer": "tiny_cl100k",
        "corpus": "books_en",
        "engines": ["hf", "lopt", "lopt_hf_chunks"],
        "lengths": [1_000, 20_000],
        "texts": 2,
        "chunks": [1_000, 0],
        "batches": [1, 4],
        "batch_chars": 500,
    }
    given = parse(made, quick)
    for name in given.figures:
        if name not in FIGURES:
            made.error(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
