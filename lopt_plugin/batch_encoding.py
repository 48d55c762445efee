"""A BatchEncoding whose HF encodings are made only when somebody looks at them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tokenizers import Encoding
from transformers.tokenization_utils_base import BatchEncoding

from .encoder import Encoder
from .route_choice import Snapshot
from .routes import Row
from .row_encoding import RowRequest

# The call that a result came from: encoder, its state then, rows, add_special_tokens, split_special_tokens, the number
# of ids kept (None: all) and whether the end of the text was kept. A plain tuple, as every call makes one. In place of
# the last four stands a RowRequest where that does not say it all.
PlainSource = tuple[Encoder, Snapshot, Sequence[str], bool, bool, "int | None", bool]
Source = PlainSource | tuple[Encoder, Snapshot, Sequence[Row], RowRequest]


class LazyBatchEncoding(BatchEncoding):  # type: ignore[misc]
    """Offsets, words and tokens cost a whole HF call; most callers want ids only.

    Pickles as a plain BatchEncoding, encodings included: the receiver needs neither lopt_plugin nor the tokenizer.
    """

    _source: Source | None
    _made: list[Encoding] | None

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
