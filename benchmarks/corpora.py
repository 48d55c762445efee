"""Prompts: cut from whole corpora, evenly, so that each is another text."""

from __future__ import annotations

import functools
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

from tokenizer_files import SHARED_DATA, TESTS_DATA

from lopt_plugin.benchmarking.prompts import spread


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
