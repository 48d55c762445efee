"""Texts that grow, counts and intervals: the benchmarks of GitHub's `bpe`, and its worst case, beside tiktoken.

    python benchmarks/growing.py --tokenizer gpt4o --corpus leval_en --megabytes 4

Medians in microseconds, in one process, each on parts of the corpus that were not timed before. Every number is of ids,
or counts, that were compared with those of the whole or the part by itself; tiktoken is left out where its ids differ.
The worst case is the same on random lower-case letters without any space: a text that has no seams.

--quick: 20,000 characters, 5 calls for a number; seconds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import string
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from corpora import whole_text
from report import Report, Table, show, write_json
from tokenizer_files import tokenizer_json
from tokenizers import Tokenizer

from lopt_plugin.benchmarking.engines import Tiktoken
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.encoder import Encoder
from lopt_plugin.settings import Settings

LENGTHS = (100, 1_000, 10_000, 100_000, 1_000_000)
APPENDED = 256
TURNS = 200
TURNS_CHARS = 1_000_000
ABOUT = """
Counting, cutting off after 1,000 ids, appending, and counts of any interval of a text that was read once, in
microseconds (medians, one process and thread), as GitHub's `bpe` has them in its README; tiktoken encodes the same text
from its beginning. Counts and ids were compared with those of the text by itself. The worst case are random lower-case
letters, a text that has no seams."""
# As the README and the announcement of `bpe` have them: on random texts, against tiktoken, and on a worst case.
PUBLISHED = (
    "published of `bpe`: encoding about 4 times as fast as tiktoken, counts of intervals in about constant time, "
    "appending slower than encoding at once by a constant factor, tiktoken quadratic in the worst case"
)


class WrongError(Exception):
    """Ids or counts differ from those of the text by itself."""


def microseconds(calls: Iterable[Callable[[], Any]]) -> float:
    """The median time of the calls."""
    taken = []
    for call in calls:
        start = time.perf_counter()
        result = call()
        taken.append(time.perf_counter() - start)
        del result
    return 1e6 * statistics.median(taken)


class Benchmark:
    """One tokenizer on one text."""

    def __init__(self, encoder: Encoder, tiktoken: Tiktoken | None, text: str, repeat: int) -> None:
        self.encoder = encoder
        self.tiktoken = tiktoken
        self.text = text
        self.repeat = repeat
        self.random = random.Random(1)
        self.lengths = [length for length in LENGTHS if 2 * length <= len(text)]

    def parts(self, length: int) -> list[str]:
        """Parts of the text at random places."""
        places = [self.random.randrange(len(self.text) - length + 1) for _ in range(self.times(length))]
        return [self.text[place : place + length] for place in places]

    def times(self, length: int) -> int:
        return max(3, min(self.repeat, 3_000_000 // length))

    def encode(self, text: str) -> list[int]:
        return self.encoder.encode_list(text, add_special_tokens=False)

    def by_length(self) -> list[list[str]]:
        """Encoding, counting, and counting up to 1000, by the length of the text."""
        rows = []
        for length in self.lengths:
            for part in self.parts(length)[:5]:
                ids = self.encode(part)
                check(self.encoder.count(part, False), len(ids))
                check(self.encoder.count_until(part, 1000, False), len(ids) if len(ids) <= 1000 else None)
            # In turns, so that what slows the machine down slows all three; each text once, as its words are kept.
            turns = zip(self.parts(length), self.parts(length), self.parts(length), strict=True)
            taken = [
                (
                    microseconds([lambda part=to_encode: self.encode(part)]),
                    microseconds([lambda part=to_count: self.encoder.count(part, False)]),
                    microseconds([lambda part=to_stop: self.encoder.count_until(part, 1000, False)]),
                )
                for to_encode, to_count, to_stop in turns
            ]
            encoded, counted, until = (statistics.median(column) for column in zip(*taken, strict=True))
            rows.append([f"{length:,}", *numbers(encoded, counted, until, self.by_tiktoken(self.parts(length)))])
        return rows

    def appending(self) -> list[list[str]]:
        """Appending 256 characters to texts of several lengths, beside encoding the whole anew."""
        rows = []
        for length in (*self.lengths, len(self.text) - APPENDED * self.repeat):
            if length < 1_000:
                continue
            growing = self.encoder.incremental(add_special_tokens=False)
            growing.append(self.text[:length])
            ends = range(length, min(len(self.text), length + APPENDED * self.repeat) - APPENDED + 1, APPENDED)
            pieces = [self.text[end : end + APPENDED] for end in ends]
            appended = microseconds([lambda piece=piece, to=growing: to.append(piece) for piece in pieces])
            counted = microseconds([lambda piece=piece, to=growing: (to.append(piece), to.count) for piece in pieces])
            built = microseconds([lambda of=growing: of.ids] * 3)
            check(growing.ids, self.encode(growing.text))
            anew = microseconds([lambda whole=growing.text: self.encode(whole)] * 3)
            tiktoken = self.by_tiktoken([self.text[:length]] * 3)
            rows.append([f"{length:,}", *numbers(appended, counted, built, anew, tiktoken)])
        return rows

    def intervals(self) -> list[list[str]]:
        """Counts of parts of the text by their length."""
        start = time.perf_counter()
        intervals = self.encoder.intervals(self.text)
        seconds = time.perf_counter() - start
        rows = []
        for length in self.lengths:
            places = [self.random.randrange(len(self.text) - length + 1) for _ in range(self.repeat)]
            for place in places[:5]:
                check(intervals.count(place, place + length), len(self.encode(self.text[place : place + length])))
            counted = microseconds([lambda a=place, b=place + length: intervals.count(a, b) for place in places])
            encoded = microseconds([lambda part=part: self.encoder.count(part, False) for part in self.parts(length)])
            rows.append([f"{length:,}", *numbers(counted, encoded, self.by_tiktoken(self.parts(length)))])
        rows.append(["(made once)", f"{1e6 * seconds:,.0f}", "", ""])
        return rows

    def session(self) -> list[list[str]]:
        """A conversation of 200 turns that grows to 1 MB: the time of all turns together, ids built at each."""
        size = min(len(self.text), TURNS_CHARS) // TURNS
        turns = [self.text[turn * size : (turn + 1) * size] for turn in range(TURNS)]
        growing = self.encoder.incremental(add_special_tokens=False)

        def turn_of(piece: str) -> int:
            growing.append(piece)
            return len(growing.ids)

        def anew(encode: Callable[[str], list[int]], every: int) -> float:
            texts = ["".join(turns[: turn + 1]) for turn in range(0, TURNS, every)]
            return every * sum(microseconds([lambda text=text: encode(text)]) for text in texts)

        incremental = sum(microseconds([lambda piece=piece: turn_of(piece)]) for piece in turns)
        check(growing.ids, self.encode("".join(turns)))
        rows = [["incremental", *numbers(incremental), "1.0"]]
        again = {"lopt, the whole text each turn": anew(self.encode, 1)}
        if self.tiktoken is not None:
            again["tiktoken, the whole text each turn"] = anew(self.tiktoken.encode, 10)
        for name, taken in again.items():
            rows.append([name, *numbers(taken), f"{taken / incremental:.1f}"])
        return rows

    def by_tiktoken(self, parts: list[str]) -> float | None:
        if self.tiktoken is None:
            return None
        if self.tiktoken.encode(parts[0]) != self.encode(parts[0]):
            self.tiktoken = None
            return None
        return microseconds([lambda part=part: self.tiktoken.encode(part) for part in parts])


def check(found: Any, expected: Any) -> None:
    if found != expected:
        raise WrongError("ids or counts differ from those of the text by itself")


def numbers(*values: float | None) -> list[str]:
    return ["-" if value is None else f"{value:,.1f}" for value in values]


def tables(benchmark: Benchmark, name: str) -> list[Table]:
    """All tables about a text."""
    whole = [
        Table(
            ["characters", "encode", "count", "count_until 1000", "tiktoken"],
            benchmark.by_length(),
            f"{name}: encoding and counting, µs",
        ),
        Table(
            ["text so far", "append 256", "append, count", "list of ids", "encode anew", "tiktoken anew"],
            benchmark.appending(),
            f"{name}: appending, µs",
        ),
        Table(
            ["characters", "interval", "count alone", "tiktoken"],
            benchmark.intervals(),
            f"{name}: counts of intervals, µs",
        ),
    ]
    if len(benchmark.text) >= TURNS_CHARS:
        whole.append(
            Table(
                ["way", "µs in all", "times"],
                benchmark.session(),
                f"{name}: {TURNS} turns up to {TURNS_CHARS:,} characters",
                remarks=[PUBLISHED],
            )
        )
    return whole


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    text, remark = whole_text(given.corpus)
    text = text[: round(given.megabytes * 1e6)]
    print(f"{machine_line()}\n{given.tokenizer}, {given.corpus}, one thread {remark}\n", flush=True)
    state = tokenizer_json(given.tokenizer)
    encoder = Encoder(Tokenizer.from_str(state), Settings.read(threads=1))
    if encoder.snapshot().native is None:
        print(f"no native route: {encoder.snapshot().reason}")
        return 1
    try:
        tiktoken: Tiktoken | None = Tiktoken(state, 1)
    except Exception as error:
        print(f"without tiktoken: {error}", file=sys.stderr)
        tiktoken = None
    sample = text[:20_000]
    expected = encoder.backend.encode(sample, add_special_tokens=False).ids
    check(encoder.encode_list(sample, add_special_tokens=False), expected)
    letters = "".join(random.Random(1).choices(string.ascii_lowercase, k=round(given.worst * 1e6)))
    report = Report(f"Growing texts, counts and intervals: {given.tokenizer}", ABOUT)
    for name, of in ((given.corpus, text), ("worst case", letters)):
        # tiktoken takes quadratic time for a text without spaces.
        repeat = given.repeat if of is text else min(given.repeat, 20)
        benchmark = Benchmark(encoder, tiktoken if of is text else None, of, repeat)
        for table in tables(benchmark, name) if of else []:
            show(table, given.markdown)
            report.tables.append(table)
    found = [{"title": table.title, "columns": table.columns, "rows": table.rows} for table in report.tables]
    write_json(given.json, "growing", vars(given), found, report)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="gpt4o", help="name or path (default %(default)s)")
    parser.add_argument("--corpus", default="leval_en", help="name or path (default %(default)s)")
    parser.add_argument("--megabytes", type=float, default=4.2, help="of the corpus, in 10^6 characters (default 4.2)")
    parser.add_argument("--worst", type=float, default=0.1, help="length of the worst case, likewise; 0: none")
    parser.add_argument("--repeat", type=int, default=200, help="calls for a number, at most (default %(default)s)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--quick", action="store_true", help="a small text, few calls")
    given = parser.parse_args()
    if given.quick:
        given.tokenizer, given.megabytes, given.worst, given.repeat = "tiny_o200k", 0.02, 0.004, 5
    return given


if __name__ == "__main__":
    sys.exit(main())
