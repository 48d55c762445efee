"""What the scripts share: their options, what they work with, and how they end."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import data
from benchmarks.common.engines import ENGINES
from benchmarks.common.report import Report, Table, write_json
from benchmarks.common.result import Race, Result, medians_by, remarks, with_case
from lopt_plugin.cli.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.cli.benchmarking.machine import machine_line
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.cli.serving.server import interrupted_by_signals
from lopt_plugin.settings import available_cpus


class Options(argparse.ArgumentParser):
    """--quick, --json, and further options, each with a default of its own under --quick.

    repeat: with it, also the options of engines in fresh processes. threads: their number; a list for scripts that
    measure several numbers, None for all CPUs of this process.
    """

    def __init__(
        self,
        about: str | None,
        repeat: int | None = None,
        threads: int | list[int] | None = None,
        timeout: float = 300.0,
    ) -> None:
        super().__init__(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._quick: dict[str, Any] = {}
        self.add_argument("--quick", action="store_true", help="small texts and a small tokenizer: does it run?")
        self.add_argument("--json", metavar="FILE", help="write every figure")
        if repeat is not None:
            several = threads[:1] if isinstance(threads, list) else None
            self.add("--repeat", repeat, "processes for each number", 1)
            self.add("--threads", threads or available_cpus(), "threads and CPUs of an engine", several)
            self.add("--timeout", timeout, "seconds for one process")

    def add(
        self,
        name: str,
        default: Any,
        about: str,
        quick: Any = None,
        kind: Callable[[str], Any] | None = None,
    ) -> None:
        """An option of the default's type; a list is given with commas. quick: the other default, if there is one."""
        if kind is None and isinstance(default, list):
            one = type(default[0]) if default else str
            kind = names if one is str else lambda value: [one(part) for part in value.split(",")]
        about += " (default %(default)s)"
        added = self.add_argument(name, type=kind or type(default), default=default, help=about)
        if quick is not None:
            self._quick[added.dest] = quick

    def add_inputs(self, tokenizer: str, corpus: str, engines: Sequence[str], *quick: Any) -> None:
        """--tokenizer, --corpus and --engines; another corpus where the default is not available."""
        self.add("--tokenizer", tokenizer, "name or path", quick[0])
        self.add("--corpus", data.known_corpus(corpus), "name or path", quick[1])
        self.add_engines(engines, quick[2])

    def add_several(self, what: str, wanted: Sequence[str], quick: Any = None) -> None:
        """--tokenizers or --corpora; by default those of the wanted ones that are available, or else all."""
        files = {"tokenizers": data.tokenizer_files, "corpora": data.corpus_files}[what]()
        default = [name for name in wanted if name in files] or list(files)
        kind = known(f"{what} with the name", files, lambda name: Path(name).is_file())
        self.add(f"--{what}", default, f"of {', '.join(files)}, or paths", quick, kind)

    def add_engines(self, engines: Sequence[str], quick: Any = None) -> None:
        """--engines, with this default."""
        kind = known("engine", ENGINES, lambda name: ":" in name)
        self.add("--engines", list(engines), f"of {', '.join(ENGINES)}, or module:Class", quick, kind)

    def read(self) -> argparse.Namespace:
        """The arguments; options that are given take precedence over --quick."""
        if "--quick" in sys.argv[1:]:
            self.set_defaults(**self._quick)
        return self.parse_args()


def known(
    what: str, choices: Iterable[str], also: Callable[[str], bool] = lambda name: False
) -> Callable[[str], list[str]]:
    """The type of an option: names with commas, each of which is one of the choices, or allowed by `also`."""

    def parse_names(value: str) -> list[str]:
        for name in names(value):
            if name not in choices and not also(name):
                raise argparse.ArgumentTypeError(f"no {what} {name!r}; there are {', '.join(choices)}")
        return names(value)

    return parse_names


@dataclass
class Bench:
    """What a script works with: its options, what it reports, and fresh processes."""

    given: argparse.Namespace
    report: Report
    processes: FreshProcesses
    shown: int = 0

    @functools.cached_property
    def tokenizer(self) -> Path:
        """The tokenizer of --tokenizer, for fresh processes."""
        return self.processes.store_tokenizer(data.tokenizer_json(self.given.tokenizer))

    @functools.cached_property
    def text(self) -> str:
        """The whole corpus of --corpus."""
        return data.whole_text(self.given.corpus)[0]

    @functools.cached_property
    def cpus(self) -> list[int]:
        """As many as --threads says."""
        return choose_cpus(self.given.threads)

    def race(self, groups: Mapping[str, Sequence[Any]]) -> Race:
        """Passes by name, each of prompts or batches."""
        passes = {name: self.processes.store_prompts(prompts) for name, prompts in groups.items()}
        return Race(self.processes, self.tokenizer, passes, self.cpus)

    def texts(self, chars: int) -> list[str]:
        """Different texts of that length, at most as many as --texts says."""
        return spread(self.text, max(1, min(self.given.texts, len(self.text) // chars)), chars)

    def unseen(self, groups: Mapping[int, Sequence[str]], key: str, unit: str, title: str, plot: str) -> list[Result]:
        """`seconds` of all engines on each group of texts; a table and a plot of the milliseconds.

        key   under which a result's case has the number of its group, which is the length of the texts
        unit  of that number
        A race for each group: longer texts contain the shorter ones, and would find them in caches.
        """
        given, results = self.given, []
        for number, texts in groups.items():
            results += with_case(self.race({"seconds": texts}).run(given.engines, given.repeat), key, number)
        self.report.add_lines(
            medians_by(results, key, factor=1e3),
            list(groups),
            title,
            unit,
            "ms",
            (plot, f"One unseen text, {given.tokenizer}, {given.threads} threads"),
            place=f"a text of {{:,}} {unit}",
            remarks=remarks(results),
        )
        return results

    def batch_speeds(self, text: str, chars: int) -> tuple[dict[str, Result], dict[str, dict[int, float]], int]:
        """All engines on batches of text: results, MB/s by the number of texts in a call, characters of a text."""
        given = self.given
        groups, chars = data.batches_of(text, given.batches, chars)
        found = self.race({str(count): group for count, group in groups.items()}).run(given.engines, given.repeat)
        sizes = {count: data.mean_bytes(group) / 1e6 for count, group in groups.items()}
        speeds = {
            name: {count: sizes[count] / taken for count, taken in result.medians(sizes).items()}
            for name, result in found.items()
        }
        return found, speeds, chars

    def add(self, *tables: Table) -> None:
        """Tables of the report; prints them as soon as they are there."""
        self.report.tables += tables
        self.show()

    def show(self) -> None:
        """Prints the tables of the report that are not printed yet."""
        for table in self.report.tables[self.shown :]:
            print(table.text(), end="\n\n", flush=True)
        self.shown = len(self.report.tables)


def run(
    given: argparse.Namespace, name: str, title: str, about: str, measure: Callable[[Bench], Sequence[Result]]
) -> int:
    """Measures, prints the tables and writes the JSON file; returns the exit status.

    name   of the benchmark, in the JSON file
    about  for the report: a format string over the options
    """
    print(f"{machine_line()}\n", flush=True)
    with interrupted_by_signals(), FreshProcesses(getattr(given, "timeout", 600.0)) as processes:
        bench = Bench(given, Report(title, about.format(**vars(given))), processes)
        results = measure(bench)
    bench.show()
    write_json(given.json, name, vars(given), list(results), bench.report)
    return int(any(result.is_error for result in results))


def names(value: str) -> list[str]:
    """Names with commas, each once."""
    return list(dict.fromkeys(name for name in value.split(",") if name))
