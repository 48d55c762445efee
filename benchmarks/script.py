"""What the scripts have in common: options, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from corpora import corpus_files
from report import Report, show, write_json
from tokenizer_files import tokenizer_files

from lopt_plugin.settings import available_cpus


def parser(about: str | None, repeat: int, threads: int | None = None) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have; `threads` None: all CPUs of this process."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--repeat", type=int, default=repeat, help="processes for each number (default %(default)s)")
    made.add_argument(
        "--threads",
        type=int,
        default=available_cpus() if threads is None else threads,
        help="threads and CPUs of an engine (default %(default)s)",
    )
    made.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    made.add_argument("--timeout", type=float, default=300.0, help="seconds for one process (default %(default)g)")
    add_output(made)
    return made


def add_output(made: argparse.ArgumentParser) -> None:
    """--quick, --markdown and --json."""
    made.add_argument("--quick", action="store_true", help="small texts and a small tokenizer: does it run?")
    made.add_argument("--markdown", action="store_true", help="print Markdown tables")
    made.add_argument("--json", metavar="FILE", help="write every figure")


def parse(made: argparse.ArgumentParser, quick: dict[str, Any]) -> argparse.Namespace:
    """The arguments; with --quick, `quick` has the defaults. Options that are given go before both."""
    if "--quick" in sys.argv[1:]:
        made.set_defaults(**{"repeat": 1, **quick})
    return made.parse_args()


def names(value: str) -> list[str]:
    """Names with commas, each once."""
    return list(dict.fromkeys(name for name in value.split(",") if name))


def numbers(value: str) -> list[int]:
    """Whole numbers with commas."""
    return [int(one) for one in value.split(",")]


def known_tokenizer(*wanted: str) -> str:
    """The first of these that is there; Qwen3's, which the repository holds, if none is."""
    return next((name for name in wanted if name in tokenizer_files()), "qwen3")


def known_corpus(*wanted: str) -> str:
    """The first of these that is there; the books, of which the repository holds some, if none is."""
    return next((name for name in wanted if name in corpus_files()), "books_en")


def end(given: argparse.Namespace, benchmark: str, results: Any, report: Report, failed: bool) -> int:
    """Prints the tables, writes the JSON file; the exit status."""
    for table in report.tables:
        show(table, given.markdown)
    write_json(given.json, benchmark, vars(given), results, report)
    return 1 if failed else 0


def errors(found: Sequence[Any]) -> bool:
    """Whether any of the figures or rows is an error."""
    return any(one.is_error for one in found)
