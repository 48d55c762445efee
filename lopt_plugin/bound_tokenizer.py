"""An accelerated tokenizer's Encoder: made for the Rust tokenizer that it has now, and asked where a call is for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import PreTrainedTokenizerFast

from .batch_encoding import PlainSource
from .call_arguments import NotPlainError
from .encoder import Encoder
from .left_settings import CallSettings, LeftSettings
from .overrides import BEFORE_ENCODE_PLUS, BEHIND_ENCODE_PLUS, first_override
from .route_choice import Snapshot
from .row_request import Padding
from .settings import Settings

if TYPE_CHECKING:
    _Base = PreTrainedTokenizerFast
else:
    _Base = object


class BoundTokenizer(_Base):  # type: ignore[misc, valid-type]
    """What all calls of an accelerated tokenizer need."""

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
