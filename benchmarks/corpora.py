"""Prompts: cut from whole corpora, evenly, so that each is another text."""

from __future__ import annotations

import functools
import itertools
import json
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizer_files import SHARED_DATA, TESTS_DATA

from lopt_plugin.benchmarking.prompts import spread

_MOST_BATCHES = 16


@dataclass(frozen=True)
class Prompts:
    """`remark` says where they differ from what was asked for; empty if they do not."""

    texts: list[str]
    remark: str


def prompts(corpus: str, count: int, chars: int) -> Prompts:
    """`count` prompts of `chars` characters, spread evenly over the corpus (its documents, joined by newlines).

    No two overlap: a corpus that is too small for that gives shorter ones. Raises FileNotFoundError that lists the
    known names.
    """
    text, remark = whole_text(corpus)
    size = min(chars, len(text) // count)
    if size < chars:
        remark += f"{', ' if remark else ''}prompts of {size:,} characters, as the corpus has {len(text):,}"
    return Prompts(spread(text, count, size), remark)


def batches_of(text: str, counts: Sequence[int], chars: int) -> tuple[dict[int, list[list[str]]], int]:
    """For each count, batches of as many texts; and the characters of a text: fewer than `chars` of a small corpus.

    No text comes twice. A batch has texts from all over the corpus.
    """
    batches = {count: max(1, min(_MOST_BATCHES, max(counts) // count)) for count in counts}
    needed = sum(count * number for count, number in batches.items())
    chars = min(chars, max(1, len(text) // needed))
    texts = spread(text, needed, chars)
    random.Random(0).shuffle(texts)
    coming = iter(texts)
    return {
        count: [list(itertools.islice(coming, count)) for _ in range(number)] for count, number in batches.items()
    }, chars


def mean_megabytes(batches: Sequence[Sequence[str]]) -> float:
    """Size of a batch, 10^6 bytes of UTF-8."""
    return sum(len(text.encode()) for batch in batches for text in batch) / len(batches) / 1e6


@functools.lru_cache(maxsize=1)
def whole_text(corpus: str) -> tuple[str, str]:
    """The documents of a corpus joined by newlines, and a remark if it is only the excerpt of tests/data."""
    files = corpus_files()
    path = files.get(corpus, Path(corpus))
    if not path.is_file():
        raise FileNotFoundError(f"no corpus {corpus!r}; there are {', '.join(files)}, and paths of .jsonl.xz")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        text = "\n".join(json.loads(line)["text"] for line in lines)
    return text, "excerpt of tests/data" if TESTS_DATA in path.parents else ""


def corpus_files() -> dict[str, Path]:
    """Known names and their files; those of ../shared go before the excerpts of tests/data."""
    found = [*(TESTS_DATA / "texts").glob("*.jsonl.xz"), *(SHARED_DATA / "corpora").glob("*.jsonl.xz")]
    return {path.name.split(".")[0]: path for path in found}
