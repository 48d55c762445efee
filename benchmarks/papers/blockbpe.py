"""Batches of short texts, in the form of BlockBPE's figure 3: MB/s by the number of texts and by their length.

python benchmarks/papers/blockbpe.py --tokenizer gpt2 --batches 1,16,256 --chars 512,4096
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import batches_of, known_tokenizer, mean_megabytes
from benchmarks.common.result import Result, remarks, with_case
from benchmarks.common.script import Bench, add_inputs, numbers, parse, parser, run

# To lists; the last three end in arrays, and are compared with each other.
ARRAYS = ("gigatoken_array", "lopt_array", "lopt_gpu")
ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "lopt", *ARRAYS)
ABOUT = """\
A call with a batch of texts, {threads} threads, {tokenizer}, texts from all over {corpus}, none twice. Engines
named `_array` end in a NumPy array, the others in lists. BlockBPE and the like drop the split pattern and give
other ids: they would have no number here. `lopt_gpu` is measured where there is a GPU."""


def measure(bench: Bench) -> list[Result]:
    """MB/s by the number of texts, for each of their lengths."""
    given = bench.given
    results: list[Result] = []
    for wanted in given.chars:
        groups, chars = batches_of(bench.text, given.batches, wanted)
        found = bench.race({str(count): group for count, group in groups.items()}).run(given.engines, given.repeat)
        sizes = {count: mean_megabytes(group) for count, group in groups.items()}
        speeds = {
            name: {count: sizes[count] / taken for count, taken in result.medians(sizes).items()}
            for name, result in found.items()
        }
        title = f"Texts of {chars:,} characters"
        bench.report.add_lines(
            speeds,
            {count: str(count) for count in groups},
            f"{title}, MB/s",
            "texts in a call",
            "MB/s",
            (f"blockbpe_{chars}", f"{title}, {given.tokenizer}, {given.threads} threads"),
            log="x",
            remarks=remarks(found.values()),
        )
        for ours, kind in (("lopt", "lists"), ("lopt_array", "arrays")):
            rivals = {name: by for name, by in speeds.items() if (name in ARRAYS) == (kind == "arrays")}
            bench.report.add_losses(rivals, f"{{}} texts of {chars:,} characters to {kind}", ours)
        results += with_case(found, "chars", chars)
    return results


def main() -> int:
    made = parser(__doc__, repeat=2)
    add_inputs(made, known_tokenizer("gpt2"), "leval_en", ENGINES)
    made.add_argument("--batches", type=numbers, default=[1, 4, 16, 64, 256, 1024], help="texts in a call")
    made.add_argument("--chars", type=numbers, default=[512, 4096], help="characters of a text")
    quick = {"tokenizer": "tiny_cl100k", "corpus": "books_en", "engines": ["hf", "lopt", "lopt_array", "lopt_gpu"]}
    given = parse(made, {**quick, "batches": [1, 8], "chars": [200]})
    return run(given, "blockbpe", "BlockBPE: batches", ABOUT, measure)


if __name__ == "__main__":
    sys.exit(main())
