"""Slices of a text by their length, in the form of the README of GitHub's bpe: microseconds until the ids are there.

    python benchmarks/github_bpe.py --tokenizer gpt_oss --lengths 10,100,1000,10000

github_bpe is that crate, through the Python package bpe-openai, which has OpenAI's vocabularies only. Its worst case,
texts without a boundary, is measured by worst_case.py.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import asdict

from corpora import whole_text
from measuring import Race, remarks
from report import Plot, Report, Table, number, others_win
from script import end, errors, known_corpus, known_tokenizer, names, numbers, parse, parser
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line

ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "github_bpe", "lopt")
MOST_SLICES = 1000
MOST_CHARS = 2_000_000
ABOUT = """\
Slices of {corpus} at random places, {tokenizer}, one thread, microseconds to a `list[int]`: the median of
{slices} slices, fewer of the long ones. Each call is timed by itself, so a call's own cost is in it.
`github_bpe` is the Python package bpe-openai over GitHub's crate."""


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    text = whole_text(given.corpus)[0]
    lengths = [length for length in given.lengths if length <= len(text)]
    rng = random.Random(0)
    with FreshProcesses(given.timeout) as processes:
        passes = {}
        for length in lengths:
            count = max(1, min(given.slices, MOST_CHARS // length))
            starts = [rng.randint(0, len(text) - length) for _ in range(count)]
            passes[str(length)] = processes.store_prompts([text[start : start + length] for start in starts])
        tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        race = Race(processes, tokenizer, passes, choose_cpus(given.threads, given.cpu))
        found = race.run(given.engines, given.repeat)
    medians = {
        name: {n: 1e6 * s for n in lengths if (s := figures.median(str(n))) is not None}
        for name, figures in found.items()
    }
    rows = [[name, *(number(own.get(n)) for n in lengths)] for name, own in medians.items()]
    report = Report("GitHub's bpe: slices of a text", ABOUT.format(**vars(given)))
    columns = ["characters", *(f"{n:,}" for n in lengths)]
    report.tables.append(Table(columns, rows, "A slice, microseconds", remarks=remarks(found)))
    report.plots.append(
        Plot(
            "github_bpe",
            f"Slices of a text, {given.tokenizer}, one thread",
            "characters",
            "microseconds",
            {name: list(own.items()) for name, own in medians.items()},
            log_x=True,
            log_y=True,
        )
    )
    places = {f"a slice of {n:,} characters": {e: own[n] for e, own in medians.items() if n in own} for n in lengths}
    report.others_win += others_win(places, smaller_is_better=True)
    return end(given, "github_bpe", list(map(asdict, found.values())), report, errors(list(found.values())))


def _arguments() -> argparse.Namespace:
    made = parser(__doc__, repeat=3, threads=1)
    default = known_tokenizer("gpt_oss", "gpt4o")
    made.add_argument("--tokenizer", default=default, help="name or path (default %(default)s)")
    made.add_argument("--corpus", default=known_corpus("leval_en"), help="name or path (default %(default)s)")
    made.add_argument("--engines", type=names, default=list(ENGINES), help="known names, or module:Class")
    made.add_argument("--lengths", type=numbers, default=[10, 100, 1_000, 10_000, 100_000], help="characters")
    made.add_argument("--slices", type=int, default=MOST_SLICES, help="at most, of a length (default %(default)s)")
    quick = {"tokenizer": "tiny_o200k", "corpus": "books_en", "engines": ["hf", "lopt"]}
    return parse(made, {**quick, "lengths": [10, 300], "slices": 20})


if __name__ == "__main__":
    sys.exit(main())
