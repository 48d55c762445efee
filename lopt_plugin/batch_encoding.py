"""A BatchEncoding whose HF encodings are made only when somebody looks at them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Encoding
from transformers.tokenization_utils_base import BatchEncoding

from .encoder import Encoder
from .route_choice import Snapshot
from .routes import Row
from .row_encoding import text_runs
from .row_request import RowRequest, Run

# The call that a result came from: encoder, its state then, rows, add_special_tokens, split_special_tokens, the number
# of ids kept (None: all) and whether the end of the text was kept. A plain tuple, as every call makes one. In place of
# the last four stands a RowRequest where that does not say it all.
PlainSource = tuple[Encoder, Snapshot, Sequence[str], bool, bool, "int | None", bool]
Source = PlainSource | tuple[Encoder, Snapshot, Sequence[Row], RowRequest]


class Places(NamedTuple):
    """Where the ids of each row came from; see `row_encoding.Columns`."""

    runs: list[list[Run]]
    samples: list[int] | None
    word_counts: list[list[Any]] | None

    def sequence_ids(self, row: int) -> list[int | None]:
        """For each id, its text."""
        found: list[int | None] = []
        for text, begin, end in self.runs[row]:
            found += [text] * (end - begin)
        return found

    def word_ids(self, row: int) -> list[int | None] | None:
        """For each id, its word; None where texts were not given in words."""
        assert self.word_counts is not None
        counts = self.word_counts[row if self.samples is None else self.samples[row]]
        if any(of_text is None for of_text in counts):
            return None
        words = [np.repeat(np.arange(len(of_text)), of_text).tolist() for of_text in counts]
        found: list[int | None] = []
        for text, begin, end in self.runs[row]:
            found += [None] * (end - begin) if text is None else words[text][begin:end]
        return found


class LazyBatchEncoding(BatchEncoding):  # type: ignore[misc]
    """Offsets, words and tokens cost a whole HF call; most callers want ids only.

    Pickles as a plain BatchEncoding, encodings included: the receiver needs neither lopt_plugin nor the tokenizer.
    """

    _source: Source | None
    _made: list[Encoding] | None
    # For who asks for no more than that; None: HF's encodings are asked.
    _lopt_places: Places | None = None
    # Of rows that are one text each, how many ids: enough to find their places when somebody asks.
    _lopt_lengths: tuple[int, ...] | None = None

    @classmethod
    def of(cls, data: dict[str, Any], source: Source, sequences: int = 1) -> LazyBatchEncoding:
        # Not through __init__, which takes longer than the native core takes for a short text.
        self = cls.__new__(cls)
        self.__dict__ = {"data": data, "_n_sequences": sequences, "_source": source, "_made": None}
        return self

    @property
    def _encodings(self) -> list[Encoding] | None:
        if self._made is None and self._source is not None:
            self._made = _encodings_of(*self._source)
            self._source = None
        return self._made

    @_encodings.setter
    def _encodings(self, encodings: list[Encoding] | None) -> None:
        self._made, self._source = encodings, None

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """As in transformers."""
        places = self._places()
        if places is not None and type(batch_index) is int and 0 <= batch_index < len(places.runs):
            return places.sequence_ids(batch_index)
        found: list[int | None] = super().sequence_ids(batch_index)
        return found

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        """As in transformers."""
        places, found = self._places(), None
        if places is not None and type(batch_index) is int and 0 <= batch_index < len(places.runs):
            found = places.word_ids(batch_index)
        if found is None:
            found = super().word_ids(batch_index)
        return found

    def _places(self) -> Places | None:
        lengths, source = self._lopt_lengths, self._source
        if lengths is not None and source is not None:
            native, self._lopt_lengths = source[1].native, None
            assert native is not None
            runs = text_runs(native, lengths, bool(source[3]))
            self._lopt_places = None if runs is None else Places(runs, None, [[None]] * len(lengths))
        return self._lopt_places

    @property
    def is_fast(self) -> bool:
        return self._source is not None or self._made is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchEncoding, (self.data, self._encodings)

    def __copy__(self) -> LazyBatchEncoding:
        copied = type(self).__new__(type(self))
        copied.__dict__ = {**self.__dict__, "data": self.data.copy()}
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyBatchEncoding:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        attributes = {key: value for key, value in self.__dict__.items() if key != "_source"}
        copied.__dict__ = {**copy.deepcopy(attributes, memo), "_source": self._source}
        return copied


def _encodings_of(encoder: Encoder, snapshot: Snapshot, rows: Sequence[Row], *call: Any) -> list[Encoding]:
    if len(call) == 1:
        (request,) = call
    else:
        add_special_tokens, split_special_tokens, limit, keep_end = call
        request = RowRequest(add_special_tokens, split_special_tokens, limit, "longest_first", keep_end, None, False)
    return encoder.encodings(snapshot, rows, request)
