"""The calls of an accelerated tokenizer: to the Encoder where they ask for plain ids, to transformers otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding, PreTrainedTokenizerFast

from .batch_encoding import LazyBatchEncoding, Source
from .call_arguments import TRANSFORMERS_4, NotPlainError, is_batch, limit_of_call, limit_of_encode_plus
from .encoder import Encoder, plain
from .overrides import BEFORE_ENCODE_PLUS, BEHIND_ENCODE_PLUS, first_override
from .route_choice import Snapshot
from .settings import Settings

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

    def _lopt_bind(self) -> Encoder:
        settings = self._lopt_settings or Settings.read()
        encoder = Encoder(self._tokenizer, settings, lazy=True)
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
            type(text) is str
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
            and not return_offsets_mapping
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
                return self._lopt_encode_one(
                    text,
                    add_special_tokens,
                    self.split_special_tokens,
                    limit,
                    max_length_given,
                    return_token_type_ids,
                    return_attention_mask,
                    verbose,
                )
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
                limit = None
                if truncation is not None or max_length is not None:
                    limit, max_length_given = limit_of_call(truncation, max_length, self.model_max_length)
                else:
                    max_length_given = None
                ids, _ = self._lopt_ids(text, add_special_tokens, self.split_special_tokens, limit, None)
                if max_length_given is None and len(ids) > self.model_max_length:
                    self._eventual_warn_about_too_long_sequence(ids, None, True)
                return ids
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

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._lopt_not_direct is not None:
                raise NotPlainError(self._lopt_not_direct)
            if text_pair is not None or args:
                raise NotPlainError("a text pair")
            batched = is_batch(text)
            if batched and TRANSFORMERS_4:
                raise NotPlainError("a batch where transformers 4 takes one text")
            return self._lopt_encode(text, batched, kwargs)
        except NotPlainError as reason:
            encoder = self.lopt
            if not TRANSFORMERS_4:
                encoder.count_hf_call(str(reason))
        hf = super()._encode_plus
        return encoder.hf.call(lambda: hf(text, text_pair, *args, **kwargs))

    def _lopt_encode(self, text: Any, batched: bool, kwargs: dict[str, Any]) -> BatchEncoding:
        """`_encode_plus` without HF. Raises NotPlainError where it takes HF."""
        limit = limit_of_encode_plus(kwargs)
        split = kwargs.get("split_special_tokens")
        return (self._lopt_encode_many if batched else self._lopt_encode_one)(
            text if batched else plain(text),
            kwargs.get("add_special_tokens", True),
            self.split_special_tokens if split is None else split,
            limit,
            kwargs.get("max_length"),
            kwargs.get("return_token_type_ids"),
            kwargs.get("return_attention_mask"),
            kwargs.get("verbose", True),
        )

    def _lopt_encode_one(
        self,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        max_length: int | None,
        return_token_type_ids: bool | None,
        return_attention_mask: bool | None,
        verbose: bool,
    ) -> BatchEncoding:
        names = self.model_input_names
        if return_token_type_ids is None:
            return_token_type_ids = "token_type_ids" in names
        ids, source = self._lopt_ids(text, add_special_tokens, split_special_tokens, limit, return_token_type_ids)
        data: dict[str, Any] = {"input_ids": ids}
        if return_token_type_ids:
            data["token_type_ids"] = [0] * len(ids)
        if "attention_mask" in names if return_attention_mask is None else return_attention_mask:
            data["attention_mask"] = [1] * len(ids)
        if max_length is None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, max_length, verbose)
        return LazyBatchEncoding.of(data, source)

    def _lopt_encode_many(
        self,
        texts: Sequence[str],
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        max_length: int | None,
        return_token_type_ids: bool | None,
        return_attention_mask: bool | None,
        verbose: bool,
    ) -> BatchEncoding:
        names = self.model_input_names
        if return_token_type_ids is None:
            return_token_type_ids = "token_type_ids" in names
        texts = tuple(map(plain, texts))
        chars = min(map(len, texts), default=0)
        encoder, snapshot, keep_end = self._lopt_ready(limit, return_token_type_ids, chars)
        rows = encoder.native_lists(snapshot, texts, add_special_tokens, split_special_tokens, limit, keep_end)
        if rows is None:
            raise NotPlainError("the native route gave no ids")
        data: dict[str, Any] = {"input_ids": rows}
        if return_token_type_ids:
            data["token_type_ids"] = [[0] * len(row) for row in rows]
        if "attention_mask" in names if return_attention_mask is None else return_attention_mask:
            data["attention_mask"] = [[1] * len(row) for row in rows]
        for row in rows:
            self._eventual_warn_about_too_long_sequence(row, max_length, verbose)
        return LazyBatchEncoding.of(
            data, (encoder, snapshot, texts, add_special_tokens, split_special_tokens, limit, keep_end)
        )

    def _lopt_ids(
        self,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        return_token_type_ids: bool | None,
    ) -> tuple[list[int], Source]:
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
            if args or not is_batch(batch_text_or_text_pairs):
                raise NotPlainError("text is not a list of str")
            return self._lopt_encode(batch_text_or_text_pairs, True, kwargs)
        except NotPlainError as reason:
            encoder = self.lopt
            encoder.count_hf_call(str(reason))
        hf = super()._batch_encode_plus
        return encoder.hf.call(lambda: hf(batch_text_or_text_pairs, *args, **kwargs))


def _says_nothing(kwargs: dict[str, Any]) -> bool:
    # What apply_chat_template always passes in transformers 5.
    return len(kwargs) == 1 and kwargs.get("sanitize_control_tokens") is False and not TRANSFORMERS_4
