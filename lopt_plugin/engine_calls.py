"""Ids alone, as engines ask for them: no BatchEncoding is made, and no call of transformers where it can be spared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .bound_tokenizer import BoundTokenizer
from .call_arguments import NotPlainError, limit_of_call
from .encoder import Encoder
from .routes import Ids
from .rows_ahead import RowsAhead
from .token_batch import TokenBatch

_T = TypeVar("_T")


class EngineCalls(BoundTokenizer):
    """After each of these, all is as after the call of transformers in whose place it stands."""

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
        """The ids of `self(text)`; None where that call has to be made."""
        ids = self._lopt_asked(lambda encoder: encoder.encode_ids(text))
        if ids is not None and len(ids) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(ids, None, True)
        return ids

    def _lopt_batch(self, texts: list[str]) -> TokenBatch | None:
        """The same of `self(texts)`."""
        batch = self._lopt_asked(lambda encoder: encoder.encode_batch_ids(texts))
        if batch is not None and len(batch.ids) > self.model_max_length:
            for row in range(len(batch)):
                self._eventual_warn_about_too_long_sequence(batch.row(row), None, True)
        return batch

    def _lopt_asked(self, ask: Callable[[Encoder], _T]) -> _T | None:
        if not self._lopt_direct:
            return None
        try:
            answer = ask(self.lopt)
        except Exception:
            # The call of transformers says it in its own words.
            return None
        self._lopt_leave(None, None)
        return answer

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
