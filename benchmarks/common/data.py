"""Tokenizers and prompts: those of a folder `shared` beside the checkout or in it, and those of tests/data."""

from __future__ import annotations

import functools
import itertools
import json
import lzma
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from lopt_plugin.cli.benchmarking.prompts import spread

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED_DATA = next(
    (folder for folder in (REPOSITORY.parent / "shared" / "data", REPOSITORY / "shared" / "data") if folder.is_dir()),
    REPOSITORY.parent / "shared" / "data",
)
TESTS_DATA = REPOSITORY / "tests" / "data"

_MOST_BATCHES = 16


def prompts(corpus: str, count: int, chars: int) -> tuple[list[str], str]:
    """`count` prompts of `chars` characters, spread evenly over the corpus (its documents, joined by newlines).

    And a remark on how they differ from that; "" if they do not. No two overlap: a corpus that is too small for that
    gives shorter prompts. Raises FileNotFoundError that lists the known names.
    """
    text, remark = whole_text(corpus)
    size = min(chars, len(text) // count)
    if size < chars:
        remark += f"{', ' if remark else ''}prompts of {size:,} characters, as the corpus has {len(text):,}"
    return spread(text, count, size), remark


def batches_of(text: str, counts: Sequence[int], chars: int) -> tuple[dict[int, list[list[str]]], int]:
    """For each count, batches of that many texts; and the characters of a text, fewer than `chars` in a small corpus.

    No text comes twice. A batch has texts from all over the corpus.
    """
    batches = {count: max(1, min(_MOST_BATCHES, max(counts) // count)) for count in counts}
    needed = sum(count * number for count, number in batches.items())
    chars = min(chars, max(1, len(text) // needed))
    texts = spread(text, needed, chars)
    random.Random(0).shuffle(texts)
    rest = iter(texts)
    return {
        count: [list(itertools.islice(rest, count)) for _ in range(number)] for count, number in batches.items()
    }, chars


def utf8_bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def mean_bytes(batches: Sequence[Sequence[str]]) -> float:
    """Mean size of a batch in UTF-8."""
    return sum(map(utf8_bytes, batches)) / len(batches)


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
    """Known names and their files; a corpus of ../shared replaces its excerpt in tests/data."""
    found = [*(TESTS_DATA / "texts").glob("*.jsonl.xz"), *(SHARED_DATA / "corpora").glob("*.jsonl.xz")]
    return {path.name.split(".")[0]: path for path in found}


def tokenizer_json(name: str) -> str:
    """The text of a tokenizer.json, by a known name or by the path of a file (.json or .json.xz).

    Raises FileNotFoundError that lists the known names.
    """
    files = tokenizer_files()
    path = files.get(name, Path(name))
    if not path.is_file():
        raise FileNotFoundError(f"no tokenizer {name!r}; there are {', '.join(files)}, and paths")
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()


def tokenizer_files() -> dict[str, Path]:
    """Known names and their files."""
    files = {path.name.split(".")[0]: path for path in sorted((TESTS_DATA / "tokenizers").glob("*.json.xz"))}
    for path in sorted((SHARED_DATA / "tokenizers").glob("*/tokenizer.json*")):
        files[path.parent.name] = path
    return files


def known_tokenizer(*wanted: str) -> str:
    """The first of these that is available; else Qwen3's, which the repository holds."""
    return next((name for name in wanted if name in tokenizer_files()), "qwen3")


def known_corpus(*wanted: str) -> str:
    """The first of these that is available; else the books, of which the repository holds some."""
    return next((name for name in wanted if name in corpus_files()), "books_en")
