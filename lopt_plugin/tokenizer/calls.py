"""The calls of an accelerated tokenizer: answered by the Encoder if possible, otherwise by transformers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from transformers import BatchEncoding, PreTrainedTokenizerFast

from ..encoder.encoder import Encoder
from ..encoder.operations import LIST, LIST_WITH_OFFSETS
from ..encoder.prefetch import PrefetchedIds, prefetch
from ..encoder.route_choice import Snapshot
from ..encoder.token_batch import TokenBatch
from ..routes import Ids
from ..routes.request import EncodeRequest, NeedsReference, Row
from ..settings import Settings
from .arguments import TRANSFORMERS_4, request_of_call, rows_and_request
from .batch_encoding import batch_encoding, plain_batch_encoding
from .overrides import BEFORE_ENCODE_PLUS, BEHIND_ENCODE_PLUS, first_override

if TYPE_CHECKING:
    _Base = PreTrainedTokenizerFast
else:
    _Base = object

_T = TypeVar("_T")
_ONLY_STR = {str}
# The requests of calls with nothing but a text, by whether token type ids and an attention mask are among the inputs.
_PLAIN = [[EncodeRequest(token_type_ids=t, attention_mask=a) for a in (False, True)] for t in (False, True)]


class Calls(_Base):  # type: ignore[misc, valid-type]
    """`__call__`, `encode` and `_encode_plus` of an accelerated tokenizer, and the engines' calls that want only ids.

    The first two answer the most common calls. All others take the same path as in transformers, which ends at
    `_encode_plus` with every argument in its normal form. So warnings and errors about arguments remain transformers'
    own.
    """

    _lopt_is_ours = True
    # Why `_encode_plus` must leave everything to transformers; None if it need not. `_lopt_direct` also requires that
    # `__call__` and `encode` do nothing else first.
    _lopt_not_direct: str | None = None
    _lopt_direct = False

    _lopt_encoder: Encoder | None = None
    _lopt_settings: Settings | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._lopt_not_direct = first_override(cls, BEHIND_ENCODE_PLUS)
        cls._lopt_direct = cls._lopt_not_direct is None and first_override(cls, BEFORE_ENCODE_PLUS) is None

    @property
    def lopt(self) -> Encoder:
        """The Encoder of this tokenizer: ids as arrays, batches, counts, `explain`.

        >>> tokenizer.lopt.encode_ids("Hello world").tolist() == tokenizer("Hello world")["input_ids"]
        True
        """
        encoder = self._lopt_current()
        encoder._split_special_tokens = bool(self.split_special_tokens)
        return encoder

    def _lopt_current(self) -> Encoder:
        encoder = self._lopt_encoder
        return self._lopt_bind() if encoder is None or encoder._backend is not self._tokenizer else encoder

    def _lopt_bind(self) -> Encoder:
        """Lazily makes the Encoder for the current Rust tokenizer."""
        settings, before = self._lopt_settings or Settings.read(), self._lopt_encoder
        encoder = Encoder(self._tokenizer, settings, lazy=True)
        if before is not None:
            encoder._runner.observer = before._runner.observer
        self.__dict__.update(_lopt_settings=settings, _lopt_encoder=encoder)
        return encoder

    def __call__(self, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        # Most calls have no other argument, and looking at all twenty takes as long as encoding a short text.
        encoder = None
        if type(text) is str and not args and not kwargs and self._lopt_direct:
            encoder = self._lopt_undisturbed()
        if encoder is not None and (snapshot := encoder._state._snapshot) is not None and snapshot.short is not None:
            names, ids = self.model_input_names, None
            request = _PLAIN["token_type_ids" in names]["attention_mask" in names]
            if not request.token_type_ids or _type_ids_are_zero(snapshot):
                ids = snapshot.short.encode(text, True)
            if ids is not None:
                if len(ids) > self.model_max_length:
                    self._eventual_warn_about_too_long_sequence(ids, None, True)
                return plain_batch_encoding(ids, None, (encoder, snapshot, (text,), request), False)
        answer = self._lopt_call(text, *args, **kwargs)
        return super().__call__(text, *args, **kwargs) if answer is None else answer

    __call__.__signature__ = inspect.signature(PreTrainedTokenizerFast.__call__)  # type: ignore[attr-defined]

    def _lopt_call(
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
    ) -> BatchEncoding | None:
        """The answer to the most common calls; None to all others."""
        if (
            (type(text) is str or _is_batch(text))
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
            and (not kwargs or _changes_nothing(kwargs))
        ):
            try:
                request, warns = request_of_call(
                    self,
                    add_special_tokens,
                    truncation,
                    max_length,
                    return_token_type_ids,
                    return_attention_mask,
                    return_offsets_mapping,
                )
                if type(text) is str:
                    return self._lopt_answer_one(text, request, False, warns and verbose)
                if len(text) == 1:
                    return self._lopt_answer_one(text[0], request, True, warns and verbose)
                return self._lopt_answer(list(text), request, True, warns and verbose)
            except NeedsReference:
                # `_encode_plus` comes to the same answer, and counts it.
                pass
        return None

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
            if truncation is None and max_length is None:
                ids = self._lopt_short_ids(text, add_special_tokens)
                if ids is not None:
                    return ids
            try:
                return self._lopt_encode_alone(text, add_special_tokens, truncation, max_length)
            except NeedsReference:
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
            asked = rows_and_request(self, text, text_pair, args, kwargs, batches=False if TRANSFORMERS_4 else None)
            return self._lopt_answer(*asked)
        except NeedsReference as reason:
            hf = super()._encode_plus
            if TRANSFORMERS_4:  # where it calls `_batch_encode_plus`, which counts
                return self.lopt._runner.hf.call(lambda: hf(text, text_pair, *args, **kwargs))
            self.lopt._runner.count_reference_call(str(reason))
        return self._lopt_by_reference(lambda: hf(text, text_pair, *args, **kwargs))

    def _lopt_by_reference(self, call: Callable[[], Any]) -> Any:
        encoder = self.lopt
        encoder._pending_call_state = None
        return encoder._runner.timed_reference(lambda: encoder._runner.hf.call(call))

    def _lopt_answer_one(self, text: str, request: EncodeRequest, batched: bool, warns: bool) -> BatchEncoding:
        """A shortcut for `_lopt_answer` with one text and a plain request."""
        encoder, offsets = self._lopt_current(), None
        if request.offsets:
            (ids, offsets), snapshot = encoder._runner.run(None, LIST_WITH_OFFSETS, text, request)
        else:
            found = encoder._state.short_and_snapshot(text, request)
            ids, snapshot = found or encoder._runner.run(None, LIST, text, request)
        pending = encoder._pending_call_state
        if request.max_length is not None or pending is None or pending.request is not None:
            encoder._note_call_state(request)
        if warns and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return plain_batch_encoding(ids, offsets, (encoder, snapshot, (text,), request), batched)

    def _lopt_answer(self, rows: Sequence[Row], request: EncodeRequest, batched: bool, warns: bool) -> BatchEncoding:
        """The result of a call, without the reference. Raises NeedsReference."""
        encoder = self.lopt
        columns, snapshot = encoder._encode(rows, request)
        encoder._note_call_state(request)
        if warns:
            for ids in columns.ids:
                if len(ids) > self.model_max_length:
                    self._eventual_warn_about_too_long_sequence(ids, None, True)
        return batch_encoding(columns, (encoder, snapshot, rows, request), batched)

    def _lopt_encode_alone(
        self, text: str, add_special_tokens: bool = True, truncation: Any = None, max_length: int | None = None
    ) -> list[int]:
        """`encode` without the reference, where `_lopt_direct`. Raises NeedsReference."""
        request, warns = request_of_call(self, add_special_tokens, truncation, max_length)
        encoder = self._lopt_current()
        ids, _ = encoder._runner.run(None, LIST, text, request)
        encoder._note_call_state(request)
        if warns and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_short_ids(self, text: str, add_special_tokens: bool) -> list[int] | None:
        """`_lopt_encode_alone` of a short text without truncation, where nothing has changed since the last call."""
        encoder = self._lopt_undisturbed()
        ids = None if encoder is None else encoder._state.short(text, add_special_tokens)
        if ids is not None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_undisturbed(self) -> Encoder | None:
        """The encoder for a call without truncation, if the one before noted the same and no special token is split."""
        encoder = self._lopt_encoder
        if encoder is None or encoder._backend is not self._tokenizer or self.split_special_tokens:
            return None
        pending = encoder._pending_call_state
        return encoder if pending is not None and pending.request is None else None

    def _lopt_array(self, text: str) -> Ids | None:
        """The ids of `self(text)`; None if that call has to be made."""
        ids = self._lopt_asked(lambda encoder: encoder.encode_ids(text))
        if ids is not None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_batch(self, texts: list[str]) -> TokenBatch | None:
        """The same for `self(texts)`."""
        batch = self._lopt_asked(lambda encoder: encoder.encode_batch_ids(texts))
        if batch is not None and len(batch.ids) > self.model_max_length:
            for row in range(len(batch)):
                self._eventual_warn_about_too_long_sequence(batch.row(row), None, True)
        return batch

    def _lopt_asked(self, ask: Callable[[Encoder], _T]) -> _T | None:
        if not self._lopt_direct:
            return None
        encoder = self.lopt
        try:
            answer = ask(encoder)
        except MemoryError:
            raise
        except Exception:
            # transformers raises its own error.
            return None
        encoder._note_call_state(EncodeRequest())
        return answer

    def _lopt_prefetch(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        truncation: Any = None,
        max_length: int | None = None,
    ) -> PrefetchedIds | None:
        """Starts `encode` of each text on other threads; None if it is better to encode the texts one by one."""
        encoder = self.lopt
        try:
            request, warns = request_of_call(self, add_special_tokens, truncation, max_length)
            rows = prefetch(encoder._runner, texts, request)
        except NeedsReference:
            return None
        if rows is not None:
            if warns:
                rows.short_up_to = self.model_max_length
                rows.look_at = lambda ids: self._eventual_warn_about_too_long_sequence(ids, None, True)
            encoder._note_call_state(request)
        return rows

    if TRANSFORMERS_4:  # where batches have a method of their own

        def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                asked = rows_and_request(self, batch_text_or_text_pairs, None, args, kwargs, batches=True)
                return self._lopt_answer(*asked)
            except NeedsReference as reason:
                self.lopt._runner.count_reference_call(str(reason))
            hf = super()._batch_encode_plus
            return self._lopt_by_reference(lambda: hf(batch_text_or_text_pairs, *args, **kwargs))


def _type_ids_are_zero(snapshot: Snapshot) -> bool:
    return snapshot.native is not None and snapshot.native.post_processing.type_ids_are_zero


def _is_batch(text: Any) -> bool:
    return type(text) is list and len(text) > 0 and set(map(type, text)) == _ONLY_STR


def _changes_nothing(kwargs: dict[str, Any]) -> bool:
    # What apply_chat_template always passes in transformers 5.
    return len(kwargs) == 1 and kwargs.get("sanitize_control_tokens") is False and not TRANSFORMERS_4
