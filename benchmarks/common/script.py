"""What the scripts share: their options, what they work with, and how they end."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.data import corpus_files, known_corpus, tokenizer_files, tokenizer_json, whole_text
from benchmarks.common.engines import ENGINES
from benchmarks.common.report import Report, Table, write_json
from benchmarks.common.result import Race, Result, errors, with_case
from lopt_plugin.cli.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.cli.benchmarking.machine import machine_line
from lopt_plugin.settings import available_cpus


def plain_parser(about: str | None) -> argparse.ArgumentParser:
    """A parser with --quick, --markdown and --json."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="small texts and a small tokenizer: does it run?")
    made.add_argument("--markdown", action="store_true", help="print Markdown tables")
    made.add_argument("--json", metavar="FILE", help="write every figure")
    return made


def parser(
    about: str | None, repeat: int, threads: int | list[int] | None = None, timeout: float = 300.0
) -> argparse.ArgumentParser:
    """A parser for engines in fresh processes.

    threads: the default; a list for scripts that measure several numbers of threads, None for all CPUs of this process.
    """
    made = plain_parser(about)
    made.add_argument("--repeat", type=int, default=repeat, help="processes for each number (default %(default)s)")
    made.add_argument(
        "--threads",
        type=numbers if isinstance(threads, list) else int,
        default=available_cpus() if threads is None else threads,
        help="threads and CPUs of an engine (default %(default)s)",
    )
    made.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    made.add_argument("--timeout", type=float, default=timeout, help="seconds for one process (default %(default)g)")
    return made


def add_inputs(made: argparse.ArgumentParser, tokenizer: str, corpus: str, engines: Sequence[str]) -> None:
    """--tokenizer, --corpus and --engines, with these defaults; another corpus where the default is not available."""
    made.add_argument("--tokenizer", default=tokenizer, help="name or path (default %(default)s)")
    made.add_argument("--corpus", default=known_corpus(corpus), help="name or path (default %(default)s)")
    add_engines(made, engines)


def add_several(made: argparse.ArgumentParser, what: str, wanted: Sequence[str]) -> None:
    """--tokenizers or --corpora; by default those of the wanted ones that are available, or else all."""
    option, files = {"tokenizer": ("--tokenizers", tokenizer_files()), "corpus": ("--corpora", corpus_files())}[what]
    default = [name for name in wanted if name in files] or list(files)
    kind = known(what, files, lambda name: Path(name).is_file())
    made.add_argument(option, type=kind, default=default, help=f"of {', '.join(files)}, or paths")


def add_engines(made: argparse.ArgumentParser, engines: Sequence[str]) -> None:
    """--engines, with this default."""
    kind = known("engine", ENGINES, lambda name: ":" in name)
    made.add_argument("--engines", type=kind, default=list(engines), help=f"of {', '.join(ENGINES)}, or module:Class")


def parse(made: argparse.ArgumentParser, quick: dict[str, Any]) -> argparse.Namespace:
    """The arguments. With --quick, the defaults are those of `quick`; options that are given take precedence."""
    if "--quick" in sys.argv[1:]:
        made.set_defaults(**{"repeat": 1, **quick})
    return made.parse_args()


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
        return self.processes.store_tokenizer(tokenizer_json(self.given.tokenizer))

    @functools.cached_property
    def text(self) -> str:
        """The whole corpus of --corpus."""
        return whole_text(self.given.corpus)[0]

    @functools.cached_property
    def cpus(self) -> list[int]:
        """As many as --threads says, from --cpu on."""
        return choose_cpus(self.given.threads, self.given.cpu)

    def race(self, groups: Mapping[str, Sequence[Any]]) -> Race:
        """Passes by name, each of prompts or batches."""
        passes = {name: self.processes.store_prompts(prompts) for name, prompts in groups.items()}
        return Race(self.processes, self.tokenizer, passes, self.cpus)

    def races(self, groups: Mapping[int, Sequence[str]], key: str) -> list[Result]:
        """`seconds` of all engines on each group of prompts, whose number is in the case under `key`.

        A race for each group: longer texts contain the shorter ones, and would find them in caches.
        """
        results: list[Result] = []
        for number, texts in groups.items():
            race = self.race({"seconds": texts})
            results += with_case(race.run(self.given.engines, self.given.repeat), key, number)
        return results

    def show(self, *tables: Table) -> None:
        """Prints tables as soon as they are there."""
        for table in tables:
            print(table.markdown() if self.given.markdown else table.text(), end="\n\n", flush=True)

    def add(self, *tables: Table) -> None:
        """Tables of the report, printed as soon as they are there."""
        self.report.tables += tables
        self.show(*tables)
        self.shown = len(self.report.tables)


def run(
    given: argparse.Namespace, name: str, title: str, about: str, measure: Callable[[Bench], Sequence[Result]]
) -> int:
    """Measures, prints the tables and writes the JSON file; returns the exit status.

    name   of the benchmark, in the JSON file
    about  for the report: a format string over the options
    """
    print(f"{machine_line()}\n", flush=True)
    with FreshProcesses(getattr(given, "timeout", 600.0)) as processes:
        bench = Bench(given, Report(title, about.format(**vars(given))), processes)
        results = measure(bench)
    bench.show(*bench.report.tables[bench.shown :])
    write_json(given.json, name, vars(given), list(results), bench.report)
    return 1 if errors(results) else 0


def names(value: str) -> list[str]:
    """Names with commas, each once."""
    return list(dict.fromkeys(name for name in value.split(",") if name))


def numbers(value: str) -> list[int]:
    """Whole numbers with commas."""
    return [int(one) for one in value.split(",")]
