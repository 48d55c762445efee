r"""Texts that some tokenizers take quadratic time for: long runs without a boundary. Milliseconds, and how they grow.

    python benchmarks/speed/worst_case.py --tokenizer qwen3 --engines lopt,fastokens,gigatoken

The HF tokenizer may take minutes for a text: where it takes longer than --timeout, nothing is compared and no number is
shown. An engine that fails at a size is not asked for greater ones.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.report import Table, number
from benchmarks.common.result import REFERENCE, Result, medians_by
from benchmarks.common.script import Bench, Options, known, run

ABOUT = """\
One text in a fresh process, {threads} thread(s), {tokenizer}, milliseconds to a `list[int]`; then the ratio of each
size to the one before: 2 is linear, 4 quadratic. `github_bpe` is GitHub's crate, which promises linear time here."""
SEED = 1
# Texts of so many bytes; that of CJK of at most two fewer.
CASES: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "random letters": lambda size: "".join(random.Random(SEED).choices(string.ascii_lowercase, k=size)),
    "digits": lambda size: "".join(random.Random(SEED).choices(string.digits, k=size)),
    # The letter at the end is what `\s+(?!\S)` steps back from.
    "spaces": lambda size: " " * (size - 1) + "a",
    "CJK": lambda size: "".join(map(chr, random.Random(SEED).choices(range(0x4E00, 0x9FA6), k=size // 3))),
}


def measure(bench: Bench) -> list[Result]:
    """`seconds` of each engine on each text and size."""
    given = bench.given
    engines = [REFERENCE, *given.engines]
    results: dict[tuple[str, str, float], Result] = {}
    for case in given.cases:
        able = list(given.engines)
        for size in given.sizes:
            try:
                race = bench.race({"seconds": [CASES[case](round(size * 1e6))]})
            except RuntimeError as error:
                found = {engine: Result(engine, problem=f"not compared: {error}") for engine in able}
            else:
                found = race.run([REFERENCE, *able], given.repeat)
            for engine, result in found.items():
                result.case = {"text": case, "megabytes": size}
                results[case, engine, size] = result
            able = [engine for engine in able if not found[engine].problem]
    rows = []
    for case in given.cases:
        for engine in engines:
            of_sizes = [results.get((case, engine, size), Result(engine)) for size in given.sizes]
            seconds = [result.median("seconds") for result in of_sizes]
            growth = ["-" if None in pair else f"{pair[1] / pair[0]:.1f}" for pair in pairwise(seconds)]
            shown = [number(None if one is None else 1e3 * one) for one in seconds]
            rows.append([case, engine, *shown, *growth, "".join(result.problem for result in of_sizes)])
    growth = [f"{after:g}/{before:g}" for before, after in pairwise(given.sizes)]
    columns = ["text", "engine", *(f"{size:g} MB" for size in given.sizes), *growth, "problem"]
    bench.report.tables.append(Table(columns, rows, f"{given.tokenizer}, ms", text_columns=2))
    for size in given.sizes:
        of_size = [result for (_, _, megabytes), result in results.items() if megabytes == size]
        bench.report.add_losses(medians_by(of_size, "text"), f"{{}}, {size:g} MB", smaller_is_better=True)
    return list(results.values())


if __name__ == "__main__":
    made = Options(__doc__, repeat=3, threads=1)
    made.add("--tokenizer", "qwen3", "name or path", "tiny_o200k")
    made.add_engines(["lopt", "fastokens", "gigatoken"], ["lopt"])
    made.add("--cases", list(CASES), "texts", ["one letter", "CJK"], known("case", CASES))
    made.add("--sizes", [0.5, 1.0, 2.0], "in MB", [0.001, 0.002])
    sys.exit(run(made.read(), "worst_case", "Long runs without a boundary", ABOUT, measure))
