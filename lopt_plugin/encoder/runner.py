"""Runs every call: chooses its route, times, counts and verifies it, and falls back to the reference if necessary."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

from tokenizers import Encoding, Tokenizer

from ..routes import Route
from ..routes.hf import HfRoute
from ..routes.native import NativeRoute
from ..routes.request import EncodeRequest, NeedsReference, Row
from ..settings import Settings, logger
from .gpu_policy import GpuUse
from .metrics import Observer
from .operations import COLUMNS, Operation
from .route_choice import BackendState, Snapshot, earlier_backend
from .verification import Verification

_T = TypeVar("_T")
_Given = TypeVar("_Given")


class Runner:
    """Answers calls for one backend by the route that is exact for the backend's current state."""

    def __init__(self, backend: Tokenizer, settings: Settings) -> None:
        self.settings = settings
        self.hf = HfRoute(backend)
        self.gpu = GpuUse(backend, settings)
        self.state = BackendState(self.hf, settings)
        self.verification = Verification(settings.verify)
        self._observer: Observer | None = None
        self.state.take_short(not settings.verify)
        self._native_calls = 0
        self.chunked_calls = 0
        self.gpu_calls = 0
        self.reference_calls: Counter[str] = Counter()

    def run(
        self, call: str | None, operation: Operation[_Given, _T], given: _Given, request: EncodeRequest
    ) -> tuple[_T, Snapshot]:
        """Answers a call by an accelerated route, or else by the reference, with whatever it raises.

        Args:
            call: The name under which the reference's answers are counted, with the reason. If None, the reference is
                not called.
            operation: The kind of call.
            given: The text, texts or rows.
            request: The request.

        Returns:
            The answer, and the state of the backend that it is for.

        Raises:
            NeedsReference: If the reference has to answer and `call` is None.
            MemoryError: If there is no memory for the answer. Later calls are unaffected.
        """
        snapshot, observer = self.state.snapshot(), self._observer
        start = 0.0 if observer is None else perf_counter()
        route: Route = self.hf
        try:
            found = operation.route(snapshot, self.gpu, given, request)
            if found is None:
                raise NeedsReference(snapshot.reason)
            route = found
            answer = operation.encode(route, given, request)
            if self.settings.verify and self.verification.is_due():
                self.verify(snapshot, operation, given, request, answer)
        except NeedsReference as needed:
            reason = needed
        except MemoryError:
            # It concerns this call only. The reference would abort the process.
            raise
        except Exception as error:
            self.state.failed(route, error)
            reason = NeedsReference(f"the {route.name} route failed")
        else:
            seconds = 0.0 if observer is None else perf_counter() - start
            self.count(route, 1 if operation.texts is None else operation.texts(given), seconds)
            return answer, snapshot
        if call is None:
            raise reason
        self.count_reference_call(f"{call}: {reason}")
        return self.timed_reference(lambda: operation.encode(self.hf, given, request)), snapshot

    @property
    def observer(self) -> Observer | None:
        """What is notified of every call."""
        return self._observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._observer = observer
        self.state.take_short(observer is None and not self.settings.verify)

    @property
    def native_calls(self) -> int:
        """How many texts the native route has answered."""
        return self._native_calls + self.state.short_calls

    def count(self, route: Route, texts: int, seconds: float) -> None:
        """Counts a call that `route` has answered, for `explain`, and notifies the observer."""
        if self.observer is not None:
            self.observer.encoded(route.name, seconds)
            if isinstance(route, NativeRoute):
                self.observer.remembered(route.core.new_prefix_counts())
        if route.name == "native":
            self._native_calls += texts
        elif route.name == "gpu":
            self.gpu_calls += 1
        else:
            self.chunked_calls += texts

    def count_reference_call(self, reason: str) -> None:
        """Counts a call that the reference answers, for `explain`, and notifies the observer."""
        self.reference_calls[reason] += 1
        if self.observer is not None:
            self.observer.fell_back(reason)

    def timed_reference(self, call: Callable[[], _T]) -> _T:
        """`call()`, which the reference answers; the observer gets the time."""
        start = perf_counter()
        answer = call()
        if self.observer is not None:
            self.observer.encoded(self.hf.name, perf_counter() - start)
        return answer

    def verify(
        self, made_for: Snapshot, operation: Operation[_Given, _T], given: _Given, request: EncodeRequest, answer: _T
    ) -> None:
        """Compares an answer with the reference's. If they differ, the reference answers all calls from now on.

        The reference is called twice before a difference counts, because its truncation may have been changed without
        our lock. It is the original tokenizer, never a copy: a copy is made through JSON and may give different ids.

        Raises NeedsReference if the answers differ.
        """
        if any(operation.equal(answer, operation.encode(self.hf, given, request)) for _ in range(2)):
            return
        # If the tokenizer has changed since, the difference means nothing.
        if self.state.snapshot() is made_for:
            digest = hashlib.sha256(repr(given).encode(errors="replace")).hexdigest()[:16]
            size = f"a text of {len(given)} characters" if isinstance(given, str) else "a batch"
            reason = f"verification found values that differ from HF's for {size}, sha256 {digest}"
            logger.error(
                "lopt_plugin: %s. The Hugging Face tokenizer answers, now and from now on. Please report this", reason
            )
            self.state.force_to_hf(reason)
        raise NeedsReference("verification found values that differ from HF's")

    def encodings(self, made_for: Snapshot, rows: list[Row], request: EncodeRequest) -> list[Encoding]:
        """The reference's Encodings for rows whose ids were made in the state `made_for`, whatever has changed since.

        Raises RuntimeError if the model was trained since then: its earlier state no longer exists.
        """
        made_by = made_for.longest_route
        if self.state.snapshot() is made_for or made_by is None:
            return self.hf.encodings(rows, request)
        earlier = earlier_backend(made_for)
        encodings = (self.hf if earlier is None else HfRoute(earlier)).encodings(rows, request)
        given = COLUMNS.encode(made_by, rows, request._replace(offsets=False, arrays=False)).ids
        if given != [encoding.ids for encoding in encodings]:
            raise RuntimeError(
                "the tokenizer was changed after it made this BatchEncoding, and its encodings were not asked for "
                "before; ask for them first or tokenize again"
            )
        return encodings
