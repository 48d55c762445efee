"""The BatchEncoding of a call. The reference's own encodings are created only on request."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Encoding
from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import TensorType, is_torch_available

from ..encoder.encoder import Encoder
from ..encoder.route_choice import Snapshot
from ..pipeline import Template
from ..routes.request import Columns, EncodeRequest, Row

# The call that a result came from: the encoder, the state of its backend at that time, the rows and the request.
Source = tuple[Encoder, Snapshot, Sequence[Row], EncodeRequest]

_new_object = object.__new__


class Places(NamedTuple):
    """Where the ids of each row came from. templates: of the given rows. rows, word_counts: of `Columns`."""

    templates: Sequence[Template]
    rows: Any
    pads_left: bool = False
    word_counts: Sequence[Any] | None = None

    def runs(self, row: int) -> list[tuple[int | None, int, int]]:
        """The row's parts: ids [begin, end) of a text, or so many that belong to none."""
        sample, padding, *ends = map(int, self.rows[row])
        pieces = self.templates[sample].pieces
        runs = [(None, 0, 1) if text is None else (text, ends[2 * text], ends[2 * text + 1]) for text, _, _ in pieces]
        return [(None, 0, padding), *runs] if self.pads_left else [*runs, (None, 0, padding)]

    def sequence_ids(self, row: int) -> list[int | None]:
        """For each id, its text."""
        return [text for text, begin, end in self.runs(row) for _ in range(begin, end)]

    def word_ids(self, row: int) -> list[int | None] | None:
        """For each id, its word; None if the texts were not split into words."""
        if self.word_counts is None:
            return None
        texts = len(self.word_counts) // len(self.templates)
        first = int(self.rows[row][0]) * texts
        words = [np.repeat(np.arange(len(n)), n).tolist() for n in self.word_counts[first : first + texts]]
        found: list[int | None] = []
        for text, begin, end in self.runs(row):
            found += [None] * (end - begin) if text is None else words[text][begin:end]
        return found


class LazyBatchEncoding(BatchEncoding):  # type: ignore[misc]
    """A BatchEncoding that computes offsets, words and tokens, which cost a whole HF call, only on request.

    It pickles as a plain BatchEncoding, including encodings, so the receiver needs neither lopt_plugin nor the
    tokenizer.
    """

    _source: Source | None = None
    _made: list[Encoding] | None = None
    _n_sequences: int | None = 1
    # Enough for callers who ask for no more than that; None: HF's encodings are made.
    _lopt_places: Places | None = None
    # Of rows that are one text each, how many ids: enough to find their places when somebody asks.
    _lopt_lengths: tuple[int, ...] | None = None

    @property
    def _encodings(self) -> list[Encoding] | None:
        if self._made is None and self._source is not None:
            encoder, snapshot, rows, request = self._source
            self._made = encoder._runner.encodings(snapshot, list(rows), request)
            self._source = None
        return self._made

    @_encodings.setter
    def _encodings(self, encodings: list[Encoding] | None) -> None:
        self._made, self._source = encodings, None

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """As in transformers."""
        told: Any = self._places(batch_index) or super()
        found: list[int | None] = told.sequence_ids(batch_index)
        return found

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        """As in transformers."""
        places = self._places(batch_index)
        found = None if places is None else places.word_ids(batch_index)
        return super().word_ids(batch_index) if found is None else found

    def _places(self, batch_index: int) -> Places | None:
        """Those of the rows, this one among them; None where the reference has to tell."""
        lengths, source = self._lopt_lengths, self._source
        if lengths is not None and source is not None:
            native, self._lopt_lengths = source[1].native, None
            assert native is not None
            template, _ = native.post_processing.templates_for(source[3])
            if template.tells_texts:
                self._lopt_places = Places([template], [(0, 0, 0, number - template.ids_added) for number in lengths])
        places = self._lopt_places
        has_row = places is not None and type(batch_index) is int and 0 <= batch_index < len(places.rows)
        return places if has_row else None

    @property
    def is_fast(self) -> bool:
        return self._source is not None or self._made is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchEncoding, (self.data, self._encodings)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyBatchEncoding:
        copied = memo[id(self)] = copy.copy(self)
        attributes = {key: value for key, value in self.__dict__.items() if key != "_source"}
        copied.__dict__ |= copy.deepcopy(attributes, memo)
        return copied


def _lazy(data: dict[str, Any], source: Source) -> LazyBatchEncoding:
    # Without __init__, which takes longer than the native core needs for a short text.
    result = _new_object(LazyBatchEncoding)
    result.data, result._source = data, source
    return result


def batch_encoding(columns: Columns, source: Source, batched: bool) -> BatchEncoding:
    """The result of a call, with its columns in transformers' order.

    batched: whether a batch was given; otherwise each column is that of the only row.
    """
    request = source[3]
    is_plain = request.is_plain and columns.type_ids is None
    if is_plain and not batched:
        return plain_batch_encoding(columns.ids[0], columns.offsets and columns.offsets[0], source, False)
    if is_plain:
        columns.type_ids = request.token_type_ids and [[0] * len(ids) for ids in columns.ids]
        columns.attention = request.attention_mask and [[1] * len(ids) for ids in columns.ids]
    data: dict[str, Any] = {"input_ids": columns.ids}
    if request.token_type_ids:
        data["token_type_ids"] = columns.type_ids
    if request.attention_mask:
        data["attention_mask"] = columns.attention
    if request.special_tokens_mask:
        data["special_tokens_mask"] = columns.special
    if request.offsets:
        is_array = isinstance(columns.offsets, np.ndarray)
        data["offset_mapping"] = columns.offsets.astype(np.int64) if is_array else columns.offsets
    if request.row_lengths:
        data["length"] = [len(ids) for ids in columns.ids]
    if request.overflow:
        data["overflow_to_sample_mapping"] = columns.places[:, 0].tolist()
    if is_plain:
        result = _lazy(data, source)
        if request.offsets:
            result._lopt_lengths = tuple(map(len, columns.ids))
        return result
    native = source[1].native
    assert native is not None
    single, pair = native.post_processing.templates_for(request)
    templates = [pair if isinstance(row, tuple) else single for row in source[2]]
    result = _lazy(data, source)
    result._n_sequences = templates[0].sequences
    if all(template.tells_texts for template in templates):
        pads_left = request.padding is not None and request.padding.side == "left"
        result._lopt_places = Places(templates, columns.places, pads_left, columns.word_counts)
    if request.tensors is not None:
        if request.tensors == TensorType.PYTORCH and is_torch_available():
            import torch

            for key, column in data.items():
                data[key] = torch.from_numpy(column) if isinstance(column, np.ndarray) else column
        return result.convert_to_tensors(request.tensors)
    if not batched and not request.overflow:
        result.data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
    return result


def plain_batch_encoding(ids: list[int], offsets: Any, source: Source, batched: bool) -> LazyBatchEncoding:
    """The result of a plain request for one text; with `offsets` if they are wanted."""
    request, number = source[3], len(ids)
    data: dict[str, Any] = {"input_ids": [ids] if batched else ids}
    if request.token_type_ids:
        data["token_type_ids"] = [[0] * number] if batched else [0] * number
    if request.attention_mask:
        data["attention_mask"] = [[1] * number] if batched else [1] * number
    result = _lazy(data, source)
    if offsets is not None:
        data["offset_mapping"] = [offsets] if batched else offsets
        result._lopt_lengths = (number,)
    return result
