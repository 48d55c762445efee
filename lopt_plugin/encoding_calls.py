"""The calls of an accelerated tokenizer: to the Encoder where it gives what they ask for, to transformers otherwise."""

from __future__ import annotations

from typing import Any

from .batch_encoding_calls import BatchEncodingCalls
from .call_arguments import (
    TRANSFORMERS_4,
    NotPlainError,
    limit_of_call,
    rows_of_encode_plus,
    wanted_of_encode_plus,
)
from .engine_calls import EngineCalls


class EncodingCalls(EngineCalls, BatchEncodingCalls):
    """`__call__`, `encode` and `_encode_plus` of an accelerated tokenizer.

    The first two answer the commonest calls themselves; everything else goes the way it goes in transformers, at whose
    end stands `_encode_plus`, and comes to the Encoder there if it can.
    """

    _lopt_is_ours = True

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
