"""The texts of a list, tokenized ahead of their turn: engines ask for one prompt after the other.

Native threads do it, which need no interpreter lock until a list is made. A thread of Python's would wait for that lock
nearly as long as the engine's own is busy, and take the time for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..rows_ahead import RowsAhead

# A list is tokenized piece by piece: so many ids are kept until they are asked for.
LARGEST_PIECE = 512
LARGEST_PIECE_CHARS = 1 << 21


class Piece(NamedTuple):
    """Texts from the place `first` on, up to `end`; `take` gives the ids of one, once, or None if it has none."""

    first: int
    end: int
    take: Callable[[int], list[int] | None]


class TextsAhead:
    """Texts to tokenize together: all at once by `prepare`, or, by `take`, while the ids of those before are used."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._piece = Piece(0, 0, _nothing)
        self._next: Piece | None = None
        self._kwargs: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def take(self, place: int, text: str, tokenizer: Any, kwargs: dict[str, Any]) -> list[int] | None:
        """Ids of the text at that place, once; None where it has to be tokenized by itself."""
        # The engine may have cut the text, or made it lower case.
        if self._texts[place] is not text:
            return None
        with self._lock:
            if place >= self._piece.end:
                begun, self._next = self._next, None
                if begun is None or kwargs != self._kwargs or not begun.first <= place < begun.end:
                    begun = self._begun(place, tokenizer, kwargs)
                self._piece = begun
                self._kwargs = kwargs
                if begun.end < len(self._texts):
                    self._next = self._begun(begun.end, tokenizer, kwargs)
            return self._piece.take(place) if kwargs == self._kwargs else None

    def prepare(self, tokenizer: Any, kwargs: dict[str, Any]) -> None:
        """Tokenizes all texts; for who wants that in a thread of its own choice."""
        with self._lock:
            if self._piece.end == 0:
                ids: dict[int, list[int]] = {}
                end = 0
                while end < len(self._texts):
                    places, end = self._places(end, tokenizer)
                    ids |= self._tokenized(places, tokenizer, kwargs)
                self._piece = Piece(0, end, _once(ids))
                self._kwargs = kwargs

    def _begun(self, first: int, tokenizer: Any, kwargs: dict[str, Any]) -> Piece:
        places, end = self._places(first, tokenizer)
        if not places:
            return Piece(first, end, _nothing)
        rows: RowsAhead | None = tokenizer._lopt_encode_ahead([self._texts[place] for place in places], **kwargs)
        if rows is None:
            return Piece(first, end, _once(self._tokenized(places, tokenizer, kwargs)))
        row_of = {place: row for row, place in enumerate(places)}

        def take(place: int) -> list[int] | None:
            row = row_of.pop(place, None)
            return None if row is None else rows.take(row)

        return Piece(first, end, take)

    def _places(self, first: int, tokenizer: Any) -> tuple[list[int], int]:
        """Places of the texts of a piece that are tokenized together, and where it ends."""
        # Longer ones take all threads by themselves, and one that is too long for the model must not be tokenized.
        longest = tokenizer.lopt.settings.parallel_min_chars
        places: list[int] = []
        chars = 0
        end = first
        while end < len(self._texts) and len(places) < LARGEST_PIECE and chars < LARGEST_PIECE_CHARS:
            length = len(self._texts[end])
            if length < longest:
                places.append(end)
                chars += length
            end += 1
        together = len(places) > 1 and tokenizer._lopt_direct and tokenizer.lopt.snapshot().native is not None
        return (places if together else []), end

    def _tokenized(self, places: Sequence[int], tokenizer: Any, kwargs: dict[str, Any]) -> dict[int, list[int]]:
        if not places:
            return {}
        try:
            rows = tokenizer(
                [self._texts[place] for place in places],
                return_attention_mask=False,
                return_token_type_ids=False,
                **kwargs,
            )["input_ids"]
        except Exception:
            # One of them is at fault, and is told so when it comes up.
            return {}
        return dict(zip(places, rows, strict=True))


def _nothing(place: int) -> list[int] | None:
    return None


def _once(ids: dict[int, list[int]]) -> Callable[[int], list[int] | None]:
    return lambda place: ids.pop(place, None)
