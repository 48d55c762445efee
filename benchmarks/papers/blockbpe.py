"""Batches of short texts, in the form of BlockBPE's figure 3: MB/s by the number of texts and by their length.

python benchmarks/papers/blockbpe.py --tokenizer gpt2 --batches 1,16,256 --chars 512,4096
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_tokenizer
from benchmarks.common.result import Result, remarks, with_case
from benchmarks.common.script import Bench, Options, run

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
        found, speeds, chars = bench.batch_speeds(bench.text, wanted)
        title = f"Texts of {chars:,} characters"
        bench.report.add_lines(
            speeds,
            {count: str(count) for count in given.batches},
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


if __name__ == "__main__":
    made = Options(__doc__, repeat=2)
    small = ["hf", "lopt", "lopt_array", "lopt_gpu"]
    made.add_inputs(known_tokenizer("gpt2"), "leval_en", ENGINES, "tiny_cl100k", "books_en", small)
    made.add("--batches", [1, 4, 16, 64, 256, 1024], "texts in a call", [1, 8])
    made.add("--chars", [512, 4096], "characters of a text", [200])
    sys.exit(run(made.read(), "blockbpe", "BlockBPE: batches", ABOUT, measure))
