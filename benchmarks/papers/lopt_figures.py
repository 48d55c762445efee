"""LoPT's figures: one long text by length and by chunk length, beside the peers.

    python benchmarks/papers/lopt_figures.py --tokenizer qwen3 --corpus leval_en

length  milliseconds until the ids of an unseen text are there
chunk   the same for the second longest text, by the length of a chunk

blockbpe.py has batches, speed/threads.py numbers of threads, lopt_table.py the accuracy of LoPT as published. A row
whose ids are not those of the HF tokenizer has no number.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_tokenizer
from benchmarks.common.result import Result, medians_by, remarks, with_case
from benchmarks.common.script import Bench, Options, run

ENGINES = ("hf", "lopt_hf_chunks", "lopt", "fastokens", "gigatoken", "tiktoken")
ABOUT = """\
One text at a time to a `list[int]`, {threads} threads, {tokenizer}, {corpus}. `lopt_hf_chunks` divides a text as LoPT
does, but losslessly, over the HF tokenizer's threads; `lopt` is the native route. No text comes twice, and each process
has encoded a short one before; HF is timed once, the others {repeat} times, in turns."""


def _lengths(bench: Bench) -> list[int]:
    return [length for length in bench.given.lengths if length <= len(bench.text)] or [len(bench.text)]


def by_length(bench: Bench) -> list[Result]:
    """The length of the text."""
    groups, plot = {length: bench.texts(length) for length in _lengths(bench)}, f"lopt_length_{bench.given.tokenizer}"
    return bench.unseen(groups, "length", "characters", "By the length of the text, ms", plot)


def by_chunk(bench: Bench) -> list[Result]:
    """The length of a chunk, in characters; 0 leaves it to the route. Texts of the second longest length."""
    given, texts = bench.given, bench.texts(sorted(_lengths(bench))[-2:][0])
    ours = [name for name in given.engines if name.startswith("lopt")]
    race = bench.race({"seconds": texts})
    results: list[Result] = []
    for chunk in given.chunks:
        environment = {"LOPT_CHUNK_CHARS": str(chunk), "LOPT_PARALLEL_MIN_CHARS": "1"}
        results += with_case(race.run(ours, given.repeat, environment=environment), "chunk", chunk)
    bench.report.add_lines(
        medians_by(results, "chunk", factor=1e3),
        {chunk: f"{chunk:,}" if chunk else "own choice" for chunk in given.chunks},
        f"By the length of a chunk, ms, texts of {len(texts[0]):,} characters",
        "characters a chunk",
        "ms",
        (f"lopt_chunk_{given.tokenizer}", f"{len(texts[0]):,} characters, {given.tokenizer}, {given.threads} threads"),
        remarks=remarks(results),
    )
    return results


def measure(bench: Bench) -> list[Result]:
    """Both figures."""
    results: list[Result] = []
    for name, figure in (("length", by_length), ("chunk", by_chunk)):
        results += with_case(dict(enumerate(figure(bench))), "figure", name)
    return results


if __name__ == "__main__":
    made = Options(__doc__, repeat=2)
    small = ["hf", "lopt", "lopt_hf_chunks"]
    made.add_inputs(known_tokenizer("qwen3"), "leval_en", ENGINES, "tiny_cl100k", "books_en", small)
    made.add("--lengths", [10_000, 100_000, 1_000_000, 4_000_000], "characters", [1_000, 20_000])
    made.add("--texts", 5, "of each length", 2)
    made.add("--chunks", [4_000, 16_000, 64_000, 256_000, 0], "characters", [1_000, 0])
    sys.exit(run(made.read(), "lopt_figures", "LoPT: length and chunk length", ABOUT, measure))
