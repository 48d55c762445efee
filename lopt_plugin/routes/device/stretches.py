"""Texts between their added tokens, found on the host by the rules of `pipeline.added_tokens`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...pipeline import AddedToken

# A stretch of text, and the id of the added token behind it; None behind the last one.
Stretch = tuple[str, "int | None"]


class AddedTokenFinder:
    """Divides texts that the normalizer leaves alone. Tokens that look around themselves are left to others."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        tokens = list(tokens)
        self._looking_around = [t.content for t in tokens if t.lstrip or t.rstrip or t.single_word]
        plain = [t for t in tokens if not (t.lstrip or t.rstrip or t.single_word)]
        self._passes = [
            _Pass(kind) for kind in ([t for t in plain if not t.normalized], [t for t in plain if t.normalized]) if kind
        ]

    def takes(self, text: str) -> bool:
        return not any(content in text for content in self._looking_around)

    def stretches(self, text: str, split_special_tokens: bool) -> list[Stretch]:
        """All of the text, in order; the last stretch, and only it, has no token behind it."""
        found: list[Stretch] = [(text, None)]
        for one in self._passes:
            if one.search(text):
                found = [
                    piece for stretch, token in found for piece in one.divide(stretch, token, split_special_tokens)
                ]
        return found


class _Pass:
    """Leftmost-longest matches of one set of tokens: of alternatives in order of length, the first that matches."""

    def __init__(self, tokens: list[AddedToken]) -> None:
        self._tokens = {token.content: token for token in tokens}
        contents = sorted(self._tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, contents)))
        self.search = self._pattern.search

    def divide(self, text: str, behind: int | None, split_special_tokens: bool) -> Iterator[Stretch]:
        begin = 0
        for match in self._pattern.finditer(text):
            token = self._tokens[match.group()]
            # A special token that is to be split is text, and nothing is found in it.
            if not (split_special_tokens and token.special):
                yield text[begin : match.start()], token.id
                begin = match.end()
        yield text[begin:], behind
