"""Texts that grow, counts and intervals: the benchmarks of GitHub's `bpe`, and its worst case, beside tiktoken.

    python benchmarks/papers/growing.py --tokenizer gpt4o --corpus leval_en --megabytes 4

Ids and counts are compared with those of the text, or the part, by itself before any number is shown; tiktoken is left
out where its ids differ.
"""

from __future__ import annotations

import functools
import random
import statistics
import string
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_corpus, tokenizer_json, whole_text
from benchmarks.common.engines import LoptStore, engine_class
from benchmarks.common.report import Table
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.engine import Engine, Hf

LENGTHS = (100, 1_000, 10_000, 100_000, 1_000_000)
APPENDED = 256
SAMPLE_CHARS = 20_000
ABOUT = """
Counting, stopping after 1,000 ids, appending, and counts of any interval of a text that was read once, in microseconds
(medians, one process and thread), as in the README of GitHub's `bpe`; tiktoken encodes the same text from its
beginning. Counts and ids were compared with those of the text by itself. The worst case is random lower-case letters, a
text without boundaries."""
# From the README and the announcement of `bpe`: on random texts, against tiktoken, and on a worst case.
PUBLISHED = (
    "published of `bpe`: encoding about 4 times as fast as tiktoken, counts of intervals in about constant time, "
    "appending slower than encoding at once by a constant factor, tiktoken quadratic in the worst case"
)


def each(call: Callable[[Any], Any], values: Iterable[Any]) -> float:
    """The median time of the call, microseconds, over the values."""
    taken = []
    for value in values:
        start = time.perf_counter()
        result = call(value)
        taken.append(time.perf_counter() - start)
        del result
    return 1e6 * statistics.median(taken)


class Benchmark:
    """One tokenizer on one text; the methods give tables."""

    def __init__(self, encoder: Any, tiktoken: Engine | None, text: str, name: str, repeat: int) -> None:
        self.encoder = encoder
        self.tiktoken = tiktoken
        self.text = text
        self.name = name
        self.repeat = repeat
        self.random = random.Random(1)
        self.lengths = [length for length in LENGTHS if 2 * length <= len(text)]
        self.encode = functools.partial(encoder.encode_list, add_special_tokens=False)
        self.count = functools.partial(encoder.count, add_special_tokens=False)
        self.count_until = functools.partial(encoder.count_until, limit=1000, add_special_tokens=False)

    def places(self, length: int, count: int) -> list[int]:
        return [self.random.randrange(len(self.text) - length + 1) for _ in range(count)]

    def parts(self, length: int) -> list[str]:
        """Parts of the text at random places."""
        count = max(3, min(self.repeat, 3_000_000 // length))
        return [self.text[place : place + length] for place in self.places(length, count)]

    def by_tiktoken(self, parts: list[str]) -> float | None:
        if self.tiktoken is not None and self.tiktoken.encode(parts[0]) != self.encode(parts[0]):
            self.tiktoken = None
        return None if self.tiktoken is None else each(self.tiktoken.encode, parts)

    def by_length(self) -> Table:
        """Encoding, counting, and counting up to 1000, by the length of the text."""
        rows = []
        for length in self.lengths:
            for part in self.parts(length)[:5]:
                ids = self.encode(part)
                check(self.count(part), len(ids))
                check(self.count_until(part), len(ids) if len(ids) <= 1000 else None)
            # In turns, so that what slows the machine down slows all three; each text once, as its words are cached.
            calls = (self.encode, self.count, self.count_until)
            turns = zip(*(self.parts(length) for _ in calls), strict=True)
            taken = [[each(call, [part]) for call, part in zip(calls, turn, strict=True)] for turn in turns]
            medians = (statistics.median(column) for column in zip(*taken, strict=True))
            rows.append([f"{length:,}", *numbers(*medians, self.by_tiktoken(self.parts(length)))])
        columns = ["characters", "encode", "count", "count_until 1000", "tiktoken"]
        return Table(columns, rows, f"{self.name}: encoding and counting, µs")

    def appending(self) -> Table:
        """Appending 256 characters to texts of several lengths, beside encoding the whole again."""
        rows = []
        for length in (*self.lengths, len(self.text) - APPENDED * self.repeat):
            if length < 1_000:
                continue
            growing = self.encoder.incremental(add_special_tokens=False)
            growing.append(self.text[:length])
            ends = range(length, min(len(self.text), length + APPENDED * self.repeat) - APPENDED + 1, APPENDED)
            pieces = [self.text[end : end + APPENDED] for end in ends]
            appended = each(growing.append, pieces)
            counted = each(lambda piece, to=growing: (to.append(piece), to.count), pieces)
            built = each(lambda of: of.ids, [growing] * 3)
            check(growing.ids, self.encode(growing.text))
            again = each(self.encode, [growing.text] * 3)
            tiktoken = self.by_tiktoken([self.text[:length]] * 3)
            rows.append([f"{length:,}", *numbers(appended, counted, built, again, tiktoken)])
        columns = ["text so far", "append 256", "append, count", "list of ids", "encode all", "tiktoken all"]
        return Table(columns, rows, f"{self.name}: appending, µs")

    def intervals(self) -> Table:
        """Counts of parts of the text by their length."""
        start = time.perf_counter()
        intervals = self.encoder.intervals(self.text)
        seconds = time.perf_counter() - start
        rows = []
        for length in self.lengths:
            places = self.places(length, self.repeat)
            for place in places[:5]:
                check(intervals.count(place, place + length), len(self.encode(self.text[place : place + length])))
            counted = each(lambda place, of=length: intervals.count(place, place + of), places)
            encoded = each(self.count, self.parts(length))
            rows.append([f"{length:,}", *numbers(counted, encoded, self.by_tiktoken(self.parts(length)))])
        rows.append(["(made once)", f"{1e6 * seconds:,.0f}", "", ""])
        columns = ["characters", "interval", "count alone", "tiktoken"]
        return Table(columns, rows, f"{self.name}: counts of intervals, µs", remarks=[PUBLISHED])


def check(found: Any, expected: Any) -> None:
    if found != expected:
        raise SystemExit("ids or counts differ from those of the text by itself")


def numbers(*values: float | None) -> list[str]:
    return ["-" if value is None else f"{value:,.1f}" for value in values]


def measure(bench: Bench) -> list[Result]:
    """All tables; the figures are in them alone."""
    given = bench.given
    text, remark = whole_text(given.corpus)
    text = text[: round(given.megabytes * 1e6)]
    print(f"{given.tokenizer}, {given.corpus}, one thread {remark}\n", flush=True)
    state = tokenizer_json(given.tokenizer)
    hf, lopt = Hf(state, 1), LoptStore(state, 1)
    explained = lopt.encoder.explain()
    if explained["route"] != "native":
        return [Result("lopt", problem=f"no native route: {explained['reason']}", is_error=True)]
    try:
        tiktoken: Engine | None = engine_class("tiktoken")(state, 1)
    except Exception as error:
        print(f"without tiktoken: {error}", file=sys.stderr)
        tiktoken = None
    sample = text[:SAMPLE_CHARS]
    check(lopt.encode(sample), hf.ids(hf.encode(sample)))
    letters = "".join(random.Random(1).choices(string.ascii_lowercase, k=round(given.worst * 1e6)))
    for benchmark in (
        Benchmark(lopt.encoder, tiktoken, text, given.corpus, given.repeat),
        # Without tiktoken, which takes quadratic time for a text without spaces.
        Benchmark(lopt.encoder, None, letters, "worst case", min(given.repeat, 20)),
    ):
        bench.add(benchmark.by_length(), benchmark.appending(), benchmark.intervals())
    return []


if __name__ == "__main__":
    made = Options(__doc__)
    made.add("--tokenizer", "gpt4o", "name or path", "tiny_o200k")
    made.add("--corpus", known_corpus("leval_en"), "name or path")
    made.add("--megabytes", 4.2, "of the corpus, in 10^6 characters", 0.02)
    made.add("--worst", 0.1, "length of the worst case, likewise", 0.004)
    made.add("--repeat", 200, "calls for a number, at most", 5)
    given = made.read()
    title = f"Growing texts, counts and intervals: {given.tokenizer}"
    sys.exit(run(given, "growing", title, ABOUT, measure))
