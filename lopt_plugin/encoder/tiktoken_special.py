"""The special tokens of a tiktoken encoding: which of them a call allows and forbids in its text."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterable, Set
from typing import Literal, TypeAlias

Allowed: TypeAlias = "Literal['all'] | Set[str]"
Disallowed: TypeAlias = "Literal['all'] | Collection[str]"


class SpecialTokens:
    """The special tokens of one encoding, none of which is a prefix of another."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.all = frozenset(tokens)
        # Their common prefix, such as "<|", whose absence from a text is quick to establish.
        self._beginning = os.path.commonprefix(list(self.all))  # noqa: RUF071 - by characters

    def to_find(self, text: object, allowed: Allowed, disallowed: Disallowed) -> frozenset[str] | None:
        """The special tokens to find in a text; None if tiktoken must answer, which will raise an error.

        That is the case for a text with a disallowed token, and for arguments of the wrong type.
        """
        if type(text) is not str:
            return None
        found = self.all if isinstance(allowed, str) and allowed == "all" else allowed
        if not isinstance(found, (set, frozenset)) or not _are_texts(found):
            return None
        if isinstance(disallowed, str) and disallowed == "all":
            forbidden = self.all - found
        elif isinstance(disallowed, Collection) and _are_texts(disallowed):
            forbidden = frozenset(disallowed)
        else:
            return None
        return None if self._holds(text, forbidden) else self.all & found

    def parts(self, text: str, to_find: frozenset[str]) -> list[tuple[str, bool]]:
        """The text in parts, and whether special tokens in each are text like any other.

        There is more than one part only if some special tokens are to be found and others are text.
        """
        if not to_find or to_find == self.all:
            return [(text, not to_find)]
        parts = _pattern(to_find).split(text)
        return [(part, number % 2 == 0) for number, part in enumerate(parts) if part]

    def _holds(self, text: str, tokens: frozenset[str]) -> bool:
        if not tokens or (tokens <= self.all and self._beginning not in text):
            return False
        return _pattern(tokens).search(text) is not None


def _are_texts(tokens: Collection[object]) -> bool:
    return all(type(token) is str for token in tokens)


@functools.lru_cache(maxsize=64)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str]:
    return re.compile(f"({'|'.join(map(re.escape, sorted(tokens)))})")
