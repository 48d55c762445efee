"""The BatchEncodings that accelerated tokenizers make: ids and what else a call asks for, without HF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import BatchEncoding

from .batch_encoding import LazyBatchEncoding, Places, PlainSource
from .bound_tokenizer import BoundTokenizer
from .call_arguments import NotPlainError, Wanted
from .routes import CannotEncodeError, Row
from .row_encoding import sequences, tells_texts
from .row_kinds import Arrays, Lists
from .row_request import Padding, RowRequest
from .tensors import from_arrays, tensors_from_arrays


class BatchEncodingCalls(BoundTokenizer):
    """Raise NotPlainError, with the reason, where HF has to make it."""

    def _lopt_encode(self, rows: list[Row], batched: bool, wanted: Wanted) -> BatchEncoding:
        """`_encode_plus` without HF. Raises NotPlainError where it takes HF."""
        split = self.split_special_tokens if wanted.split_special_tokens is None else wanted.split_special_tokens
        if not self._lopt_only_ids(rows, wanted):
            return self._lopt_encode_rows(rows, batched, split, wanted)
        encode: Any = self._lopt_encode_many if batched else self._lopt_encode_one
        result: BatchEncoding = encode(
            rows if batched else rows[0],
            wanted.add_special_tokens,
            split,
            wanted.limit,
            wanted.max_length,
            wanted.token_type_ids,
            wanted.attention_mask,
            wanted.offsets,
            wanted.verbose,
        )
        self._lopt_leave(wanted.cut, wanted.limit)
        return result

    def _lopt_only_ids(self, rows: list[Row], wanted: Wanted) -> bool:
        """Whether all columns but offsets follow from the number of ids."""
        if not wanted.plain or wanted.cut == "only_second" or not all(isinstance(row, str) for row in rows):
            return False
        if wanted.offsets and self.lopt.settings.verify:
            return False
        asked = wanted.token_type_ids
        if not ("token_type_ids" in self.model_input_names if asked is None else asked):
            return True
        native = self.lopt.snapshot().native
        return native is None or native.token_type_ids_are_zero

    def _lopt_encode_one(
        self,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        max_length: int | None,
        return_token_type_ids: bool | None,
        return_attention_mask: bool | None,
        return_offsets_mapping: bool,
        verbose: bool,
    ) -> BatchEncoding:
        names = self.model_input_names
        if return_token_type_ids is None:
            return_token_type_ids = "token_type_ids" in names
        offsets: Any = None
        if return_offsets_mapping:
            (ids,), (offsets,), source = self._lopt_with_offsets(
                (text,), add_special_tokens, split_special_tokens, limit, return_token_type_ids
            )
        else:
            ids, source = self._lopt_ids(text, add_special_tokens, split_special_tokens, limit, return_token_type_ids)
        data: dict[str, Any] = {"input_ids": ids}
        if return_token_type_ids:
            data["token_type_ids"] = [0] * len(ids)
        if "attention_mask" in names if return_attention_mask is None else return_attention_mask:
            data["attention_mask"] = [1] * len(ids)
        if max_length is None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, max_length, verbose)
        result = LazyBatchEncoding.of(data, source)
        if return_offsets_mapping:
            data["offset_mapping"] = offsets
            result._lopt_lengths = (len(ids),)
        return result

    def _lopt_encode_many(
        self,
        texts: Sequence[str],
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        max_length: int | None,
        return_token_type_ids: bool | None,
        return_attention_mask: bool | None,
        return_offsets_mapping: bool,
        verbose: bool,
    ) -> BatchEncoding:
        names = self.model_input_names
        if return_token_type_ids is None:
            return_token_type_ids = "token_type_ids" in names
        texts = tuple(texts)
        rows: Sequence[list[int]] | None
        if return_offsets_mapping:
            rows, offsets, source = self._lopt_with_offsets(
                texts, add_special_tokens, split_special_tokens, limit, return_token_type_ids
            )
        else:
            chars = min(map(len, texts), default=0)
            encoder, snapshot, keep_end = self._lopt_ready(limit, return_token_type_ids, chars)
            rows = encoder.native_lists(snapshot, texts, add_special_tokens, split_special_tokens, limit, keep_end)
            source = (encoder, snapshot, texts, add_special_tokens, split_special_tokens, limit, keep_end)
        if rows is None:
            raise NotPlainError("the native route gave no ids")
        data: dict[str, Any] = {"input_ids": rows}
        if return_token_type_ids:
            data["token_type_ids"] = [[0] * len(row) for row in rows]
        if "attention_mask" in names if return_attention_mask is None else return_attention_mask:
            data["attention_mask"] = [[1] * len(row) for row in rows]
        for row in rows:
            self._eventual_warn_about_too_long_sequence(row, max_length, verbose)
        result = LazyBatchEncoding.of(data, source)
        if return_offsets_mapping:
            data["offset_mapping"] = offsets
            result._lopt_lengths = tuple(map(len, rows))
        return result

    def _lopt_with_offsets(
        self,
        texts: tuple[str, ...],
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        return_token_type_ids: bool | None,
    ) -> tuple[list[list[int]], list[list[tuple[int, int]]], PlainSource]:
        encoder, snapshot, keep_end = self._lopt_ready(limit, return_token_type_ids, 0)
        if encoder.settings.verify:
            raise NotPlainError("offsets are verified")
        call = (add_special_tokens, split_special_tokens, limit, keep_end)
        try:
            made = [encoder.native_list_with_offsets(snapshot, text, *call) for text in texts]
        except CannotEncodeError as error:
            raise NotPlainError(str(error)) from error
        return [ids for ids, _ in made], [offsets for _, offsets in made], (encoder, snapshot, texts, *call)

    def _lopt_encode_rows(self, rows: list[Row], batched: bool, split: bool, wanted: Wanted) -> BatchEncoding:
        """Pairs, padding, tensors and the columns that do not follow from the number of ids."""
        encoder, snapshot, keep_end = self._lopt_ready(wanted.limit, False, 0)
        padding = self._lopt_padding(wanted)
        request = RowRequest(
            wanted.add_special_tokens,
            split,
            wanted.limit,
            wanted.cut,
            keep_end,
            padding,
            wanted.offsets,
            wanted.overflow,
            wanted.stride,
        )
        # Arrays only if all rows are going to be of one length; HF has its own way with the others.
        one_length = padding or (len(rows) == 1 and not wanted.overflow)
        kind = Arrays if from_arrays(wanted.tensors) and one_length else Lists
        try:
            encoded = encoder.native_rows(snapshot, rows, request, kind)
            if kind is Arrays and not (isinstance(encoded.ids, np.ndarray) and encoded.ids.size):
                kind = Lists
                encoded = encoder.native_rows(snapshot, rows, request, kind)
        except CannotEncodeError as error:
            raise NotPlainError(str(error)) from error
        names = self.model_input_names
        type_ids = "token_type_ids" in names if wanted.token_type_ids is None else wanted.token_type_ids
        attention = "attention_mask" in names if wanted.attention_mask is None else wanted.attention_mask
        data: dict[str, Any] = {"input_ids": encoded.ids}
        if type_ids:
            data["token_type_ids"] = encoded.type_ids
        if attention:
            data["attention_mask"] = encoded.attention
        if wanted.special_tokens_mask:
            data["special_tokens_mask"] = encoded.special
        if wanted.offsets:
            data["offset_mapping"] = encoded.offsets
        if wanted.length:
            data["length"] = [len(ids) for ids in encoded.ids]
        if wanted.overflow:
            data["overflow_to_sample_mapping"] = encoded.samples
        for ids in encoded.ids:
            self._eventual_warn_about_too_long_sequence(ids, wanted.max_length, wanted.verbose)
        self._lopt_leave(wanted.cut, wanted.limit, wanted.stride, padding)
        assert snapshot.native is not None
        source = (encoder, snapshot, tuple(rows), request)
        result = LazyBatchEncoding.of(data, source, sequences(snapshot.native, rows[0], request))
        if encoded.runs is not None and tells_texts(snapshot.native, rows, request):
            result._lopt_places = Places(encoded.runs, encoded.samples, encoded.word_counts)
        if wanted.tensors is not None:
            if kind is Arrays:
                tensors_from_arrays(data, wanted.tensors)
            return result.convert_to_tensors(wanted.tensors)
        if not batched and not wanted.overflow:
            result.data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        return result

    def _lopt_padding(self, wanted: Wanted) -> Padding | None:
        if wanted.width is None:
            return None
        side = self.padding_side if wanted.padding_side is None else wanted.padding_side
        token, number, type_id = self.pad_token, self.pad_token_id, self.pad_token_type_id
        if side not in ("left", "right") or not isinstance(token, str):
            raise NotPlainError("padding_side or pad_token")
        if not all(type(value) is int and 0 <= value < 1 << 31 for value in (number, type_id)):
            raise NotPlainError("pad_token_id or pad_token_type_id is not a usual whole number")
        return Padding(wanted.width or None, wanted.multiple, side, number, type_id, token)
