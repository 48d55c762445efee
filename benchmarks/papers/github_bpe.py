"""Slices of a text by their length, in the form of the README of GitHub's bpe: microseconds until the ids are there.

    python benchmarks/papers/github_bpe.py --tokenizer gpt_oss --lengths 10,100,1000,10000

github_bpe is that crate, through the Python package bpe-openai, which has OpenAI's vocabularies only. Its worst case,
texts without a boundary, is measured by speed/worst_case.py.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_tokenizer
from benchmarks.common.result import Result, remarks
from benchmarks.common.script import Bench, Options, run

ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "github_bpe", "lopt")
MOST_CHARS = 2_000_000
ABOUT = """\
Slices of {corpus} at random places, {tokenizer}, one thread, microseconds to a `list[int]`: the median of
{slices} slices, fewer of the long ones. Each call is timed by itself, so the cost of a call is included.
`github_bpe` is the Python package bpe-openai over GitHub's crate."""


def measure(bench: Bench) -> list[Result]:
    """Microseconds of a slice by its length."""
    given, text = bench.given, bench.text
    lengths = [length for length in given.lengths if length <= len(text)]
    rng = random.Random(0)
    slices = {}
    for length in lengths:
        count = max(1, min(given.slices, MOST_CHARS // length))
        starts = [rng.randint(0, len(text) - length) for _ in range(count)]
        slices[str(length)] = [text[start : start + length] for start in starts]
    found = bench.race(slices).run(given.engines, given.repeat)
    bench.report.add_lines(
        {name: {n: 1e6 * taken for n, taken in result.medians(lengths).items()} for name, result in found.items()},
        lengths,
        "A slice, microseconds",
        "characters",
        "microseconds",
        ("github_bpe", f"Slices of a text, {given.tokenizer}, one thread"),
        place="a slice of {:,} characters",
        remarks=remarks(found.values()),
    )
    return list(found.values())


if __name__ == "__main__":
    made = Options(__doc__, repeat=3, threads=1)
    tokenizer = known_tokenizer("gpt_oss", "gpt4o")
    made.add_inputs(tokenizer, "leval_en", ENGINES, "tiny_o200k", "books_en", ["hf", "lopt"])
    made.add("--lengths", [10, 100, 1_000, 10_000, 100_000], "characters", [10, 300])
    made.add("--slices", 1000, "at most, of a length", 20)
    sys.exit(run(made.read(), "github_bpe", "GitHub's bpe: slices of a text", ABOUT, measure))
