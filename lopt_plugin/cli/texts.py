"""Texts for `check` and `bench`: those of the user's files, or texts that are there on every machine."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..corpus.inputs import CorpusError, Input, find_inputs
from ..corpus.records import read_batches
from ..self_check import hard_texts

BATCH_BYTES = 1 << 20
_HARD_TEXTS = 1500
_LONG_HARD_TEXTS = 2
_LONG_HARD_CHARS = 300_000


@dataclass(frozen=True)
class Sample:
    """A text and where it is from."""

    text: str
    origin: str


def of_files(names: Sequence[str], column: str) -> tuple[list[Input], Iterator[Sample]]:
    """Each text file as one text, each line of JSON, each row of Parquet. Raises CorpusError, also while iterating."""
    inputs = find_inputs(names, None)
    return inputs, (sample for one in inputs for sample in _of_file(one, column))


def _of_file(given: Input, column: str) -> Iterator[Sample]:
    for batch in read_batches(given, column, "document", 0, BATCH_BYTES):
        for problem in batch.problems:
            raise CorpusError(f"{given.name}:{problem.record}: {problem.reason}")
        for record, text in zip(batch.records, batch.texts, strict=True):
            origin = given.name if given.format == "text" else f"{given.name}:{record}"
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise CorpusError(f"{origin}: a lone surrogate at character {error.start:,}") from error
            yield Sample(text, origin)


def built_in_hard_texts(added_tokens: Sequence[str]) -> Iterator[Sample]:
    """Pieces of the self-check's hard texts in other orders, most of them short, and some long enough for chunks."""
    pieces = hard_texts(added_tokens)
    rng = random.Random(7)
    for number in range(_HARD_TEXTS):
        parts = [_slice(rng, rng.choice(pieces)) for _ in range(rng.randint(1, 1 + number % 40))]
        yield Sample("".join(parts), f"hard text {number}")
    for number in range(_LONG_HARD_TEXTS):
        text, length = [], 0
        while length < _LONG_HARD_CHARS:
            text.append(_slice(rng, rng.choice(pieces)))
            length += len(text[-1])
        yield Sample("".join(text), f"long hard text {number}")


def _slice(rng: random.Random, text: str) -> str:
    first = rng.randint(0, len(text))
    return text[first : rng.randint(first, len(text))]


def built_in_prose(chars: int) -> str:
    """English and Python: the sources of the standard library, in an order without a system, `chars` at most."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py"))
    files = [path for path in files if "site-packages" not in path.parts and "test" not in path.parts]
    random.Random(7).shuffle(files)
    found: list[str] = []
    for path in files:
        try:
            found.append(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        chars -= len(found[-1])
        if chars <= 0:
            found[-1] = found[-1][: len(found[-1]) + chars]
            break
    return "\n".join(found)
