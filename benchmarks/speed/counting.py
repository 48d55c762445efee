"""Counting the ids of batches, MB/s, against toktok, which counts and never builds ids.

python benchmarks/speed/counting.py --tokenizer gpt_oss --corpora leval_en,zh --batches 1,16,256
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import batches_of, known_tokenizer, mean_megabytes, whole_text
from benchmarks.common.report import Table, number
from benchmarks.common.result import Result, remarks, with_case
from benchmarks.common.script import Bench, add_engines, add_several, numbers, parse, parser, run

ENGINES = ("hf", "lopt_count", "toktok")
ABOUT = """\
The numbers of ids of a batch of texts of {chars} characters, {threads} threads, {tokenizer}, none twice, MB/s.
`hf` makes the ids; the others do not. Every batch's sum was compared with that of `hf`."""


def measure(bench: Bench) -> list[Result]:
    """MB/s by corpus and by the number of texts in a call."""
    given = bench.given
    results: list[Result] = []
    columns = [str(count) for count in given.batches]
    for corpus in given.corpora:
        groups, _ = batches_of(whole_text(corpus)[0], given.batches, given.chars)
        found = bench.race({str(count): group for count, group in groups.items()}).run(given.engines, given.repeat)
        sizes = {str(count): mean_megabytes(group) for count, group in groups.items()}
        speeds = {
            name: {count: sizes[count] / taken for count, taken in result.medians(columns).items()}
            for name, result in found.items()
        }
        rows = [[name, *(number(by.get(count)) for count in columns)] for name, by in speeds.items()]
        bench.add(Table(["texts in a call", *columns], rows, f"{corpus}, MB/s", remarks=remarks(found.values())))
        bench.report.add_losses(speeds, f"{corpus}, {{}} texts", "lopt_count")
        results += with_case(found, "corpus", corpus)
    return results


def main() -> int:
    made = parser(__doc__, repeat=2)
    made.add_argument("--tokenizer", default=known_tokenizer("gpt_oss", "gpt4o"), help="name or path")
    add_several(made, "corpus", ("leval_en", "math", "zh", "multi"))
    add_engines(made, ENGINES)
    made.add_argument("--batches", type=numbers, default=[1, 16, 256], help="texts in a call")
    made.add_argument("--chars", type=int, default=4096, help="characters of a text (default %(default)s)")
    quick = {"tokenizer": "tiny_o200k", "corpora": ["books_en"], "engines": ["hf", "lopt_count"]}
    given = parse(made, {**quick, "batches": [1, 8], "chars": 200})
    return run(given, "counting", "Counting the ids of batches", ABOUT, measure)


if __name__ == "__main__":
    sys.exit(main())
