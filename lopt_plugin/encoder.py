"""Encoder: text to ids, by the best route that is exact for the tokenizer, and why that one."""

from __future__ import annotations

import logging
import platform
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import tokenizers
from tokenizers import Encoding, Tokenizer

from . import growing
from .backend_state import BackendState
from .gpu_use import LEAST_TEXT_CHARS, GpuUse, check_device
from .hf_rows import hf_encodings
from .observer import Observer
from .route_choice import Snapshot
from .routes import AcceleratedRoute, CannotEncodeError, Ids, Offsets, Route, Row
from .routes.gpu import GpuRoute
from .routes.hf import HfRoute, Truncation
from .routes.native import NativeRoute
from .row_encoding import encode_rows
from .row_kinds import Arrays, Kind, Lists
from .row_request import Columns, RowRequest
from .rows_ahead import Finish, RowsAhead
from .settings import Settings
from .token_batch import TokenBatch
from .verification import Verification

if TYPE_CHECKING:
    from .left_settings import LeftSettings

logger = logging.getLogger("lopt_plugin")
_T = TypeVar("_T")


class Encoder:
    """Encodes texts as `backend` would, and notices when `backend` changes (see backend_watch for what is noticed).

    The route is chosen when the encoder is made (at the first use if `lazy`) and again before the first call after a
    change. A tokenizer that has gone to HF stays there. Safe to use from several threads and after a fork. Counts of
    calls may miss a few when threads meet.

    split_special_tokens is the default of the methods' argument of that name; tokenizers set it to their own.
    observer is told of every call.
    """

    def __init__(self, backend: Tokenizer, settings: Settings | None = None, *, lazy: bool = False) -> None:
        self.backend = backend
        self.settings = Settings.read() if settings is None else settings
        self.split_special_tokens = False
        self.hf = HfRoute(backend)
        self.native_calls = 0
        self.chunked_calls = 0
        self.gpu_calls = 0
        self.hf_calls: Counter[str] = Counter()
        self.observer: Observer | None = None
        # What the calls of the tokenizer since the last one of transformers would have set; None if there were none. It
        # stands here, not in the tokenizer, whose pickle (and hash of it, by datasets) is the same before and after.
        self.left: LeftSettings | None = None
        self._gpu = GpuUse(backend, self.settings)
        self._state = BackendState(self.hf, self.settings)
        self._verification = Verification(self.hf, self._state, self.settings.verify)
        if not lazy:
            self.snapshot()

    def copy_for(self, backend: Tokenizer) -> Encoder:
        """An encoder for a copy of the backend; what was built for this one is shared, as far as it is still true."""
        copied = Encoder(backend, self.settings, lazy=True)
        copied.observer = self.observer
        self._state.pass_on(copied._state)
        copied._gpu = self._gpu.copy_for(backend)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # Nothing of what was built or counted: a pickle, and a hash of it (datasets), does not depend on earlier calls.
        return _restore, (self.backend, self.settings, self.split_special_tokens)

    def encode_ids(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> Ids:
        """Ids of one text, int32 [n]. What is not encodable raises the HF tokenizer's own TypeError."""
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        route: AcceleratedRoute | GpuRoute | None = None
        if isinstance(text, str):
            snapshot = self.snapshot()
            gpu = None if len(text) < LEAST_TEXT_CHARS else self._gpu.route_for_text(snapshot, text)
            route = gpu or snapshot.route_for(len(text))
        if route is not None:
            if self.settings.verify:
                return np.array(self.encode_list(text, add_special_tokens, split_special_tokens=split), dtype=np.int32)
            start = perf_counter()
            try:
                ids = route.encode_array(plain(text), add_special_tokens, split)
            except Exception as error:
                self._state.failed(route, error)
            else:
                self._count(route, start)
                return ids
        self.count_hf_call("encode_ids: " + self.snapshot().reason)
        return self.timed_hf(lambda: self.hf.encode_array(text, add_special_tokens, split))

    def encode_list(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """The same as a list of Python ints."""
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        if isinstance(text, str):
            ids = self.native_list(self.snapshot(), plain(text), add_special_tokens, split, None, False)
            if ids is not None:
                return ids
        self.count_hf_call("encode_list: " + self.snapshot().reason)
        return self.timed_hf(lambda: self.hf.encode_list(text, add_special_tokens, split))

    def encode_batch_ids(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        device: Any = None,
        *,
        split_special_tokens: bool | None = None,
    ) -> TokenBatch:
        """Ids of several texts: arrays on the host, or, with a `device` such as "cuda", torch tensors there.

        With `device`, the GPU route does the work where it can be had, whatever the batch's size. Where there is no
        such device, the tensors are on the CPU, and the log says why. Raises ValueError for what is no CUDA device.
        """
        if device not in (None, "cpu"):
            split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
            return self._batch_for_device(list(texts), add_special_tokens, device, split)
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        texts = list(texts)
        route: AcceleratedRoute | GpuRoute | None = None
        if all(isinstance(text, str) for text in texts):
            snapshot = self.snapshot()
            route = self._gpu.route_for(snapshot, texts) or snapshot.route_for(max(map(len, texts), default=0))
        if route is not None:
            start = perf_counter()
            try:
                batch = TokenBatch(*route.encode_batch(list(map(plain, texts)), add_special_tokens, split))
            except Exception as error:
                self._state.failed(route, error)
            else:
                self._count(route, start)
                return self._verified_batch(texts, batch, add_special_tokens, split)
        self.count_hf_call("encode_batch_ids: " + self.snapshot().reason)
        return self.timed_hf(lambda: TokenBatch(*self.hf.encode_batch(texts, add_special_tokens, split)))

    def _batch_for_device(self, texts: list[str], add_special_tokens: bool, device: Any, split: bool) -> TokenBatch:
        cuda = check_device(device)
        if all(isinstance(text, str) for text in texts):
            route = self._gpu.route_on(self.snapshot(), cuda)
            if route is not None:
                start = perf_counter()
                try:
                    batch = TokenBatch(*route.encode_on_device(list(map(plain, texts)), add_special_tokens, split))
                except CannotEncodeError:
                    pass
                else:
                    self._count(route, start)
                    verified = self._verified_batch(texts, batch, add_special_tokens, split)
                    return batch if verified is batch else self._gpu.moved(verified, cuda)
        on_host = self.encode_batch_ids(texts, add_special_tokens, split_special_tokens=split)
        return self._gpu.moved(on_host, cuda)

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> tuple[Ids, Offsets]:
        """Ids of one text, int32 [n], and their offset mapping, int32 [n, 2].

        Offsets are in characters of `text`, as `Encoding.offsets` of the HF tokenizer has them: the text of id i is
        `text[offsets[i, 0]:offsets[i, 1]]`, and special tokens of the post-processor have (0, 0).
        """
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        request = RowRequest(bool(add_special_tokens), split, None, "longest_first", False, None, True)
        reason = self.snapshot().reason
        if isinstance(text, str):
            try:
                columns = self.native_rows(self.snapshot(), [plain(text)], request, Arrays)
            except CannotEncodeError as error:
                reason = str(error)
            else:
                return columns.ids[0].astype(np.int32), columns.offsets[0].astype(np.int32)
        self.count_hf_call("encode_with_offsets: " + reason)
        (encoding,) = self.timed_hf(lambda: self.hf.encodings([text], bool(add_special_tokens), split))
        return np.array(encoding.ids, np.int32), np.array(encoding.offsets, np.int32).reshape(-1, 2)

    def incremental(
        self, *, add_special_tokens: bool = True, split_special_tokens: bool | None = None
    ) -> growing.IncrementalEncoder:
        """Encodes a text that grows; see IncrementalEncoder."""
        return growing.IncrementalEncoder(self, bool(add_special_tokens), self._split(split_special_tokens))

    def intervals(
        self, text: str, *, add_special_tokens: bool = False, split_special_tokens: bool | None = None
    ) -> growing.Intervals:
        """Counts ids of any part of a text; see Intervals."""
        split = self._split(split_special_tokens)
        return growing.Intervals(self, text, bool(add_special_tokens), split)

    def count(self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None) -> int:
        """How many ids the text has. What is not encodable raises the HF tokenizer's own TypeError."""
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        # The shortest way for what is asked most often: of a short text, calls and tuples cost as much as its ids.
        native = self._state.snapshot().native
        if native is not None and native.seams_checked and isinstance(text, str):
            try:
                number = native.count(text, add_special_tokens, split)
            except ValueError:
                pass
            else:
                self.native_calls += 1
                return number
        return growing.count(self, text, add_special_tokens, split)

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """`count` of each text, on all threads."""
        return growing.count_batch(self, texts, bool(add_special_tokens), self._split(split_special_tokens))

    def count_until(
        self, text: str, limit: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> int | None:
        """`count`, or None if it is more than `limit`; then the rest of the text is not read, not even for errors."""
        return growing.count_until(self, text, limit, bool(add_special_tokens), self._split(split_special_tokens))

    def cut(
        self, text: str, max_tokens: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> str:
        """The longest prefix of the text that has at most `max_tokens` ids when it is encoded by itself.

        A longer prefix may have fewer ids than a shorter one. Raises ValueError where even an empty text has more.
        """
        split = self._split(split_special_tokens)
        return text[: growing.cut(self, text, max_tokens, bool(add_special_tokens), split)]

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

    def _verified_batch(self, texts: list[str], batch: TokenBatch, add_special_tokens: bool, split: bool) -> TokenBatch:
        if not self.settings.verify or not self._verification.is_due():
            return batch
        return self._verification.batch(texts, batch, add_special_tokens, split)

    def verified_ids(
        self, text: str, ids: list[int], add_special_tokens: bool, split_special_tokens: bool
    ) -> list[int]:
        """The ids, or HF's where these are compared now and are others."""
        if not self.settings.verify or not self._verification.is_due():
            return ids
        return self._verification.ids(text, ids, add_special_tokens, split_special_tokens, None)

    def _split(self, asked: bool | None) -> bool:
        return self.split_special_tokens if asked is None else asked

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
            gpu = self._gpu.route_for_text(snapshot, text, limit, keep_end, lists=True)
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
            gpu = self._gpu.route_for(snapshot, texts, lists=True)
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
        if native is None or self.settings.verify or self._gpu.route_for(snapshot, texts, lists=True) is not None:
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

    def explain(self, text: str | Sequence[str] | None = None) -> dict[str, Any]:
        """What is active and why; for a text, or a batch of texts, the route that it would take, and in how many chunks
        a text (None: the core's choice). Nothing is encoded, and no GPU is started.
        """
        snapshot = self.snapshot()
        native, hf_chunks = snapshot.native, snapshot.hf_chunks
        explained: dict[str, Any] = {
            "route": (snapshot.longest_route or self.hf).name,
            "reason": snapshot.reason,
            "pipeline": snapshot.description,
            "threads": self.settings.threads,
            "chunk_chars": self.settings.chunk_chars,
            "parallel_min_chars": self.settings.parallel_min_chars,
            "verify": self.settings.verify,
            "versions": _versions(native is not None),
            "self_check": None if snapshot.checked is None else vars(snapshot.checked).copy(),
            "calls": {
                "native": self.native_calls,
                "hf_chunks": self.chunked_calls,
                "gpu": self.gpu_calls,
                "hf": self.hf_calls.total(),
                "verified": self.verified_calls,
            },
            "hf_calls": dict(self.hf_calls),
            "core": None if native is None else native.info(),
            "hf_chunks": None if hf_chunks is None else hf_chunks.info(),
            "gpu": self._gpu.info(),
        }
        if isinstance(text, str):
            route, gpu = snapshot.route_for(len(text)), self._gpu.outlook(snapshot, text)
            explained["text"] = {
                "characters": len(text),
                "route": "gpu" if gpu["gpu"] else (route or self.hf).name,
                "chunks": 1 if route is None or gpu["gpu"] else route.chunks(len(text)),
                "gpu": gpu,
            }
        elif text is not None:
            route, gpu = snapshot.route_for(max(map(len, text), default=0)), self._gpu.outlook(snapshot, text)
            explained["batch"] = {
                "texts": len(text),
                "characters": sum(map(len, text)),
                "route": "gpu" if gpu["gpu"] else (route or self.hf).name,
                "gpu": gpu,
            }
        return explained


def plain(text: str) -> str:
    """The text as exactly `str`: subclasses may override what the core reads."""
    return text if type(text) is str else str.__str__(text)


def _restore(backend: Tokenizer, settings: Settings, split_special_tokens: bool) -> Encoder:
    encoder = Encoder(backend, settings, lazy=True)
    encoder.split_special_tokens = split_special_tokens
    return encoder


def _versions(with_character_classes: bool) -> dict[str, str | None]:
    from . import __version__, character_classes

    transformers = sys.modules.get("transformers")
    return {
        "lopt_plugin": __version__,
        "tokenizers": tokenizers.__version__,
        "transformers": getattr(transformers, "__version__", None),
        "python": platform.python_version(),
        "character_classes": character_classes.load().tokenizers_version if with_character_classes else None,
    }
