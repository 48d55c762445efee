"""Special tokens of trusted text, found as the reference finds them (`pipeline/added_tokens.py` has its rules)."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer

from ..pipeline import Unsupported
from ..pipeline.component_state import added_tokens_of, states_of, steps_of
from ..routes.request import NeedsReference
from ..unicode_tables.load import character_classes
from ..unicode_tables.normalizers import added_token_white_space
from ..unicode_tables.table import WORD
from .stand_ins import StandIns


class Match(NamedTuple):
    """A special token at text[begin:end], without white space around it."""

    begin: int
    end: int
    id: int


class SpecialTokens:
    """The special tokens of a backend in one state of it.

    ids: the ids that only trusted text may have. The unknown token's is not among them, because any text may contain
    characters that the model does not know.
    """

    def __init__(self, backend: Tokenizer) -> None:
        self._backend = backend
        self._tokens: dict[int, AddedToken] = added_tokens_of(backend)
        self._special = {number: token for number, token in self._tokens.items() if token.special}
        self.ids = frozenset(self._special.keys() - {_unknown_id(backend)})
        raw = {number: token for number, token in self._tokens.items() if not token.normalized}
        others = {number: token for number, token in self._tokens.items() if token.normalized}
        normalizes = _normalizes(backend)
        self._passes = [_Pass(tokens) for tokens in ((raw,) if normalizes else (raw, others)) if tokens]
        self._normalized = [token.content for token in others.values() if token.special and normalizes]
        white_space = added_token_white_space()
        self._white_run = re.compile(f"[{re.escape(white_space)}]*")
        self._white_edges = any(edge in white_space for token in raw.values() for edge in _edges(token))
        self._unclear = self._unclear_token()

    def find(self, text: str) -> list[Match]:
        """The special tokens of a trusted text alone, in order. Raises ValueError if they are ambiguous."""
        if self._unclear is not None:
            raise ValueError(f"trusted beside untrusted text: what surrounds {self._unclear!r} decides (single_word)")
        found, gaps = [], [(0, len(text))]
        for tokens in self._passes:
            left = []
            for begin, end in gaps:
                for match in tokens.find(text, begin, end):
                    first, last = self._with_white_space(text, match, begin, end)
                    left.append((begin, first))
                    begin = last
                    if match.id in self._special:
                        found.append(match)
                left.append((begin, end))
            gaps = left
        if self._normalized:
            self._check_normalized(text[begin:end] for begin, end in gaps if begin < end)
        return sorted(found)

    def pieces(self, text: str, matches: list[Match]) -> Iterator[tuple[int, int, int | None]]:
        """The matches, with the white space they take, and the stretches around them: begin, end, and id or None.

        Raises NeedsReference if a token that begins or ends with white space may lie in the white space they take.
        """
        at = 0
        for match in matches:
            first, last = self._with_white_space(text, match, at, len(text))
            if self._white_edges and (first, last) != match[:2]:
                raise NeedsReference("a special token takes white space, which other added tokens hold")
            if at < first:
                yield at, first, None
            yield first, last, match.id
            at = last
        if at < len(text):
            yield at, len(text), None

    def _with_white_space(self, text: str, match: Match, begin: int, end: int) -> tuple[int, int]:
        """Where a match begins and ends with the white space of text[begin:end] that its token takes."""
        first, last, token = match.begin, match.end, self._tokens[match.id]
        if token.lstrip and first > begin:
            first = begin + len(text[begin:first].rstrip(added_token_white_space()))
        if token.rstrip and (run := self._white_run.match(text, last, end)) is not None:
            last = run.end()
        return first, last

    def _unclear_token(self) -> str | None:
        """A special token that must be a single word, or next to which such a token would not be one."""
        words = any(token.single_word for token in self._tokens.values())
        for token in self._special.values():
            if token.single_word or (words and any(map(_is_word, _edges(token)))):
                return token.content
        return None

    @functools.cached_property
    def stand_ins(self) -> StandIns:
        """Raises NeedsReference if the backend cannot be copied."""
        return StandIns(self._backend, self._tokens)

    def _check_normalized(self, texts: Iterator[str]) -> None:
        normalize = self._backend.normalizer.normalize_str
        contents = {normalize(content): content for content in self._normalized}
        for text in texts:
            normalized = normalize(text)
            for content, token in contents.items():
                if content in normalized:
                    raise ValueError(f"trusted beside untrusted text: the special token {token!r} is normalized")


class _Pass:
    """Added tokens that the reference searches for together: leftmost, then longest."""

    def __init__(self, tokens: dict[int, AddedToken]) -> None:
        self._ids = {token.content: number for number, token in tokens.items()}
        self._lengths = sorted({len(content) for content in self._ids}, reverse=True)
        self._first = re.compile("[" + "".join({re.escape(content[0]) for content in self._ids}) + "]")
        self._words = {number for number, token in tokens.items() if token.single_word}

    def find(self, text: str, begin: int, end: int) -> Iterator[Match]:
        """Those of text[begin:end], of which nothing else is looked at."""
        at = begin
        while (candidate := self._first.search(text, at, end)) is not None:
            at = candidate.start()
            ends = (at + length for length in self._lengths if at + length <= end)
            stop = next((stop for stop in ends if text[at:stop] in self._ids), None)
            if stop is None:
                at += 1
                continue
            number = self._ids[text[at:stop]]
            joined = (at > begin and _is_word(text[at - 1])) or (stop < end and _is_word(text[stop]))
            if not (number in self._words and joined):
                yield Match(at, stop, number)
            at = stop


def _edges(token: AddedToken) -> tuple[str, str]:
    return token.content[0], token.content[-1]


def _is_word(character: str) -> bool:
    return bool(character_classes().of(character) & WORD)


def _unknown_id(backend: Tokenizer) -> Any:
    model = backend.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else backend.token_to_id(model.unk_token)
    return json.loads(model.__getstate__()).get("unk_id")


def _normalizes(backend: Tokenizer) -> bool:
    try:
        return bool(steps_of(states_of(backend)[0], "normalizers"))
    except Unsupported:
        return True
