"""LoPT's figures: one long text by length, by chunk length and by workers, and batches of texts, beside the peers.

    python benchmarks/papers/lopt_figures.py --tokenizer qwen3 --corpus leval_en --figures length,chunk

length   milliseconds until the ids of an unseen text are there
chunk    the same for the second longest text, by the length of a chunk
batch    MB/s of a call with several texts, by their number
workers  MB/s of the second longest text, by threads

A row whose ids are not those of the HF tokenizer has no number; lopt_table.py has the accuracy of LoPT as published.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import batches_of, known_tokenizer, mean_megabytes
from benchmarks.common.report import number, scaled, with_commas
from benchmarks.common.result import REFERENCE, Result, batch_speeds, medians_by, remarks, with_case
from benchmarks.common.script import Bench, add_inputs, known, numbers, parse, parser, run
from lopt_plugin.cli.benchmarking.fresh_process import choose_cpus
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.settings import available_cpus

ENGINES = ("hf", "lopt_hf_chunks", "lopt", "fastokens", "gigatoken", "tiktoken")
ABOUT = """\
One text at a time to a `list[int]`, {threads} threads, {tokenizer}, {corpus}. `lopt_hf_chunks` divides a text as LoPT
does, but losslessly, over the HF tokenizer's threads; `lopt` is the native route. No text comes twice, and each process
has encoded a short one before; HF is timed once, the others {repeat} times, in turns."""


def _lengths(bench: Bench) -> list[int]:
    return [length for length in bench.given.lengths if length <= len(bench.text)] or [len(bench.text)]


def _texts(bench: Bench, length: int) -> list[str]:
    """Different texts of that length."""
    return spread(bench.text, max(1, min(bench.given.texts, len(bench.text) // length)), length)


def _main_texts(bench: Bench) -> list[str]:
    """Those of the second longest length, or of the only one."""
    return _texts(bench, sorted(_lengths(bench))[-2:][0])


def by_length(bench: Bench) -> list[Result]:
    """The length of the text."""
    given, lengths = bench.given, _lengths(bench)
    results = bench.races({length: _texts(bench, length) for length in lengths}, "length")
    bench.report.add_lines(
        {name: scaled(by, 1e3) for name, by in medians_by(results, "length").items()},
        with_commas(lengths),
        "By the length of the text, ms",
        "characters",
        "ms",
        (f"lopt_length_{given.tokenizer}", f"One unseen text, {given.tokenizer}, {given.threads} threads"),
        place="a text of {:,} characters",
        remarks=remarks(results),
    )
    return results


def by_chunk(bench: Bench) -> list[Result]:
    """The length of a chunk, in characters; 0 leaves it to the route."""
    given, texts = bench.given, _main_texts(bench)
    ours = [name for name in given.engines if name.startswith("lopt")]
    race = bench.race({"seconds": texts})
    results: list[Result] = []
    for chunk in given.chunks:
        environment = {"LOPT_CHUNK_CHARS": str(chunk), "LOPT_PARALLEL_MIN_CHARS": "1"}
        results += with_case(race.run(ours, given.repeat, environment=environment), "chunk", chunk)
    bench.report.add_lines(
        {name: scaled(by, 1e3) for name, by in medians_by(results, "chunk").items()},
        {chunk: f"{chunk:,}" if chunk else "own choice" for chunk in given.chunks},
        f"By the length of a chunk, ms, texts of {len(texts[0]):,} characters",
        "characters a chunk",
        "ms",
        (f"lopt_chunk_{given.tokenizer}", f"{len(texts[0]):,} characters, {given.tokenizer}, {given.threads} threads"),
        remarks=remarks(results),
    )
    return results


def by_batch(bench: Bench) -> list[Result]:
    """The number of texts in one call."""
    given = bench.given
    groups, chars = batches_of(bench.text, given.batches, given.batch_chars)
    found = bench.race({str(count): group for count, group in groups.items()}).run(given.engines, given.repeat)
    title = f"Texts of {chars:,} characters, {given.tokenizer}, {given.threads} threads"
    bench.report.add_lines(
        batch_speeds(found, groups),
        {count: str(count) for count in groups},
        f"By the number of texts of {chars:,} characters in one call, MB/s",
        "texts in a call",
        "MB/s",
        (f"lopt_batch_{given.tokenizer}", title),
        log="x",
        place="{} texts in one call",
        remarks=remarks(found.values()),
    )
    return list(found.values())


def by_workers(bench: Bench) -> list[Result]:
    """The number of threads."""
    given, texts = bench.given, _main_texts(bench)
    race = bench.race({"seconds": texts})
    engines = [name for name in given.engines if name != REFERENCE]
    results: list[Result] = []
    for workers in given.workers:
        results += with_case(race.run(engines, given.repeat, choose_cpus(workers, given.cpu)), "workers", workers)
    size = mean_megabytes([[text] for text in texts])
    hf = race.reference.seconds[1]
    bench.report.add_lines(
        {
            name: {workers: size / taken for workers, taken in by.items()}
            for name, by in medians_by(results, "workers").items()
        },
        {workers: str(workers) for workers in given.workers},
        f"By threads, MB/s, texts of {len(texts[0]):,} characters (HF, one thread: {number(size * len(hf) / sum(hf))})",
        "threads",
        "MB/s",
        (f"lopt_workers_{given.tokenizer}", f"{len(texts[0]):,} characters, {given.tokenizer}"),
        log="",
        place="{} threads",
        remarks=remarks(results),
    )
    return results


FIGURES: dict[str, Callable[[Bench], list[Result]]] = {
    "length": by_length,
    "chunk": by_chunk,
    "batch": by_batch,
    "workers": by_workers,
}


def measure(bench: Bench) -> list[Result]:
    """All figures that are asked for."""
    results = []
    for name in bench.given.figures:
        results += with_case(dict(enumerate(FIGURES[name](bench))), "figure", name)
    return results


def main() -> int:
    made = parser(__doc__, repeat=2)
    add_inputs(made, known_tokenizer("qwen3"), "leval_en", ENGINES)
    made.add_argument("--figures", type=known("figure", FIGURES), default=list(FIGURES))
    made.add_argument("--lengths", type=numbers, default=[10_000, 100_000, 1_000_000, 4_000_000], help="characters")
    made.add_argument("--texts", type=int, default=5, help="of each length (default %(default)s)")
    made.add_argument("--chunks", type=numbers, default=[4_000, 16_000, 64_000, 256_000, 0], help="characters")
    made.add_argument("--batches", type=numbers, default=[1, 8, 64, 512], help="texts in a call")
    made.add_argument("--batch-chars", type=int, default=4_000, help="characters of such a text (default %(default)s)")
    counts = sorted({*(2**k for k in range(8) if 2**k < available_cpus()), available_cpus()})
    made.add_argument("--workers", type=numbers, default=counts, help="numbers of threads (default: up to all CPUs)")
    quick = {
        **{"tokenizer": "tiny_cl100k", "corpus": "books_en", "engines": ["hf", "lopt", "lopt_hf_chunks"]},
        **{"lengths": [1_000, 20_000], "texts": 2, "chunks": [1_000, 0], "batches": [1, 4], "batch_chars": 500},
    }
    given = parse(made, quick)
    return run(given, "lopt_figures", "LoPT: length, chunk length, batch and workers", ABOUT, measure)


if __name__ == "__main__":
    sys.exit(main())
