"""The calls of an accelerated tokenizer: to the Encoder where it gives what they ask for, to transformers otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import BatchEncoding, PreTrainedTokenizerFast

from .batch_encoding import LazyBatchEncoding, Places, PlainSource
from .call_arguments import (
    TRANSFORMERS_4,
    NotPlainError,
    Wanted,
    limit_of_call,
    rows_of_encode_plus,
    wanted_of_encode_plus,
)
from .encoder import Encoder
from .left_settings import CallSettings, LeftSettings
from .overrides import BEFORE_ENCODE_PLUS, BEHIND_ENCODE_PLUS, first_override
from .route_choice import Snapshot
from .routes import CannotEncodeError, Ids, Row
from .row_encoding import sequences, tells_texts
from .row_kinds import Arrays, Lists
from .row_request import Padding, RowRequest
from .rows_ahead import RowsAhead
from .settings import Settings
from .tensors import from_arrays, tensors_from_arrays
from .token_batch import TokenBatch

if TYPE_CHECKING:
    _Base = PreTrainedTokenizerFast
else:
    _Base = object


class EncodingCalls(_Base):  # type: ignore[misc, valid-type]
    """`__call__`, `encode` and `_encode_plus` of an accelerated tokenizer.

    The first two answer the commonest calls themselves; everything else goes the way it goes in transformers, at whose
    end stands `_encode_plus`, and comes to the Encoder there if it can.
    """

    _lopt_is_ours = True

    # Why `_encode_plus` must leave everything to transformers; None if it need not. `_lopt_direct` also asks that
    # `__call__` and `encode` do nothing else before it.
    _lopt_not_direct: str | None = None
    _lopt_direct = False

    _lopt_encoder: Encoder | None = None
    _lopt_settings: Settings | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ours = [base for base in cls.__mro__ if "_lopt_is_ours" in vars(base)]
        cls._lopt_not_direct = first_override(cls, BEHIND_ENCODE_PLUS, ours)
        cls._lopt_direct = cls._lopt_not_direct is None and first_override(cls, BEFORE_ENCODE_PLUS, ours) is None

    @property
    def lopt(self) -> Encoder:
        """The Encoder: ids as arrays, batches, `explain`."""
        encoder = self._lopt_encoder
        if encoder is None or encoder.backend is not self._tokenizer:
            encoder = self._lopt_bind()
        encoder.split_special_tokens = bool(self.split_special_tokens)
        return encoder

    @property
    def _lopt_left(self) -> LeftSettings | None:
        encoder = self._lopt_encoder
        return None if encoder is None else encoder.left

    def _lopt_bind(self) -> Encoder:
        settings = self._lopt_settings or Settings.read()
        encoder = Encoder(self._tokenizer, settings, lazy=True)
        encoder.observer = None if self._lopt_encoder is None else self._lopt_encoder.observer
        self.__dict__["_lopt_settings"] = settings
        self.__dict__["_lopt_encoder"] = encoder
        return encoder

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        add_special_tokens: bool = True,
        padding: Any = False,
        truncation: Any = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        tokenizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        if (
            (type(text) is str or _is_batch_of_one(text))
            and self._lopt_direct
            and text_pair is None
            and text_target is None
            and text_pair_target is None
            and (add_special_tokens is True or add_special_tokens is False)
            and padding is False
            and not stride
            and not is_split_into_words
            and return_tensors is None
            and not return_overflowing_tokens
            and not return_special_tokens_mask
            and not return_length
            and tokenizer_kwargs is None
            and (not kwargs or _says_nothing(kwargs))
        ):
            try:
                limit = None
                if truncation is not None or max_length is not None:
                    limit, max_length_given = limit_of_call(truncation, max_length, self.model_max_length)
                else:
                    max_length_given = None
                result = self._lopt_encode_one(
                    text if type(text) is str else text[0],
                    add_special_tokens,
                    self.split_special_tokens,
                    limit,
                    max_length_given,
                    return_token_type_ids,
                    return_attention_mask,
                    return_offsets_mapping,
                    verbose,
                )
                if type(text) is list:
                    result.data = {name: [column] for name, column in result.data.items()}
                left = self._lopt_left
                if limit is not None or left is None or left.call is not None:
                    self._lopt_leave(truncation, limit)
                return result
            except NotPlainError:
                # `_encode_plus` comes to the same answer, and counts it.
                pass
        if tokenizer_kwargs is not None:
            kwargs["tokenizer_kwargs"] = tokenizer_kwargs
        return super().__call__(
            text,
            text_pair,
            text_target,
            text_pair_target,
            add_special_tokens=add_special_tokens,
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            stride=stride,
            is_split_into_words=is_split_into_words,
            pad_to_multiple_of=pad_to_multiple_of,
            padding_side=padding_side,
            return_tensors=return_tensors,
            return_token_type_ids=return_token_type_ids,
            return_attention_mask=return_attention_mask,
            return_overflowing_tokens=return_overflowing_tokens,
            return_special_tokens_mask=return_special_tokens_mask,
            return_offsets_mapping=return_offsets_mapping,
            return_length=return_length,
            verbose=verbose,
            **kwargs,
        )

    def encode(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding: Any = False,
        truncation: Any = None,
        max_length: int | None = None,
        stride: int = 0,
        padding_side: str | None = None,
        return_tensors: Any = None,
        **kwargs: Any,
    ) -> Any:
        if (
            type(text) is str
            and self._lopt_direct
            and text_pair is None
            and (add_special_tokens is True or add_special_tokens is False)
            and padding is False
            and not stride
            and return_tensors is None
            and not kwargs
        ):
            try:
                return self._lopt_encode_alone(text, add_special_tokens, truncation, max_length)
            except NotPlainError:
                pass
        return super().encode(
            text,
            text_pair=text_pair,
            add_special_tokens=add_special_tokens,
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            stride=stride,
            padding_side=padding_side,
            return_tensors=return_tensors,
            **kwargs,
        )

    def _lopt_encode_alone(
        self, text: str, add_special_tokens: bool = True, truncation: Any = None, max_length: int | None = None
    ) -> list[int]:
        """`encode` without HF, where `_lopt_direct`. Raises NotPlainError where it takes HF."""
        limit = max_length_given = None
        if truncation is not None or max_length is not None:
            limit, max_length_given = limit_of_call(truncation, max_length, self.model_max_length)
        ids, _ = self._lopt_ids(text, add_special_tokens, self.split_special_tokens, limit, None)
        left = self._lopt_left
        if limit is not None or left is None or left.call is not None:
            self._lopt_leave(truncation, limit)
        if max_length_given is None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_array(self, text: str) -> Ids | None:
        """The ids of `self(text)`, after which all is as after that call; None where it has to be made."""
        if not self._lopt_direct:
            return None
        try:
            ids = self.lopt.encode_ids(text)
        except Exception:
            # That call says it in its own words.
            return None
        left = self._lopt_left
        if left is None or left.call is not None:
            self._lopt_leave(None, None)
        if len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_batch(self, texts: list[str]) -> TokenBatch | None:
        """The same of `self(texts)`."""
        if not self._lopt_direct:
            return None
        try:
            batch = self.lopt.encode_batch_ids(texts)
        except Exception:
            # That call says it in its own words.
            return None
        left = self._lopt_left
        if left is None or left.call is not None:
            self._lopt_leave(None, None)
        if len(batch.ids) > self.model_max_length:
            for row in range(len(batch)):
                self._eventual_warn_about_too_long_sequence(batch.row(row), None, True)
        return batch

    def _lopt_encode_ahead(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        truncation: Any = None,
        max_length: int | None = None,
    ) -> RowsAhead | None:
        """`encode` of each text, one at a time, where `_lopt_direct`; None where another way is to be taken."""
        try:
            limit, max_length_given = limit_of_call(truncation, max_length, self.model_max_length)
            encoder, snapshot, keep_end = self._lopt_ready(limit, None, min(map(len, texts), default=0))
        except NotPlainError:
            return None
        split = self.split_special_tokens
        rows = encoder.native_ahead(snapshot, texts, add_special_tokens, split, limit, keep_end)
        if rows is not None:
            if max_length_given is None:
                rows.look_at_longer_than(
                    self.model_max_length, lambda ids: self._eventual_warn_about_too_long_sequence(ids, None, True)
                )
            self._lopt_leave(truncation, limit)
        return rows

    def _lopt_leave(self, truncation: Any, limit: int | None, stride: int = 0, padding: Padding | None = None) -> None:
        """Notes what a call asked for; truncation: the argument of that name, or its value."""
        call = None
        if limit is not None or padding is not None:
            strategy = truncation if truncation in ("only_first", "only_second") else "longest_first"
            strategy = None if limit is None else str(getattr(strategy, "value", strategy))
            call = CallSettings(strategy, limit, stride, self.truncation_side, padding)
        left = self._lopt_left
        if left is None or left.call != call:
            self.lopt.left = LeftSettings(self._tokenizer, call)

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._lopt_not_direct is not None:
                raise NotPlainError(self._lopt_not_direct)
            if args:
                raise NotPlainError("positional arguments")
            rows, batched = rows_of_encode_plus(text, text_pair, bool(kwargs.get("is_split_into_words")))
            if batched and TRANSFORMERS_4:
                raise NotPlainError("a batch where transformers 4 takes one text")
            return self._lopt_encode(rows, batched, wanted_of_encode_plus(kwargs))
        except NotPlainError as reason:
            encoder = self.lopt
            if not TRANSFORMERS_4:
                encoder.count_hf_call(str(reason))
        hf = super()._encode_plus
        encoder.left = None
        return encoder.timed_hf(lambda: encoder.hf.call(lambda: hf(text, text_pair, *args, **kwargs)))

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

    def _lopt_ids(
        self,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        return_token_type_ids: bool | None,
    ) -> tuple[list[int], PlainSource]:
        encoder, snapshot, keep_end = self._lopt_ready(limit, return_token_type_ids, len(text))
        ids = encoder.native_list(snapshot, text, add_special_tokens, split_special_tokens, limit, keep_end)
        if ids is None:
            raise NotPlainError("the native route gave no ids")
        return ids, (encoder, snapshot, (text,), add_special_tokens, split_special_tokens, limit, keep_end)

    def _lopt_ready(
        self, limit: int | None, return_token_type_ids: bool | None, chars: int
    ) -> tuple[Encoder, Snapshot, bool]:
        """The encoder, its state and whether the end is kept. Raises NotPlainError if the call is not for it.

        chars: length of the shortest text.
        """
        encoder = self._lopt_encoder
        if encoder is None or encoder.backend is not self._tokenizer:
            encoder = self._lopt_bind()
        snapshot = encoder.snapshot()
        route = snapshot.native or snapshot.route_for(chars)
        if route is None:
            raise NotPlainError(snapshot.reason)
        if return_token_type_ids and not route.token_type_ids_are_zero:
            raise NotPlainError("token type ids that are not all 0")
        if limit is None:
            return encoder, snapshot, False
        if limit <= route.special_tokens_added:
            raise NotPlainError("max_length leaves no room for the text")
        if self.truncation_side not in ("left", "right"):
            raise NotPlainError("truncation_side")
        return encoder, snapshot, self.truncation_side == "left"


class EncodingCalls4(EncodingCalls):
    """The same in transformers 4, where batches have a method of their own."""

    _lopt_is_ours = True

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._lopt_not_direct is not None:
                raise NotPlainError(self._lopt_not_direct)
            if args:
                raise NotPlainError("positional arguments")
            wanted = wanted_of_encode_plus(kwargs)
            rows, batched = rows_of_encode_plus(batch_text_or_text_pairs, None)
            if not batched:
                raise NotPlainError("text is not a list")
            return self._lopt_encode(rows, True, wanted)
        except NotPlainError as reason:
            encoder = self.lopt
            encoder.count_hf_call(str(reason))
        hf = super()._batch_encode_plus
        encoder.left = None
        return encoder.timed_hf(lambda: encoder.hf.call(lambda: hf(batch_text_or_text_pairs, *args, **kwargs)))


def _is_batch_of_one(text: Any) -> bool:
    # Engines pass single prompts so.
    return type(text) is list and len(text) == 1 and type(text[0]) is str


def _says_nothing(kwargs: dict[str, Any]) -> bool:
    # What apply_chat_template always passes in transformers 5.
    return len(kwargs) == 1 and kwargs.get("sanitize_control_tokens") is False and not TRANSFORMERS_4
