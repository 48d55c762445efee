"""Compares a share of all calls with HF; after a difference HF does them all."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

from tokenizers import Encoding

from .backend_state import BackendState
from .hf_rows import hf_encodings
from .routes import CannotEncodeError, Row
from .routes.hf import HfRoute, Truncation
from .row_request import Columns, RowRequest
from .token_batch import TokenBatch

logger = logging.getLogger("lopt_plugin")


class Verification:
    """share: of the calls that are compared, 0 to 1. calls: how many were.

    A difference counts only where HF gives it on a private copy too: somebody may have changed the shared backend's
    truncation without our lock.
    """

    def __init__(self, hf: HfRoute, state: BackendState, share: float) -> None:
        self.calls = 0
        self._hf = hf
        self._state = state
        self._share = share
        self._due = 0.0

    def is_due(self) -> bool:
        """Whether this call is one that is compared; to be asked once a call."""
        self._due += self._share
        if self._due < 1.0:
            return False
        self._due -= 1.0
        return True

    def ids(
        self, text: str, ids: list[int], add_special_tokens: bool, split: bool, truncation: Truncation | None
    ) -> list[int]:
        """The ids, or HF's where those are others."""
        self.calls += 1
        expected: list[int] = self._hf.encodings([text], add_special_tokens, split, truncation)[0].ids
        if expected == ids:
            return ids
        private = self._hf.on_private_copy()
        expected = private.encodings([text], add_special_tokens, split, truncation)[0].ids
        if expected != ids:
            self._differs(f"other ids than HF's for a text of {len(text)} characters, sha256 {_digest(text)}")
        return expected

    def batch(self, texts: list[str], batch: TokenBatch, add_special_tokens: bool, split: bool) -> TokenBatch:
        """The batch, or HF's where that is another."""
        for index, text in enumerate(texts):
            ids = batch.row(index).tolist()
            if self.ids(text, ids, add_special_tokens, split, None) != ids:
                return TokenBatch(*self._hf.encode_batch(texts, add_special_tokens, split))
        return batch

    def rows(self, rows: Sequence[Row], request: RowRequest, encoded: Columns) -> None:
        """Raises CannotEncodeError where HF's values are others."""
        self.calls += 1
        found = [_comparable(encoded, number) for number in range(len(encoded.ids))]
        if found == [_expected(encoding, request) for encoding in hf_encodings(self._hf, rows, request)]:
            return
        private = self._hf.on_private_copy()
        if found != [_expected(encoding, request) for encoding in hf_encodings(private, rows, request)]:
            self._differs(f"other values than HF's for a batch of {len(rows)}, sha256 {_digest(repr(rows))}")
            raise CannotEncodeError("verification found other values than HF's")

    def _differs(self, how: str) -> None:
        # Where the tokenizer was changed meanwhile, the difference says nothing.
        if not self._state.stayed():
            return
        reason = f"verification found {how}"
        logger.error("lopt_plugin: %s; HF's are returned, and the HF tokenizer is used from now on", reason)
        self._state.force_to_hf(reason)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _comparable(columns: Columns, row: int) -> tuple[list[Any], ...]:
    parts = (columns.ids, columns.type_ids, columns.special, columns.attention)
    offsets = [] if columns.offsets is None else [(int(begin), int(end)) for begin, end in columns.offsets[row]]
    return *(list(map(int, part[row])) for part in parts), offsets


def _expected(encoding: Encoding, request: RowRequest) -> tuple[list[Any], ...]:
    offsets = encoding.offsets if request.offsets else []
    return encoding.ids, encoding.type_ids, encoding.special_tokens_mask, encoding.attention_mask, offsets
