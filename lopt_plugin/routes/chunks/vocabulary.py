"""Cuts read off a vocabulary: neighbours that stand side by side in no entry are never in one token."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATOR = "\x00"
_MOST_PAIRS = 1 << 16
# Characters for private use, of which one that no entry holds becomes the known first word of a chunk.
_PRIVATE = range(0xE000, 0xE100)
_BYTE = re.compile("<0x[0-9A-F]{2}>")


class VocabularyCuts:
    """`replaced` is what the normalizer does to single characters. Answers are remembered, 65,536 at most."""

    def __init__(self, entries: Iterable[str], replaced: Iterable[tuple[str, str]]) -> None:
        entries = list(entries)
        self._joined = _SEPARATOR.join(entries)
        self._single = {entry for entry in entries if len(entry) == 1} - {_SEPARATOR}
        self._replaced = dict(replaced)
        self._known: dict[tuple[str, str], bool] = {}

    def between(self, left: str, right: str) -> bool:
        """Whether no token holds `left` directly followed by `right`, and both are entries."""
        answer = self._known.get((left, right))
        if answer is None:
            a, b = self._replaced.get(left, left), self._replaced.get(right, right)
            answer = a in self._single and b in self._single and a + b not in self._joined
            if len(self._known) >= _MOST_PAIRS:
                self._known.clear()
            self._known[left, right] = answer
        return answer

    def foreign_character(self, added_contents: Iterable[str]) -> str | None:
        """A character that can be in no token with another: in no entry, and its bytes, if any, in no longer entry."""
        text = self._joined + _SEPARATOR.join(added_contents)
        for number in _PRIVATE:
            character = chr(number)
            byte_entries = [f"<0x{byte:02X}>" for byte in character.encode()]
            if character not in text and all(self._joined.count(entry) <= 1 for entry in byte_entries):
                return character
        return None
