"""Speed of one prompt at a time, beside the peers, on prompts of which each is another text.

    python benchmarks/speed.py --tokenizers qwen3,llama3 --corpora leval_en,code --repeat 5 --json speed.json

Every number stands for ids that were compared with those of the HF tokenizer; a row whose ids differ has no number, and
the exit status is 1. README.md says how it is measured.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import speed_report
from corpora import corpus_files, prompts
from report import Table, show, write_json
from script import add_output, errors, names, parse
from tokenizer_files import tokenizer_files, tokenizer_json

from lopt_plugin.benchmarking.engines import ENGINES, engine_class
from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import random_words
from lopt_plugin.benchmarking.worker import Measurement

TOKENIZERS = ("qwen3", "llama3")
CORPORA = ("leval_en", "math", "chat", "code", "zh", "multi")
ENGINE_NAMES = ("hf", "lopt", "lopt_array", "tiktoken", "fastokens", "gigatoken", "gigatoken_batch", "gigatoken_array")
CACHE_HOSTILE_PROMPTS = 3
SPEEDS = ("first", "cold", "warm", "hostile")
ABOUT = """\
{prompts} prompts of {prompt_chars:,} characters spread over each corpus, {threads} thread(s), MB/s, medians of
{repeat} repetitions in fresh processes. *First* is the first prompt of a process, *cold* the others, each seen
once, *warm* all of them again, *hostile* words of random letters; `first x` and `cold x` are ratios to the
fastest peer."""


@dataclass(frozen=True)
class Figures:
    """One repetition of one engine. Speeds in MB/s, 10^6 bytes of UTF-8 a second.

    first       the first prompt of the process
    cold        median of the others, each seen once
    warm        median of all, seen for the second time
    hostile     median of the cache-hostile prompts, each seen once
    """

    import_seconds: float
    load_seconds: float
    first: float
    cold: float
    warm: float
    hostile: float
    peak_rss_mb: float | None

    @classmethod
    def of(cls, measured: Measurement, prompt_bytes: Sequence[int], hostile_bytes: Sequence[int]) -> Figures:
        """From a measurement of three passes: the prompts, the same again, and the cache-hostile ones."""
        cold = _speeds(prompt_bytes, measured.seconds[0])
        peak = measured.peak_rss_bytes
        return cls(
            import_seconds=measured.import_seconds,
            load_seconds=measured.load_seconds,
            first=cold[0],
            cold=statistics.median(cold[1:]),
            warm=statistics.median(_speeds(prompt_bytes, measured.seconds[1])),
            hostile=statistics.median(_speeds(hostile_bytes, measured.seconds[2])),
            peak_rss_mb=None if peak is None else peak / 1e6,
        )


@dataclass
class Row:
    """An engine on a tokenizer and a corpus. Figures are to be shown only where `problem` is empty."""

    tokenizer: str
    corpus: str
    engine: str
    problem: str = ""
    is_error: bool = False
    note: str = ""
    repetitions: list[Figures] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)

    def add(self, measured: Measurement, expected: Sequence[Sequence[str]], figures: Figures | None) -> None:
        """Takes a repetition in, or the reason why this row has no numbers."""
        self.note = measured.note or self.note
        if measured.refused:
            self.problem = f"does not load: {measured.refused}"
        elif measured.failed:
            self.problem, self.is_error = f"failed: {measured.failed}", True
        elif measured.digests != tuple(map(tuple, expected)):
            self.problem, self.is_error = "ids differ", True
        elif figures is not None and not self.problem:
            self.repetitions.append(figures)
        if self.problem:
            self.repetitions.clear()

    def median(self, figure: str) -> float:
        """Over the repetitions."""
        return float(statistics.median(getattr(figures, figure) for figures in self.repetitions))

    def spread(self) -> float:
        """Slowest to fastest repetition of the cold median, as a share of their median."""
        values = [figures.cold for figures in self.repetitions]
        return (max(values) - min(values)) / statistics.median(values)


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    cpus = choose_cpus(given.threads, given.cpu)
    print(f"{machine_line()}\n{given.threads} thread(s), CPU {', '.join(map(str, cpus))}\n", flush=True)
    rows: list[Row] = []
    with FreshProcesses(given.timeout) as processes:
        groups = [
            Group.prepare(processes, tokenizer, corpus, given, cpus)
            for tokenizer in given.tokenizers
            for corpus in given.corpora
        ]
        for repetition in range(given.repeat):
            # Each engine comes first, second, ... in turn, so that none always follows the same other one.
            shift = repetition % len(given.engines)
            for group in groups:
                _progress(f"repetition {repetition + 1} of {given.repeat}: {group.tokenizer}, {group.corpus}")
                for engine in given.engines[shift:] + given.engines[:shift]:
                    group.measure(processes, engine, cpus)
    for group in groups:
        set_ratios(list(group.rows.values()))
        rows += group.rows.values()
        show(group.table(), given.markdown)
    report = speed_report.make(groups, ABOUT.format(**vars(given)))
    write_json(given.json, "speed", vars(given), [asdict(row) for row in rows], report)
    return 1 if errors(rows) else 0


class Group:
    """A tokenizer and a corpus: the rows that are compared with one another, and the digests of the oracle's ids."""

    def __init__(self, tokenizer: str, corpus: str, engines: Sequence[str], remark: str) -> None:
        self.tokenizer = tokenizer
        self.corpus = corpus
        self.remark = remark
        self.rows = {engine: Row(tokenizer, corpus, engine) for engine in engines}
        self.tokenizer_file = Path()
        self.passes: list[Path] = []
        self.expected: list[Sequence[str]] = []
        self.prompt_bytes: list[int] = []
        self.hostile_bytes: list[int] = []

    @classmethod
    def prepare(
        cls, processes: FreshProcesses, tokenizer: str, corpus: str, given: argparse.Namespace, cpus: Sequence[int]
    ) -> Group:
        """Cuts the prompts and asks the oracle for the ids, in a process of its own."""
        _progress(f"reference ids: {tokenizer}, {corpus}")
        found = prompts(corpus, given.prompts, given.prompt_chars)
        hostile = [random_words(given.hostile_chars, seed) for seed in range(CACHE_HOSTILE_PROMPTS)]
        group = cls(tokenizer, corpus, given.engines, found.remark)
        group.tokenizer_file = processes.store_tokenizer(tokenizer_json(tokenizer))
        prompts_file, hostile_file = processes.store_prompts(found.texts), processes.store_prompts(hostile)
        group.passes = [prompts_file, prompts_file, hostile_file]
        group.prompt_bytes = [len(text.encode()) for text in found.texts]
        group.hostile_bytes = [len(text.encode()) for text in hostile]
        reference = processes.measure("hf", group.tokenizer_file, [prompts_file, hostile_file], cpus)
        if reference.refused or reference.failed:
            raise RuntimeError(f"no reference ids for {tokenizer}, {corpus}: {reference.refused}{reference.failed}")
        group.expected = [reference.digests[0], reference.digests[0], reference.digests[1]]
        return group

    def measure(self, processes: FreshProcesses, engine: str, cpus: Sequence[int]) -> None:
        """One repetition of an engine that has not failed so far."""
        row = self.rows[engine]
        if row.problem:
            return
        measured = processes.measure(engine, self.tokenizer_file, self.passes, cpus)
        complete = not (measured.refused or measured.failed)
        figures = Figures.of(measured, self.prompt_bytes, self.hostile_bytes) if complete else None
        row.add(measured, self.expected, figures)

    def table(self) -> Table:
        """Medians over the repetitions, and the ratios."""
        shown = [_cells(row) for row in self.rows.values()]
        columns = ("engine", *SPEEDS, *(f"{name} x" for name in SPEEDS), "load s", "import s", "RSS MB", "spread")
        title = f"{self.tokenizer}, {self.corpus}: MB/s" + (f" ({self.remark})" if self.remark else "")
        notes = [f"{row.engine}: {row.problem or row.note}" for row in self.rows.values() if row.problem or row.note]
        return Table(columns, shown, title, text_columns=1, remarks=notes)


def set_ratios(rows: Sequence[Row]) -> None:
    """Speed of each row against the fastest peer of its kind (list or array), in the same repetition; the median.

    A row is not compared with itself, and not with one that has no numbers.
    """
    types = {row.engine: engine_class(row.engine) for row in rows}
    for row in rows:
        peers = [
            other.repetitions
            for other in rows
            if other is not row
            and other.repetitions
            and types[other.engine].is_peer
            and types[other.engine].kind == types[row.engine].kind
        ]
        for speed in SPEEDS if peers and row.repetitions else ():
            row.ratios[speed] = statistics.median(
                getattr(own, speed) / max(getattr(other, speed) for other in others)
                for own, *others in zip(row.repetitions, *peers, strict=True)
            )


def _cells(row: Row) -> list[str]:
    engine = engine_class(row.engine)
    name = row.engine + (" (numpy array, no list)" if engine.kind == "array" else "")
    if row.problem:
        reason = "ids differ" if row.problem == "ids differ" else row.problem.split(":", 1)[0]
        return [name, reason, *[""] * (2 * len(SPEEDS) + 3)]
    peak = None if row.repetitions[0].peak_rss_mb is None else row.median("peak_rss_mb")
    return [
        name,
        *(f"{row.median(speed):.3g}" if row.median(speed) < 100 else f"{row.median(speed):.0f}" for speed in SPEEDS),
        *(f"{row.ratios[speed]:.2f}" if speed in row.ratios else "-" for speed in SPEEDS),
        f"{row.median('load_seconds'):.2f}",
        f"{row.median('import_seconds'):.2f}",
        "-" if peak is None else f"{peak:.0f}",
        f"{100 * row.spread():.0f}%",
    ]


def _speeds(sizes: Sequence[int], seconds: Sequence[float]) -> list[float]:
    return [size / 1e6 / taken for size, taken in zip(sizes, seconds, strict=True)]


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_output(parser)
    known_tokenizers, known_corpora = tokenizer_files(), corpus_files()
    parser.add_argument(
        "--tokenizers",
        type=names,
        default=[name for name in TOKENIZERS if name in known_tokenizers] or ["qwen3"],
        help=f"names or paths; known: {', '.join(known_tokenizers)}",
    )
    parser.add_argument(
        "--corpora",
        type=names,
        default=[name for name in CORPORA if name in known_corpora],
        help=f"names or paths; known: {', '.join(known_corpora)}",
    )
    parser.add_argument("--engines", type=names, default=list(ENGINE_NAMES), help="known names, or module:Class")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of everything (default 5)")
    parser.add_argument("--threads", type=int, default=1, help="threads and CPUs of an engine (default 1)")
    parser.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    parser.add_argument("--prompts", type=int, default=10, help="prompts of a corpus (default 10)")
    parser.add_argument("--prompt-chars", type=int, default=200_000, help="characters of a prompt (default 200000)")
    parser.add_argument("--hostile-chars", type=int, default=420_000, help="of a cache-hostile prompt (default 420000)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one process (default 600)")
    quick = {
        "tokenizers": ["tiny_qwen2"],
        "corpora": ["zh"],
        "engines": ["hf", "lopt", "lopt_array"],
        "repeat": 1,
        "prompts": 3,
        "prompt_chars": 3_000,
        "hostile_chars": 3_000,
    }
    given = parse(parser, quick)
    if given.prompts < 2 or given.repeat < 1:
        parser.error("at least 2 prompts and 1 repetition")
    for name in given.engines:
        if ":" not in name and name not in ENGINES:
            parser.error(f"no engine {name!r}; there are {', '.join(ENGINES)}, and module:Class")
    for what, chosen, known in (
        ("tokenizer", given.tokenizers, known_tokenizers),
        ("corpus", given.corpora, known_corpora),
    ):
        for name in chosen:
            if name not in known and not Path(name).is_file():
                parser.error(f"no {what} {name!r}; there are {', '.join(known)}, and paths")
    return given


if __name__ == "__main__":
    sys.exit(main())
