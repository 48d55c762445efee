"""The reference: the installed `tokenizers` library's own tokenizer."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from tokenizers import Encoding, Tokenizer

from . import Ids, RowOffsets
from .request import Columns, EncodeRequest, Row

_T = TypeVar("_T")
_LONGEST_WAIT_S = 60.0
_MOST_TRIES = 100


class BackendLock:
    """The lock of one backend, kept in its attributes: several tokenizers may share the backend."""

    def __init__(self) -> None:
        new_lock_now_and_after_forks(self)

    def new_lock(self) -> None:
        self.lock = threading.RLock()

    @classmethod
    def of(cls, backend: Tokenizer) -> BackendLock:
        attributes: dict[str, BackendLock] = getattr(backend, "__dict__", {})
        return attributes.get("_lopt_lock") or attributes.setdefault("_lopt_lock", cls())


def int32_ids(ids: Sequence[int] | Ids) -> Ids:
    """The ids as an array; raises OverflowError for one that the library may have and an int32 may not.

    NumPy 1 would make another id of it.
    """
    found: Ids = np.array(ids, np.uint32).view(np.int32)
    if found.size and found.min() < 0:
        raise OverflowError(f"id {max(ids)} does not fit into an array of int32; encode_list returns it")
    return found


class HfRoute:
    """Runs one backend under a lock, saving and restoring its truncation and padding.

    Truncation, padding and `encode_special_tokens` are fields of the Rust tokenizer, set before every HF call; without
    the lock, two threads would use each other's. All HF calls through an accelerated tokenizer share this lock. Other
    calls do not: the tokenizer that was passed to `accelerate` has the same backend. If someone else changes these
    fields during a call, the call is repeated, and the other's values are kept.
    """

    name = "hf"

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend
        self._lock = BackendLock.of(backend)

    @property
    def lock(self) -> Any:
        return self._lock.lock

    def call(self, function: Callable[[], _T]) -> _T:
        """`function()` under the lock.

        Up to tokenizers 0.22, if another thread decodes or encodes on the backend without our lock, changing its
        truncation fails with "Already borrowed". Nothing has happened yet, so the call is repeated.
        """
        with self.lock:
            deadline = time.monotonic() + _LONGEST_WAIT_S
            while True:
                try:
                    return function()
                except RuntimeError as error:
                    if "lready borrowed" not in str(error) or time.monotonic() > deadline:
                        raise
                time.sleep(0.0005)

    def encodings(self, rows: Sequence[Row], request: EncodeRequest) -> list[Encoding]:
        """An Encoding per row, truncated and padded; if `overflow`, the removed parts follow their row."""
        # One by one: a batch would start the thread pool of `tokenizers`, which warns at every later fork.
        encodings = self._in_state(request, lambda: [self._encode(row, request) for row in rows])
        lengths = [len(encoding.ids) for encoding in encodings]
        if request.overflow:
            encodings = [part for encoding in encodings for part in (encoding, *encoding.overflowing)]
        padding = request.padding
        if padding is not None:
            settings = {"direction": padding.side, "pad_id": padding.id, "pad_type_id": padding.type_id}
            for encoding in encodings:
                encoding.pad(padding.width(lengths), pad_token=padding.token, **settings)
        return encodings

    def _encode(self, row: Row, request: EncodeRequest) -> Encoding:
        text, pair = row if isinstance(row, tuple) else (row, None)
        special = request.add_special_tokens
        return self.backend.encode(text, pair, is_pretokenized=request.in_words, add_special_tokens=special)

    def encode_columns(self, rows: Sequence[Row], request: EncodeRequest) -> Columns:
        """The columns of each row, without `places` and the fields after it."""
        encodings = self.encodings(rows, request)
        return Columns(
            [encoding.ids for encoding in encodings],
            [encoding.type_ids for encoding in encodings],
            [encoding.special_tokens_mask for encoding in encodings],
            [encoding.attention_mask for encoding in encodings],
            [encoding.offsets for encoding in encodings] if request.offsets else None,
        )

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        ids: list[int] = self.encodings([text], request)[0].ids
        return ids

    def encode_array(self, text: str, request: EncodeRequest) -> Ids:
        return int32_ids(self.encode_list(text, request))

    def encode_batch(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Ids, RowOffsets]:
        encode, special = self.backend.encode_batch_fast, request.add_special_tokens
        encodings = self._in_state(request, lambda: encode(list(texts), add_special_tokens=special))
        rows = [encoding.ids for encoding in encodings]
        row_offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return int32_ids(list(itertools.chain.from_iterable(rows))), row_offsets

    def count(self, text: str, request: EncodeRequest) -> int:
        """The number of ids that `encode_list` returns."""
        return len(self.encode_list(text, request))

    def count_batch(self, texts: Sequence[str], request: EncodeRequest) -> list[int]:
        """`count` of each text."""
        lengths: list[int] = np.diff(self.encode_batch(texts, request)[1]).tolist()
        return lengths

    def count_until(self, given: tuple[str, int], request: EncodeRequest) -> int | None:
        """`count` of a text, or None if it is more than the limit."""
        text, limit = given
        number = self.count(text, request)
        return number if number <= limit else None

    def _in_state(self, request: EncodeRequest, encode: Callable[[], _T]) -> _T:
        """`encode()` while the backend truncates as the request says."""
        backend = self.backend
        wanted = request.truncation_settings(), None, request.split_special_tokens
        with self.lock:
            for _ in range(_MOST_TRIES):
                found, ours = call_state(backend), True
                try:
                    self.call(functools.partial(set_call_state, backend, *wanted))
                    encoded = self.call(encode)
                    ours = call_state(backend) == wanted
                finally:
                    if ours:
                        self.call(functools.partial(set_call_state, backend, *found))
                if ours:
                    break
        return encoded


CallState = tuple["dict[str, Any] | None", "dict[str, Any] | None", bool]


def call_state(backend: Tokenizer) -> CallState:
    """Truncation, padding and `encode_special_tokens`."""
    return backend.truncation, backend.padding, backend.encode_special_tokens


def set_call_state(
    backend: Tokenizer, truncation: dict[str, Any] | None, padding: dict[str, Any] | None, split_special_tokens: bool
) -> None:
    """Sets what differs; under the route's lock."""
    # Every setter waits for threads that use the backend, or fails because of them, so only differing fields are set.
    if backend.truncation != truncation:
        if truncation is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(**truncation)
    if backend.padding != padding:
        if padding is None:
            backend.no_padding()
        else:
            backend.enable_padding(**padding)
    if backend.encode_special_tokens != split_special_tokens:
        backend.encode_special_tokens = split_special_tokens


# Objects with a lock. If another thread held it at the fork, no thread of the child could ever release it.
_with_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock_now_and_after_forks(owner: Any) -> None:
    """Calls `owner.new_lock()`, now and in the child of each later fork."""
    owner.new_lock()
    _with_locks.add(owner)


def _renew_locks() -> None:
    for owner in list(_with_locks):
        owner.new_lock()


os.register_at_fork(after_in_child=_renew_locks)
