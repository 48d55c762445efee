"""The reference for `Core.pack`: texts between their added tokens, laid out as rows, in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lopt_plugin.pipeline.pipeline import AddedToken

_NO_ID = -2  # triton_kernels.common.word_ids.SEPARATOR

# A stretch of text, and the id of the added token after it; None after the last one.
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
        """All of the text, in order; the last stretch, and only it, has no token after it."""
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

    def divide(self, text: str, after: int | None, split_special_tokens: bool) -> Iterator[Stretch]:
        begin = 0
        for match in self._pattern.finditer(text):
            token = self._tokens[match.group()]
            # A special token that is to be split is text, and nothing is found in it.
            if not (split_special_tokens and token.special):
                yield text[begin : match.start()], token.id
                begin = match.end()
        yield text[begin:], after


@dataclass(frozen=True)
class Layout:
    """Pieces of text, and the separator after each: an added token, a special token, or nothing.

    pieces: [s]. token_ids: int32 [s], -2 for none. row_ends: int64 [rows], the numbers of those separators after which
    a row ends.
    """

    pieces: list[str]
    token_ids: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int64]


def lay_out(rows: Iterable[Sequence[Stretch]], prefix: Sequence[int], suffix: Sequence[int]) -> Layout:
    """Rows of stretches, each row with the ids of `prefix` before it and of `suffix` after it."""
    pieces: list[str] = []
    token_ids: list[int] = []
    row_ends: list[int] = []
    for stretches in rows:
        for token in prefix:
            pieces.append("")
            token_ids.append(token)
        for text, after in stretches:
            pieces.append(text)
            token_ids.append(_NO_ID if after is None else after)
        if suffix:
            token_ids[-1:] = suffix
            pieces.extend([""] * (len(suffix) - 1))
        row_ends.append(len(pieces) - 1)
    return Layout(pieces, np.array(token_ids, np.int32), np.array(row_ends, dtype=np.int64))
