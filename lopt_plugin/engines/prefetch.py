"""Tokenize the texts of a list before the engine asks for each of them, because engines ask for one at a time.

Native threads do the work and need the interpreter lock only to build a list of ids. A Python thread would wait for
that lock nearly as long as the engine's own thread is busy, and would slow the engine down by the time it takes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .acceleration import is_native, settings_of

if TYPE_CHECKING:
    from ..encoder.prefetch import PrefetchedIds

# A batch is tokenized at a time, and its ids are kept until they are taken.
BATCH_TEXTS = 512
BATCH_CHARS = 1 << 21
# Several texts share the threads better than the chunks of each do, unless they are this many times as long as
# `parallel_min_chars`.
LONG = 8


class Batch(NamedTuple):
    """The texts from index `first` up to `end`, and the ids of some of them, or where these are in `rows`."""

    first: int
    end: int
    ids: dict[int, Any]
    rows: PrefetchedIds | None = None

    def take(self, index: int) -> list[int] | None:
        """Ids of the text at that index, once; None if the batch has none."""
        found = self.ids.pop(index, None)
        return found if self.rows is None or found is None else self.rows.take(found)


class TextPrefetcher:
    """Texts that are tokenized together: batch by batch as they are taken, or all at once by `tokenize_all`."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._batch = Batch(0, 0, {})
        self._next: Batch | None = None
        self._kwargs: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def take(self, index: int, text: str, tokenizer: Any, kwargs: dict[str, Any]) -> list[int] | None:
        """The ids of the text at that index, only once; None if the caller has to tokenize it."""
        # The engine may have shortened or lower-cased the text.
        if self._texts[index] is not text:
            return None
        with self._lock:
            if index >= self._batch.end:
                started, self._next = self._next, None
                if started is None or kwargs != self._kwargs or not started.first <= index < started.end:
                    started = self._start(index, tokenizer, kwargs)
                self._batch = started
                self._kwargs = kwargs
                if started.end < len(self._texts):
                    self._next = self._start(started.end, tokenizer, kwargs)
            return self._batch.take(index) if kwargs == self._kwargs else None

    def tokenize_all(self, tokenizer: Any, kwargs: dict[str, Any]) -> None:
        """Tokenizes all texts in the calling thread, before any is taken."""
        self._kwargs = kwargs
        while self._batch.end < len(self._texts):
            indices, end = self._select(self._batch.end, tokenizer)
            self._batch.ids.update(self._tokenize(indices, tokenizer, kwargs))
            self._batch = self._batch._replace(end=end)

    def _start(self, first: int, tokenizer: Any, kwargs: dict[str, Any]) -> Batch:
        indices, end = self._select(first, tokenizer)
        texts = [self._texts[index] for index in indices]
        rows = tokenizer._lopt_prefetch(texts, **kwargs) if texts else None
        if rows is None:
            return Batch(first, end, self._tokenize(indices, tokenizer, kwargs))
        return Batch(first, end, {index: row for row, index in enumerate(indices)}, rows)

    def _select(self, first: int, tokenizer: Any) -> tuple[list[int], int]:
        """Indices of the texts of a batch that are tokenized together, and the end of the batch."""
        # A longer text takes all threads by itself, and one that is too long for the model must not be tokenized.
        longest = LONG * settings_of(tokenizer).parallel_min_chars
        indices: list[int] = []
        chars = 0
        end = first
        while end < len(self._texts) and len(indices) < BATCH_TEXTS and chars < BATCH_CHARS:
            length = len(self._texts[end])
            if length < longest:
                indices.append(end)
                chars += length
            end += 1
        return (indices if len(indices) > 1 and is_native(tokenizer) else []), end

    def _tokenize(self, indices: Sequence[int], tokenizer: Any, kwargs: dict[str, Any]) -> dict[int, list[int]]:
        if not indices:
            return {}
        texts = [self._texts[index] for index in indices]
        try:
            rows = tokenizer(texts, return_attention_mask=False, return_token_type_ids=False, **kwargs)["input_ids"]
        except Exception:
            # One of the texts is at fault. The error is raised when the engine asks for that text.
            return {}
        return dict(zip(indices, rows, strict=True))
