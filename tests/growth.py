"""Measures how the time of each call grows with its text: reports what grows faster than the text, or is slow.

    python tests/growth.py [NAMES ...] [--texts 150] [--sizes 0.25 0.5 1 2] [--modes cut append ...]

For each tokenizer, mode and text the thread's CPU seconds are measured while the text doubles, without Python's
garbage collection. A text is an offender where a doubling takes more than 2.3 times as long, or a megabyte more than
half a second, also when it is measured again. A text that takes LIMIT_S is not doubled any more. Prints a table, in
Markdown; exit status 1 where there are offenders, which are listed. Nothing else asserts a time.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("LOPT_TIER", "deep")
os.environ["LOPT_PREFIX_CACHE_MB"] = "0"
os.environ["LOPT_THREADS"] = "1"
os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"

sys.path.insert(0, str(Path(__file__).with_name("support")))
import corpus
import representatives

MOST_RATIO = 2.3
MOST_SECONDS = 0.5  # for a megabyte
LEAST_SECONDS = 0.02  # below, a ratio says little
LIMIT_S = 10.0

# fmt: off
UNITS = [
    "a", "A", "ab", " a", "a ", "\n", "\t", " ", "\n ", "  \n", "\r\n", "1", "12 ", "'", "a'", "'s", '"a', "!",
    "!\n", "-", "--a", ".a", "a.", "_a", "#", "/", "<", "<|", "|>", "<|endoftext|>", "<s>", "[INST]", "<pad>a",
    "e\u0301", "\u0301", "a\u0301\u0323", "\u0323\u0301", "\u4e2d", "\u4e2d\u6587", "\u3002", "\u3042",
    "\uac00", "\u1100\u1161", "\u0928\u094d", "\u0e01\u0e49", "\U0001f600", "\u200d", "\u2581", "\u2581a",
    "\u00a0", "\u2003", "\u00e9", "\u0130", "\u02b0", "A\u02b0", "\u0416", "\u01c5", "\ufb01", "\u0345", "\x00",
    "\x1f", "\u00df", "aA", "AAa", "a1", "1a", "{}",
]
# fmt: on


def texts(count: int) -> Iterator[tuple[str, str]]:
    """Names and texts of some kilobytes, to be repeated: periodic ones, then random ones of few characters."""
    for unit in UNITS[:count]:
        yield repr(unit), unit
    for number in range(count - len(UNITS)):
        rng = random.Random(number)
        kind = rng.choice(["units", "characters", "long"])
        if kind == "units":
            few = rng.sample(UNITS, rng.randint(2, 4))
            yield f"random units {number}", "".join(rng.choices(few, k=500))
        elif kind == "characters":
            few = rng.sample(representatives.characters(), rng.randint(2, 5))
            yield f"random characters {number}", "".join(rng.choices(few, k=2000))
        else:
            yield f"runs {number}", "".join(rng.choice(UNITS) * rng.choice([1, 5, 50, 5000]) for _ in range(6))


def _append(lopt: Any, text: str) -> None:
    growing = lopt.incremental()
    for begin in range(0, len(text), 512):
        growing.append(text[begin : begin + 512])
        _ = growing.count
    _ = growing.ids


def _append_only(lopt: Any, text: str) -> None:
    growing = lopt.incremental()
    for begin in range(0, len(text), 8):
        growing.append(text[begin : begin + 8])
    _ = growing.ids


def _intervals(lopt: Any, text: str) -> None:
    prepared = lopt.intervals(text)
    for k in range(8):
        prepared.count(len(text) * k // 17, len(text) - k)


def _batch(lopt: Any, text: str) -> None:
    lopt.encode_batch_ids([text[begin : begin + 1000] for begin in range(0, len(text), 1000)])


MODES: dict[str, Callable[[Any, str], Any]] = {
    "encode": lambda tokenizer, text: tokenizer.lopt.encode_ids(text),
    "offsets": lambda tokenizer, text: tokenizer(text, return_offsets_mapping=True, add_special_tokens=False),
    "truncation": lambda tokenizer, text: tokenizer(text, truncation=True, max_length=512),
    "count": lambda tokenizer, text: tokenizer.lopt.count(text),
    "count_until": lambda tokenizer, text: tokenizer.lopt.count_until(text, 512),
    "cut": lambda tokenizer, text: tokenizer.lopt.cut(text, 512),
    "cut half": lambda tokenizer, text: tokenizer.lopt.cut(text, len(text) // 8),
    "append": lambda tokenizer, text: _append(tokenizer.lopt, text),
    "append only": lambda tokenizer, text: _append_only(tokenizer.lopt, text),
    "intervals": lambda tokenizer, text: _intervals(tokenizer.lopt, text),
    "batch": lambda tokenizer, text: _batch(tokenizer.lopt, text),
}


def load(name: str) -> Any:
    """The accelerated tokenizer, or None where Hugging Face does all the work."""
    from transformers import PreTrainedTokenizerFast

    from lopt_plugin.tokenizer import accelerate

    tokenizer = accelerate(PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(name)))
    return tokenizer if tokenizer.lopt.explain()["route"] == "native" else None


def seconds(mode: str, tokenizer: Any, text: str) -> float:
    begin = time.thread_time()
    MODES[mode](tokenizer, text)
    return time.thread_time() - begin


class Growth:
    """The seconds of one text in one mode, by its size; measured again where they look wrong."""

    def __init__(self, mode: str, tokenizer: Any, unit: str, sizes: list[float]) -> None:
        self.seconds: dict[float, float] = {}
        for megabytes in sizes:
            wanted = int(megabytes * 1e6)
            text = (unit * (wanted // len(unit.encode()) + 1)).encode()[:wanted].decode(errors="ignore")
            self.seconds[megabytes] = seconds(mode, tokenizer, text)
            for _ in range(2):
                if self.wrong():
                    self.seconds[megabytes] = min(self.seconds[megabytes], seconds(mode, tokenizer, text))
            if self.seconds[megabytes] > LIMIT_S:
                break

    def ratio(self) -> float:
        """Of the last doubling; 0 where that took next to nothing."""
        *_, before, last = [0.0, *self.seconds.values()]
        return last / before if before and last > LEAST_SECONDS else 0.0

    def per_megabyte(self) -> float:
        megabytes, last = list(self.seconds.items())[-1]
        return last / megabytes if last > LEAST_SECONDS else 0.0

    def wrong(self) -> bool:
        return self.ratio() > MOST_RATIO or self.per_megabyte() > MOST_SECONDS


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures how the time of each call grows with its text.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tokenizers; all of tests/data and ../shared")
    parser.add_argument("--texts", type=int, default=150)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.25, 0.5, 1, 2], metavar="MB")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES), metavar="MODE")
    options = parser.parse_args()
    gc.disable()  # it looks through all that a call has made so far, again and again
    offenders = []
    print("| tokenizer | mode | texts | s/MB, most | ratio, most | offenders |", "|---|---|---|---|---|---|", sep="\n")
    for name in options.names or corpus.tokenizer_names():
        tokenizer = load(name)
        if tokenizer is None:
            print(f"| {name} | left to Hugging Face | | | | |", flush=True)
            continue
        for mode in options.modes:
            grown = [(text, Growth(mode, tokenizer, unit, options.sizes)) for text, unit in texts(options.texts)]
            wrong = [(text, growth) for text, growth in grown if growth.wrong()]
            offenders += [(name, mode, text, growth) for text, growth in wrong]
            slowest = max(growth.per_megabyte() for _, growth in grown)
            steepest = max(growth.ratio() for _, growth in grown)
            print(f"| {name} | {mode} | {len(grown)} | {slowest:.3f} | {steepest:.2f} | {len(wrong)} |", flush=True)
    for name, mode, text, growth in offenders:
        taken = ", ".join(f"{size} MB {value:.3f} s" for size, value in growth.seconds.items())
        print(f"{name} {mode} {text}: {taken}", file=sys.stderr)
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())
