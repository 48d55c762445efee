"""Encodes texts of trusted and untrusted segments: only trusted ones can have special tokens.

The segments are joined, and the joined text is tokenized as one text. Neighbouring trusted segments form one run. The
special tokens of a run are those that the reference finds in the run alone: untrusted text neither adds nor removes
any. Everything between them, across segments, is tokenized with `split_special_tokens`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..routes.native import NativeRoute
from ..routes.request import PLAIN, EncodeRequest
from .backend_watch import Fingerprint
from .checks import a_bool, a_text, encodable
from .operations import LIST, Operation
from .route_choice import Snapshot
from .runner import Runner
from .special_tokens import Match, SpecialTokens

# The ids of a text, and the special tokens that the model itself produced.
Answer = tuple[list[int], set[int]]


@dataclass(frozen=True)
class _Marked:
    """A text and its special tokens; the rest is ordinary text."""

    text: str
    matches: list[Match]
    tokens: SpecialTokens = field(repr=False)


class Segments:
    """Encodes segments for one runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._read: tuple[Snapshot | Fingerprint | None, SpecialTokens] | None = None

    def encode(self, segments: Iterable[tuple[str, bool]], add_special_tokens: bool) -> list[int]:
        """See Encoder.encode_segments."""
        given = [_segment(number, segment) for number, segment in enumerate(segments)]
        text = "".join(part for part, _ in given)
        if all(trusted for _, trusted in given):
            return self._runner.run("encode_segments", LIST, text, PLAIN[add_special_tokens][False])[0]
        encodable(text)
        tokens = self._special_tokens()
        matches = _find(tokens, given)
        marked = _Marked(text, matches, tokens)
        (ids, made), _ = self._runner.run("encode_segments", _MARKED, marked, PLAIN[add_special_tokens][True])
        if made:
            raise ValueError(f"the model itself makes a special token, id {min(made)}, of untrusted text")
        return ids

    def _special_tokens(self) -> SpecialTokens:
        """The special tokens in the backend's current state. Without a native route, snapshots do not track changes."""
        state, read = self._runner.state, self._read
        snapshot = state.snapshot()
        made_for = snapshot if snapshot.native is not None else state.fingerprint()
        if read is None or made_for is None or read[0] != made_for:
            hf = self._runner.hf
            self._read = read = made_for, hf.call(lambda: SpecialTokens(hf.backend))
        return read[1]


def _segment(number: int, segment: Any) -> tuple[str, bool]:
    try:
        text, trusted = segment
    except (TypeError, ValueError):
        raise TypeError(f"segments[{number}] must be a pair of a text and whether it is trusted") from None
    return a_text(text, f"the text of segments[{number}]"), a_bool(trusted, f"the trust of segments[{number}]")


def _find(tokens: SpecialTokens, segments: list[tuple[str, bool]]) -> list[Match]:
    found, at = [], 0
    for trusted, group in itertools.groupby(segments, key=lambda segment: segment[1]):
        run = "".join(text for text, _ in group)
        if trusted:
            found += [Match(at + begin, at + end, number) for begin, end, number in tokens.find(run)]
        at += len(run)
    return found


def _by_native(route: NativeRoute, given: _Marked, request: EncodeRequest) -> Answer:
    ids: list[int] = []
    made: set[int] = set()
    for begin, end, number in given.tokens.pieces(given.text, given.matches):
        if number is not None:
            ids.append(number)
        else:
            stretch = route.encode_stretch(given.text[begin:end], begin == 0)
            made |= given.tokens.ids.intersection(stretch)
            ids += stretch
    return route.post_processing.finish(ids, request), made


def _encode(route: Any, given: _Marked, request: EncodeRequest) -> Answer:
    if isinstance(route, NativeRoute):
        return _by_native(route, given, request)
    ids, of_text = given.tokens.stand_ins.encode(given.text, given.matches, request)
    return ids, of_text & given.tokens.ids


_MARKED: Operation[_Marked, Answer] = Operation(lambda snapshot, *_: snapshot.native, _encode, tuple.__eq__)
