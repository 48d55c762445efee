"""Batches of short texts, in the form of BlockBPE's figure 3: MB/s by the number of texts and by their length.

    python benchmarks/blockbpe.py --tokenizer gpt2 --batches 1,16,256 --chars 512,4096

The CPU engines are always measured; lopt_gpu is where there is a GPU. BlockBPE itself gives other ids than the
tokenizer (it has no split pattern), so it could have no number here.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from corpora import batches_of, mean_megabytes, whole_text
from measuring import Race, remarks
from report import Plot, Report, Table, number, others_win
from script import end, errors, known_corpus, known_tokenizer, names, numbers, parse, parser
from tokenizer_files import tokenizer_json

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line

# To lists; the last two end in arrays, and are compared with each other.
ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "lopt", "gigatoken_array", "lopt_array", "lopt_gpu")
ARRAYS = ("gigatoken_array", "lopt_array", "lopt_gpu")
ABOUT = """\
A call with a batch of texts, {threads} threads, {tokenizer}, texts from all over {corpus}, none twice. Engines
named `_array` end in a NumPy array, the others in lists. BlockBPE and the like drop the split pattern and give
other ids: they could have no number here. `lopt_gpu` is measured where there is a GPU."""


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    report = Report("BlockBPE: batches", ABOUT.format(**vars(given)))
    text = whole_text(given.corpus)[0]
    results, failed = [], False
    with FreshProcesses(given.timeout) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        for wanted in given.chars:
            groups, chars = batches_of(text, given.batches, wanted)
            passes = {str(count): processes.store_prompts(group) for count, group in groups.items()}
            sizes = {count: mean_megabytes(group) for count, group in groups.items()}
            race = Race(processes, tokenizer, passes, choose_cpus(given.threads, given.cpu))
            found = race.run(given.engines, given.repeat)
            speeds = {
                name: {n: size / s for n, size in sizes.items() if (s := figures.median(str(n))) is not None}
                for name, figures in found.items()
            }
            rows = [[name, *(number(by.get(n)) for n in sizes)] for name, by in speeds.items()]
            title = f"Texts of {chars:,} characters, MB/s"
            report.tables.append(Table(["texts in a call", *map(str, sizes)], rows, title, remarks=remarks(found)))
            report.plots.append(
                Plot(
                    f"blockbpe_{chars}",
                    f"Texts of {chars:,} characters, {given.tokenizer}, {given.threads} threads",
                    "texts in a call",
                    "MB/s",
                    {name: list(by.items()) for name, by in speeds.items()},
                    log_x=True,
                )
            )
            for ours, kind in (("lopt", "lists"), ("lopt_array", "arrays")):
                rivals = {e: by for e, by in speeds.items() if (e in ARRAYS) == (kind == "arrays")}
                places = {
                    f"{n} texts of {chars:,} characters to {kind}": {e: by[n] for e, by in rivals.items() if n in by}
                    for n in sizes
                }
                report.others_win += others_win(places, ours)
            results += [{"chars": chars, **asdict(figures)} for figures in found.values()]
            failed |= errors(list(found.values()))
    return end(given, "blockbpe", results, report, failed)


def _arguments() -> argparse.Namespace:
    made = parser(__doc__, repeat=2)
    made.add_argument("--tokenizer", default=known_tokenizer("gpt2"), help="name or path (default %(default)s)")
    made.add_argument("--corpus", default=known_corpus("leval_en"), help="name or path (default %(default)s)")
    made.add_argument("--engines", type=names, default=list(ENGINES), help="known names, or module:Class")
    made.add_argument("--batches", type=numbers, default=[1, 4, 16, 64, 256, 1024], help="texts in a call")
    made.add_argument("--chars", type=numbers, default=[512, 4096], help="characters of a text")
    quick = {
        "tokenizer": "tiny_cl100k",
        "corpus": "books_en",
        "engines": ["hf", "lopt", "lopt_array", "lopt_gpu"],
        "batches": [1, 8],
        "chars": [200],
    }
    return parse(made, quick)


if __name__ == "__main__":
    sys.exit(main())
