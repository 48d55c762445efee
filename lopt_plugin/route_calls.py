"""The calls that accelerated routes answer, for one backend: ids, rows and counts, or why HF must be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from tokenizers import Encoding, Tokenizer

from .backend_state import BackendState
from .gpu_use import LEAST_TEXT_CHARS, GpuUse
from .hf_rows import hf_encodings
from .observer import Observer
from .route_choice import Snapshot
from .routes import AcceleratedRoute, CannotEncodeError, Ids, Route, Row
from .routes.gpu import GpuRoute
from .routes.hf import HfRoute, Truncation
from .routes.native import NativeRoute
from .row_encoding import encode_rows
from .row_kinds import Kind, Lists
from .row_request import Columns, RowRequest
from .rows_ahead import Finish, RowsAhead
from .settings import Settings
from .token_batch import TokenBatch
from .verification import Verification

_T = TypeVar("_T")


class RouteCalls:
    """Asks the route that is exact for `backend` as it is now, counts what was asked, and compares a share of it.

    Where a method has no answer (None, or CannotEncodeError with the reason), the caller asks HF and counts that.
    """

    def __init__(self, backend: Tokenizer, settings: Settings | None = None) -> None:
        self.backend = backend
        self.settings = Settings.read() if settings is None else settings
        self.hf = HfRoute(backend)
        self.native_calls = 0
        self.chunked_calls = 0
        self.gpu_calls = 0
        self.hf_calls: Counter[str] = Counter()
        self.observer: Observer | None = None
        self.gpu_use = GpuUse(backend, self.settings)
        self._state = BackendState(self.hf, self.settings)
        self._verification = Verification(self.hf, self._state, self.settings.verify)

    def snapshot(self) -> Snapshot:
        """What holds for the backend as it is now; built anew where it has changed."""
        return self._state.snapshot()

    @property
    def route(self) -> Route:
        """The route that texts take now, or those that are long enough for it."""
        return self.snapshot().longest_route or self.hf

    def _count(self, route: AcceleratedRoute | GpuRoute, start: float, texts: int = 1) -> None:
        if self.observer is not None:
            self.observer.encoded(route.name, perf_counter() - start)
            if isinstance(route, NativeRoute):
                self.observer.remembered(route.new_prefix_counts())
        if route.name == "native":
            self.native_calls += texts
        elif route.name == "gpu":
            self.gpu_calls += 1
        else:
            self.chunked_calls += texts

    def count_hf_call(self, reason: str) -> None:
        """Counts a call that HF does, for `explain`."""
        self.hf_calls[reason] += 1
        if self.observer is not None:
            self.observer.fell_back(reason)

    def timed_hf(self, call: Callable[[], _T]) -> _T:
        """`call()`, which HF does, and which the observer is told of."""
        start = perf_counter()
        result = call()
        if self.observer is not None:
            self.observer.encoded(self.hf.name, perf_counter() - start)
        return result

    def native_list(
        self,
        snapshot: Snapshot,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        keep_end: bool,
    ) -> list[int] | None:
        """Ids by an accelerated route, cut to `limit` (see AcceleratedRoute); None if HF must be asked."""
        gpu = None
        if len(text) >= LEAST_TEXT_CHARS:
            gpu = self.gpu_use.route_for_text(snapshot, text, limit, keep_end, lists=True)
        route = gpu or snapshot.native or snapshot.route_for(len(text))
        if route is None:
            return None
        start = perf_counter()
        try:
            ids = route.encode_limited(text, add_special_tokens, split_special_tokens, limit, keep_end)
        except Exception as error:
            self._state.failed(route, error)
            return None
        self._count(route, start)
        if self.settings.verify and self._verification.is_due():
            side = "left" if keep_end else "right"
            truncation = None if limit is None else Truncation(limit, side)
            return self._verification.ids(text, ids, add_special_tokens, split_special_tokens, truncation)
        return ids

    def native_array(
        self, snapshot: Snapshot, text: str, add_special_tokens: bool, split_special_tokens: bool
    ) -> Ids | None:
        """`native_list` without a limit, as an int32 array."""
        if self.settings.verify:
            ids = self.native_list(snapshot, text, add_special_tokens, split_special_tokens, None, False)
            return None if ids is None else np.array(ids, dtype=np.int32)
        gpu = None if len(text) < LEAST_TEXT_CHARS else self.gpu_use.route_for_text(snapshot, text)
        route = gpu or snapshot.route_for(len(text))
        if route is None:
            return None
        start = perf_counter()
        try:
            array = route.encode_array(text, add_special_tokens, split_special_tokens)
        except Exception as error:
            self._state.failed(route, error)
            return None
        self._count(route, start)
        return array

    def native_batch(
        self, snapshot: Snapshot, texts: list[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> TokenBatch | None:
        """`native_array` of each text, in one batch; None if HF must be asked for it."""
        route = self.gpu_use.route_for(snapshot, texts) or snapshot.route_for(max(map(len, texts), default=0))
        if route is None:
            return None
        start = perf_counter()
        try:
            batch = TokenBatch(*route.encode_batch(texts, add_special_tokens, split_special_tokens))
        except Exception as error:
            self._state.failed(route, error)
            return None
        self._count(route, start)
        return self._verified_batch(texts, batch, add_special_tokens, split_special_tokens)

    def batch_on_device(
        self, cuda: str, texts: list[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> TokenBatch | None:
        """The same as tensors on a CUDA device; None where the GPU route does not give them."""
        route = self.gpu_use.route_on(self.snapshot(), cuda)
        if route is None:
            return None
        start = perf_counter()
        try:
            batch = TokenBatch(*route.encode_on_device(texts, add_special_tokens, split_special_tokens))
        except CannotEncodeError:
            return None
        self._count(route, start)
        verified = self._verified_batch(texts, batch, add_special_tokens, split_special_tokens)
        return batch if verified is batch else self.gpu_use.moved(verified, cuda)

    def native_lists(
        self,
        snapshot: Snapshot,
        texts: Sequence[str],
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        keep_end: bool,
    ) -> list[list[int]] | None:
        """`native_list` of each text; None if HF must be asked for any of them."""
        native = snapshot.native
        over_long = False
        if native is not None and limit is not None and not keep_end:
            over_long = any(native.is_over_long(text, limit) for text in texts)
        if native is not None and not self.settings.verify and not over_long:
            start = perf_counter()
            gpu = self.gpu_use.route_for(snapshot, texts, lists=True)
            try:
                rows = (gpu or native).text_lists(texts, split_special_tokens)
            except Exception as error:
                self._state.failed(gpu or native, error)
                return None
            rows = [native.finished(ids, add_special_tokens, limit, keep_end) for ids in rows]
            self._count(gpu or native, start, len(rows))
            return rows
        rows = []
        for text in texts:
            ids = self.native_list(snapshot, text, add_special_tokens, split_special_tokens, limit, keep_end)
            if ids is None:
                return None
            rows.append(ids)
        return rows

    def native_ahead(
        self,
        snapshot: Snapshot,
        texts: Sequence[str],
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        keep_end: bool,
    ) -> RowsAhead | None:
        """`native_list` of each text, encoded by threads beside the caller's; None where another way is to be taken."""
        native = snapshot.native
        if native is None or self.settings.verify or self.gpu_use.route_for(snapshot, texts, lists=True) is not None:
            return None
        if limit is not None and not keep_end and native.is_over_long(max(texts, key=len, default=""), limit):
            return None
        return RowsAhead(
            native,
            native.texts_ahead(texts, split_special_tokens),
            Finish(add_special_tokens, limit, keep_end),
            lambda seconds: self._count(native, perf_counter() - seconds, len(texts)),
            lambda error: self._state.failed(native, error),
        )

    def native_list_with_offsets(
        self,
        snapshot: Snapshot,
        text: str,
        add_special_tokens: bool,
        split_special_tokens: bool,
        limit: int | None,
        keep_end: bool,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """`native_list`, and the offsets of its ids; nothing is verified. Raises CannotEncodeError, with the reason."""
        native = snapshot.native
        if native is None:
            raise CannotEncodeError(snapshot.reason)
        start = perf_counter()
        try:
            both = native.limited_with_offsets(text, add_special_tokens, split_special_tokens, limit, keep_end)
        except CannotEncodeError:
            raise
        except Exception as error:
            self._state.failed(native, error)
            raise CannotEncodeError("the native route failed") from error
        self._count(native, start)
        return both

    def native_rows(self, snapshot: Snapshot, rows: Sequence[Row], request: RowRequest, kind: Kind) -> Columns:
        """Rows by the native route. Raises CannotEncodeError, with the reason, where HF must be asked."""
        native = snapshot.native
        if native is None:
            raise CannotEncodeError(snapshot.reason)
        start = perf_counter()
        try:
            encoded = encode_rows(native, rows, request, kind)
        except CannotEncodeError:
            raise
        except Exception as error:
            self._state.failed(native, error)
            raise CannotEncodeError("the native route failed") from error
        self._count(native, start, len(rows))
        if self.settings.verify and self._verification.is_due():
            self._verification.rows(rows, request, encoded)
        return encoded

    def encodings(self, made_from: Snapshot, rows: Sequence[Row], request: RowRequest) -> list[Encoding]:
        """HF's Encodings for rows whose ids were given out in the state `made_from`.

        Raises RuntimeError if the tokenizer has changed since then in a way that changes these ids.
        """
        encodings = hf_encodings(self.hf, rows, request)
        made_by = made_from.longest_route
        if self.snapshot() is not made_from and made_by is not None:
            if isinstance(made_by, NativeRoute):
                given = encode_rows(made_by, rows, request._replace(offsets=False), Lists).ids
            else:
                asked = request.add_special_tokens, request.split_special_tokens, request.limit, request.keep_end
                given = [made_by.encode_limited(row, *asked) for row in rows if isinstance(row, str)]
            if given != [encoding.ids for encoding in encodings]:
                raise RuntimeError(
                    "the tokenizer was changed after it made this BatchEncoding, and the HF encodings behind it "
                    "were not asked for before; ask for them first or tokenize again"
                )
        return encodings

    def native_for(self, call: str, texts: Sequence[Any]) -> NativeRoute | None:
        """The native route for a call that asks about texts; None, and counted, where HF must be asked."""
        snapshot = self.snapshot()
        native = snapshot.native
        if native is not None and native.takes_apart():
            for text in texts:
                if not isinstance(text, str):
                    break
            else:
                self.native_calls += len(texts)
                return native
        self.count_hf_call(f"{call}: {snapshot.reason}")
        return None

    @property
    def verified_calls(self) -> int:
        return self._verification.calls

    def verified_ids(
        self, text: str, ids: list[int], add_special_tokens: bool, split_special_tokens: bool
    ) -> list[int]:
        """The ids, or HF's where these are compared now and are others."""
        if not self.settings.verify or not self._verification.is_due():
            return ids
        return self._verification.ids(text, ids, add_special_tokens, split_special_tokens, None)

    def _verified_batch(self, texts: list[str], batch: TokenBatch, add_special_tokens: bool, split: bool) -> TokenBatch:
        if not self.settings.verify or not self._verification.is_due():
            return batch
        return self._verification.batch(texts, batch, add_special_tokens, split)
