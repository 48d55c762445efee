"""Tokenizers and texts for tests: those of tests/data and, in the deep tier, those of ../shared beside the checkout."""

from __future__ import annotations

import functools
import importlib.util
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hard_texts
import tier
from tokenizers import Tokenizer

DATA = Path(__file__).resolve().parents[1] / "data"
# In the quick tier a folder that does not exist: it uses only what the repository holds.
SHARED = Path(__file__).resolve().parents[3] / ("shared" if tier.DEEP else "not in the quick tier")


@functools.cache
def _tokenizer_files() -> dict[str, Path]:
    files = {path.name.split(".")[0]: path for path in (DATA / "tokenizers").glob("*.json.xz")}
    for folder in sorted((SHARED / "data" / "tokenizers").glob("*/")):
        for path in folder.glob("tokenizer.json*"):
            files.setdefault(folder.name, path)
    return files


@functools.cache
def tokenizer_names() -> list[str]:
    """All tokenizers; those of a fresh clone are in tests/data/tokenizers, and its README says what they are."""
    return sorted(_tokenizer_files())


@functools.cache
def large_tokenizer_names() -> frozenset[str]:
    """Those that only ../shared holds."""
    return frozenset(name for name, path in _tokenizer_files().items() if path.is_relative_to(SHARED))


@functools.lru_cache(maxsize=4)
def tokenizer_json(name: str) -> str:
    data = _tokenizer_files()[name].read_bytes()
    return (lzma.decompress(data) if _tokenizer_files()[name].suffix == ".xz" else data).decode()


def load_tokenizer(name: str) -> Tokenizer:
    """A new `tokenizers.Tokenizer`, which the caller may change."""
    return Tokenizer.from_str(tokenizer_json(name))


def corpora() -> list[str]:
    names = {path.name.split(".")[0] for path in (DATA / "texts").glob("*.jsonl.xz")}
    return sorted(names | {path.name.split(".")[0] for path in (SHARED / "data" / "corpora").glob("*.jsonl.xz")})


def texts(corpus: str, limit: int) -> list[str]:
    """Documents of a corpus, of `limit` characters together at most; the last one is cut to that.

    The small excerpt of tests/data is used as long as it has that much.
    """
    found: list[str] = []
    for folder in (DATA / "texts", SHARED / "data" / "corpora"):
        path = folder / f"{corpus}.jsonl.xz"
        if path.exists():
            found = list(_up_to(limit, _documents(path)))
            if sum(map(len, found)) >= limit:
                break
    return found


def _documents(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def _up_to(limit: int, documents: Iterator[str]) -> Iterator[str]:
    for document in documents:
        if limit <= 0:
            return
        yield document[:limit]
        limit -= len(document)


def conformance_families() -> list[str]:
    return _hard_texts().families()


def conformance(family: str, seed: int = 0) -> list[str]:
    """The hard texts of a family; the same seed gives the same texts."""
    return list(_hard_texts().texts(family, seed))


@functools.cache
def _hard_texts() -> ModuleType:
    """The shared conformance cases, or our own small ones; both have families() and texts(family, seed)."""
    path = SHARED / "conformance" / "cases.py"
    if not path.exists():
        return hard_texts
    specification = importlib.util.spec_from_file_location("shared_conformance_cases", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
