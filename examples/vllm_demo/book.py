"""A long English text for the demo, from whichever books are available."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# JSON lines with "source" and "text". The first has all of War and Peace, the second its beginning.
BOOKS = (
    REPOSITORY.parent / "shared" / "data" / "corpora" / "books_en.jsonl.xz",
    REPOSITORY / "tests" / "data" / "texts" / "books_en.jsonl.xz",
)


def long_english_text(characters: int) -> tuple[str, str]:
    """At least that many characters, up to the end of a paragraph, and a description.

    Raises FileNotFoundError if there is no book.
    """
    path = next((path for path in BOOKS if path.exists()), None)
    if path is None:
        raise FileNotFoundError(f"none of {[str(path) for path in BOOKS]} exists")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        book = max(map(json.loads, lines), key=lambda book: len(book["text"]))
    text, name = book["text"], f"the beginning of {book['source']}"
    if len(text) < characters:
        times = -(-characters // len(text))
        text = "\n\n".join(f"Reading {number}\n\n{text}" for number in range(1, times + 1))
        name += f", read {times} times"
    return _up_to_a_paragraph(text, characters), name


def _up_to_a_paragraph(text: str, characters: int) -> str:
    for paragraph_end in ("\r\n\r\n", "\n\n"):
        end = text.find(paragraph_end, characters)
        if end != -1:
            return text[: end + len(paragraph_end)]
    return text
