"""Texts for `check` and `bench`: the user's files, or built-in texts that every machine has."""

from __future__ import annotations

import contextlib
import random
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..routes.hard_texts import hard_texts
from .corpus.inputs import CorpusError, Input, find_inputs
from .corpus.records import read_batches

BATCH_BYTES = 1 << 20
_HARD_TEXTS = 1500
_LONG_HARD_PARTS = 4000


class Sample(NamedTuple):
    """A text and its origin."""

    text: str
    origin: str


def of_inputs(inputs: Sequence[Input], column: str) -> Iterator[Sample]:
    """One text per text file, line of JSON or row of Parquet. Raises CorpusError."""
    for given in inputs:
        for batch in read_batches(given, column, "document", 0, BATCH_BYTES):
            for problem in batch.problems:
                raise CorpusError(f"{given.name}:{problem.record}: {problem.reason}")
            for record, text in zip(batch.records, batch.texts, strict=True):
                yield Sample(text, given.name if given.format == "text" else f"{given.name}:{record}")


def first_chars(names: Sequence[str], column: str, chars: int) -> str:
    """The texts of the files, joined by newlines, up to about `chars` characters. Raises CorpusError."""
    return _start((sample.text for sample in of_inputs(find_inputs(names, None), column)), chars)


def _start(texts: Iterable[str], chars: int) -> str:
    found: list[str] = []
    for text in texts:
        found.append(text[:chars])
        chars -= len(found[-1])
        if chars <= 0:
            break
    return "\n".join(found)


def built_in_texts(tokenizer: Any, prose_chars: int) -> Iterator[Sample]:
    """The hard texts, and at most so many characters of prose."""
    yield from built_in_hard_texts(tokenizer)
    yield Sample(built_in_prose(prose_chars), "sources of Python's standard library")


def built_in_hard_texts(tokenizer: Any) -> Iterator[Sample]:
    """Parts of the self-check's hard texts in a different order: most are short, some are long enough for chunks."""
    texts = hard_texts([str(token) for token in tokenizer.added_tokens_decoder.values()])
    rng = random.Random(7)

    def part() -> str:
        text = rng.choice(texts)
        first = rng.randint(0, len(text))
        return text[first : rng.randint(first, len(text))]

    short = ["".join(part() for _ in range(rng.randint(1, 1 + number % 40))) for number in range(_HARD_TEXTS)]
    yield from (Sample(text, f"hard text {number}") for number, text in enumerate(short))
    for number in range(2):
        yield Sample("".join(rng.choices(short, k=_LONG_HARD_PARTS)), f"long hard text {number}")


def built_in_prose(chars: int) -> str:
    """English and Python: the sources of the standard library in a shuffled order, at most `chars` characters."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py"))
    files = [path for path in files if "site-packages" not in path.parts and "test" not in path.parts]
    random.Random(7).shuffle(files)

    def sources() -> Iterator[str]:
        for path in files:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                yield path.read_text(encoding="utf-8")

    return _start(sources(), chars)
