r"""Positions where a text may be split into chunks.

A *certain boundary* is a boundary whatever surrounds it: the text left and right of it can be tokenized separately. An
*overlap edge* is a position where an overlapping chunk may begin or end; its first pre-tokens are a guess, and its last
ones may be incomplete.

At both, no added token may span or touch the position, not even through the white space next to it. Added tokens are
found leftmost-longest, so a chunk finds the same ones as the whole text does, and lstrip, rstrip and single_word see
the same neighbours.

If the normalizer composes characters, the character after the position is one that ignores what precedes it: a starter,
never the second of a composing pair, and the same holds for what it decomposes into.

Certain boundaries of a split pattern: between a letter or ASCII digit and a space or a punctuation mark other than an
apostrophe. No match of an allow-listed pattern contains such a pair, so all of them split there, and a letter or digit
at the end of a text is matched as it is before such a character. WordPiece's pre-tokenizers split there too. The
characters are listed explicitly: all of them have had their class since the first version of Unicode.

Without a split pattern, the certain boundaries are the vocabulary cuts (see `pipeline.chunking`).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer

from ...pipeline.chunking import Chunkable

_SEPARATOR = "\x00"
_MAX_PAIRS = 1 << 16
_PRIVATE_USE = range(0xE000, 0xE100)


class VocabularyCuts:
    """Character pairs that no entry contains. Caches up to 65,536 answers.

    replaced: pairs (a, b) if the normalizer replaces the character a by b.
    """

    def __init__(self, entries: Iterable[str], replaced: Iterable[tuple[str, str]]) -> None:
        entries = list(entries)
        self._joined = _SEPARATOR.join(entries)
        self._single = {entry for entry in entries if len(entry) == 1} - {_SEPARATOR}
        self._replaced = dict(replaced)
        self.between = functools.lru_cache(_MAX_PAIRS)(self._between)

    def _between(self, left: str, right: str) -> bool:
        """Whether no entry contains `left` followed by `right`, and both are entries."""
        a, b = self._replaced.get(left, left), self._replaced.get(right, right)
        return a in self._single and b in self._single and a + b not in self._joined

    def foreign_character(self, added_contents: Iterable[str]) -> str | None:
        """A character that shares no token with another: neither it nor, in longer entries, any of its bytes occurs."""
        text = self._joined + _SEPARATOR.join(added_contents)
        for code_point in _PRIVATE_USE:
            character = chr(code_point)
            byte_entries = [f"<0x{byte:02X}>" for byte in character.encode()]
            if character not in text and all(self._joined.count(entry) <= 1 for entry in byte_entries):
                return character
        return None


CJK = "\u4e00-\u9fa5\u3041-\u3094\u30a1-\u30fa\uac00-\ud7a3"
LETTERS_AND_DIGITS = "A-Za-z0-9\u0391-\u03a1\u03b1-\u03c9\u0410-\u044f\u05d0-\u05ea\u0627-\u063a" + CJK
CJK_PUNCTUATION = "\u3001\u3002\uff0c\uff0e\uff1a\uff1b\uff01\uff1f\u300a\u300b\u300c\u300d\uff08\uff09"

_BOUNDARY = re.compile(rf"(?<=[{LETTERS_AND_DIGITS}])[ \n\t,.;:!?(){CJK_PUNCTUATION}]")
_BOUNDARY_BEFORE_SPACE = re.compile(rf"(?<=[{LETTERS_AND_DIGITS}]) ")
_STARTER = re.compile(rf"[\x20-\x7e\n\t\r\u0410-\u044f{CJK}{CJK_PUNCTUATION}]")
_ANY = re.compile(r"(?s).")
# Some texts have no suitable position, and the search must remain much cheaper than tokenizing.
_MAX_WHITE_SPACE = 200
_MAX_TRIES = 32


class AddedTokens:
    """Finds added tokens near a place.

    normalizer: the tokenizer's, or None. literals: other strings that must not be divided, in the raw or the normalized
    text.
    """

    def __init__(self, tokens: Iterable[Any], normalizer: Any, literals: Iterable[str] = ()) -> None:
        self._contents: set[str] = set(literals)
        self._normalized: list[str] = list(self._contents) if normalizer is not None else []
        self._normalizer = normalizer
        for token in tokens:
            self._contents.add(token.content)
            if token.normalized and normalizer is not None:
                self._normalized.append(normalizer.normalize_str(token.content))
        self._contents.discard("")
        self._longest = max(map(len, (*self._contents, *self._normalized)), default=0)
        self._lengths: dict[str, list[int]] = {}
        for first, length in sorted({(content[0], len(content)) for content in self._contents}):
            self._lengths.setdefault(first, []).append(length)

    def may_touch(self, text: str, place: int) -> bool:
        """Whether an added token may touch `place` or the white space next to it."""
        if not self._contents:
            return False
        first, last = max(0, place - _MAX_WHITE_SPACE), min(len(text), place + _MAX_WHITE_SPACE)
        left = first + len(text[first:place].rstrip())
        right = last - len(text[place:last].lstrip())
        if place - left == _MAX_WHITE_SPACE or right - place == _MAX_WHITE_SPACE:
            return True
        for start in range(max(0, left - self._longest), min(right + 1, len(text))):
            for length in self._lengths.get(text[start], ()):
                if start + length >= left and text[start : start + length] in self._contents:
                    return True
        if not self._normalized:
            return False
        # A character is composed of at most four, so a match in the normalized text lies in this window as a whole.
        reach = 4 * self._longest + 16
        window = self._normalizer.normalize_str(text[max(0, left - reach) : right + reach])
        return any(content in window for content in self._normalized)


class Boundaries:
    """Finds the positions where one tokenizer's texts may be split. `cuts`: None unless the vocabulary decides."""

    def __init__(self, backend: Tokenizer, chunkable: Chunkable) -> None:
        tokens = backend.get_added_tokens_decoder().values()
        self._added_tokens = AddedTokens(tokens, backend.normalizer, chunkable.literals)
        self.cuts = None
        if chunkable.how == "vocabulary":
            self.cuts = VocabularyCuts(backend.get_vocab(with_added_tokens=False), chunkable.replaced)
        self._boundary = _BOUNDARY_BEFORE_SPACE if chunkable.only_before_spaces else _BOUNDARY
        self._edge = _STARTER if chunkable.composes else _ANY

    def certain(self, text: str, first: int, stop: int) -> int | None:
        """The first certain boundary in first .. stop - 1, first > 0; None if none of 32 candidates is suitable."""
        if self.cuts is None:
            return self._first_clear((found.start() for found in self._boundary.finditer(text, first, stop)), text)
        between = self.cuts.between
        return self._first_clear((p for p in range(first, min(stop, len(text))) if between(text[p - 1], text[p])), text)

    def overlap_edge(self, text: str, first: int, stop: int) -> int | None:
        """The first overlap edge in first .. stop - 1; None as in `certain`."""
        return self._first_clear((found.start() for found in self._edge.finditer(text, first, stop)), text)

    def _first_clear(self, places: Iterable[int], text: str) -> int | None:
        tried = itertools.islice(places, _MAX_TRIES)
        return next((place for place in tried if not self._added_tokens.may_touch(text, place)), None)
