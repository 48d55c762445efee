"""Counting the ids of batches, MB/s, against toktok, which counts and never builds ids.

python benchmarks/speed/counting.py --tokenizer gpt_oss --corpora leval_en,zh --batches 1,16,256
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_tokenizer, whole_text
from benchmarks.common.report import Table, number
from benchmarks.common.result import Result, remarks, with_case
from benchmarks.common.script import Bench, Options, run

ENGINES = ("hf", "lopt_count", "toktok")
ABOUT = """\
The numbers of ids of a batch of texts of {chars} characters, {threads} threads, {tokenizer}, none twice, MB/s.
`hf` makes the ids; the others do not. Every batch's sum was compared with that of `hf`."""


def measure(bench: Bench) -> list[Result]:
    """MB/s by corpus and by the number of texts in a call."""
    given = bench.given
    results: list[Result] = []
    for corpus in given.corpora:
        found, speeds, _ = bench.batch_speeds(whole_text(corpus)[0], given.chars)
        rows = [[name, *(number(by.get(count)) for count in given.batches)] for name, by in speeds.items()]
        columns = ["texts in a call", *map(str, given.batches)]
        bench.add(Table(columns, rows, f"{corpus}, MB/s", remarks=remarks(found.values())))
        bench.report.add_losses(speeds, f"{corpus}, {{}} texts", "lopt_count")
        results += with_case(found, "corpus", corpus)
    return results


if __name__ == "__main__":
    made = Options(__doc__, repeat=2)
    made.add("--tokenizer", known_tokenizer("gpt_oss", "gpt4o"), "name or path", "tiny_o200k")
    made.add_several("corpora", ("leval_en", "math", "zh", "multi"), ["books_en"])
    made.add_engines(ENGINES, ["hf", "lopt_count"])
    made.add("--batches", [1, 16, 256], "texts in a call", [1, 8])
    made.add("--chars", 4096, "characters of a text", 200)
    sys.exit(run(made.read(), "counting", "Counting the ids of batches", ABOUT, measure))
