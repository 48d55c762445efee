"""Chooses a tokenizer's route: the native one if it is exact and passes the check on hard texts, else HF.

Long texts of other tokenizers are split into chunks for HF if that is proven lossless.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

from ..pipeline import Unsupported, describe, read_pipeline
from ..pipeline.component_state import add_again, states_of, tokenizer_with
from ..pipeline.normalizers import replaced_texts
from ..routes import Route
from ..routes.hard_texts import hard_texts
from ..routes.hf import HfRoute
from ..routes.hf_chunks.route import HfChunksRoute
from ..routes.native import NativeRoute
from ..routes.request import EncodeRequest, Row
from ..settings import Settings, logger
from .backend_watch import (
    ADDED_TOKENS_VERSION,
    NORMALIZER,
    POST_PROCESSOR,
    BackendWatch,
    Fingerprint,
    changes,
    differ_only_in,
    same_state,
    with_options,
)
from .self_check import SelfCheck, chunks_check, self_check

if TYPE_CHECKING:
    from ..native._core import ShortEncoder

# After this many calls without a change, the backend is compared anyway.
CALLS_UNTIL_COMPARED = 256
# Reading a million takes Hugging Face more than a second, and processing them takes several times as long.
MOST_ADDED_TOKENS = 100_000


@dataclass(frozen=True)
class Snapshot:
    """What is known about the backend in one state of it. `native` is None if HF does the work, for `reason`.

    `hf_chunks` is set if HF does the work and long texts are split into chunks.

    `fingerprint` is None if the snapshot remains valid whatever happens to the backend. `model` is the backend's.
    `short` is the native route's, of this snapshot alone.
    """

    native: NativeRoute | None
    reason: str
    fingerprint: Fingerprint | None = None
    added_tokens: tuple[Any, ...] = ()
    description: dict[str, str] | None = None
    checked: SelfCheck | None = None
    hf_chunks: HfChunksRoute | None = None
    model: Any = None
    short: ShortEncoder | None = None

    def route_for(self, chars: int) -> NativeRoute | HfChunksRoute | None:
        """The route for a text of that length; None if HF encodes it as it is."""
        if self.native is not None:
            return self.native
        return self.hf_chunks if self.hf_chunks is not None and self.hf_chunks.takes(chars) else None

    @property
    def longest_route(self) -> NativeRoute | HfChunksRoute | None:
        """The route that a sufficiently long text would take."""
        return self.hf_chunks if self.native is None else self.native


def earlier_backend(snapshot: Snapshot) -> Tokenizer | None:
    """A tokenizer in the snapshot's state; None if its added tokens or its model cannot be restored."""
    assert snapshot.fingerprint is not None
    parts = snapshot.fingerprint[NORMALIZER : POST_PROCESSOR + 1]
    states = dict(zip(("normalizer", "pre_tokenizer", "post_processor"), parts, strict=True))
    model = with_options(snapshot.model, snapshot.fingerprint)
    if model is None:
        return None
    backend = tokenizer_with(model, states)
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    added = snapshot.added_tokens
    tokens = {i: AddedToken(content, **dict(zip(names, flags, strict=True))) for i, content, *flags in added}
    return backend if add_again(backend, tokens) else None


def choose_route(watch: BackendWatch | str, hf: HfRoute, settings: Settings, before: Snapshot | None) -> Snapshot:
    """Reads the backend of `watch` and `hf`, chooses a route, and logs it in one line.

    `watch` is a str, the reason, for a backend that cannot be watched. `before` is the snapshot from before the backend
    changed; whatever is still true of it is reused. The caller holds `hf.lock`.
    """
    chosen = _choose(watch, hf, settings, before)
    # Where the native route gave other ids, something about this tokenizer is not what we think: nothing is divided.
    divides = settings.route in ("auto", "gpu", "hf_chunks") and chosen.checked is None
    if isinstance(watch, BackendWatch) and divides and chosen.native is None:
        chosen = _with_chunks(chosen, watch, hf, settings)
    found, checked = chosen.longest_route, chosen.checked
    passed = ""
    if found is not None and checked is not None:
        passed = f"; self-check of {checked.texts} texts passed in {1000 * checked.seconds:.0f} ms"
    if chosen.native is not None:
        logger.info("lopt_plugin: native route, up to %d threads%s", settings.threads, passed)
    else:
        level = logging.INFO if settings.route == ("hf" if found is None else found.name) else logging.WARNING
        logger.log(level, "lopt_plugin: the HF tokenizer does the work: %s%s", chosen.reason, passed)
    return chosen


def _choose(watch: BackendWatch | str, hf: HfRoute, settings: Settings, before: Snapshot | None) -> Snapshot:
    if settings.route in ("hf", "hf_chunks"):
        return Snapshot(None, f"route is set to {settings.route!r}")
    if isinstance(watch, str):
        return Snapshot(None, watch)
    attempt, instead, description = "reading the tokenizer", "the HF tokenizer is used", None
    try:
        fingerprint, added_tokens = _state(watch)
        pipeline = read_pipeline(watch.backend)
        description = describe(pipeline)
        native = NativeRoute(pipeline, settings, _core_to_keep(before, fingerprint))
        attempt = "the self-check"
        contents = [token.content for token in pipeline.added_tokens]
        native.seam_texts = functools.partial(hard_texts, contents)
        checked = self_check(native, hf, [*replaced_texts(pipeline.normalizer), *contents])
    except BaseException as error:
        return Snapshot(None, failure(attempt, error, instead), description=description)
    if checked.mismatch is not None:
        reason = _difference(attempt, checked.mismatch, instead)
        return Snapshot(None, reason, description=description, checked=checked)
    native.takes_apart()  # no text is divided at seams until they are checked
    reason, model = "the whole pipeline is supported", watch.backend.model
    short = native.short_encoder()
    return Snapshot(native, reason, fingerprint, added_tokens, description, checked, model=model, short=short)


def _with_chunks(chosen: Snapshot, watch: BackendWatch, hf: HfRoute, settings: Settings) -> Snapshot:
    """`chosen`, where HF does the work, plus the route that splits long texts, if it is proven and passes its check."""
    if settings.threads == 1:
        return replace(chosen, reason=f"{chosen.reason}; one thread, so long texts are not divided either")
    attempt, instead = "the self-check of chunks", "long texts are not divided"
    try:
        fingerprint, added_tokens = _state(watch)
        route = HfChunksRoute(hf, settings)
        checked = chunks_check(route, hf, [token[1] for token in added_tokens])
    except BaseException as error:
        return replace(chosen, reason=f"{chosen.reason}; {instead}: {failure(attempt, error, instead)}")
    if checked.mismatch is not None:
        return replace(chosen, reason=f"{chosen.reason}; {_difference(attempt, checked.mismatch, instead)}")
    return replace(
        chosen,
        reason=f"{chosen.reason}; texts from {settings.parallel_min_chars:,} characters on are divided into chunks",
        fingerprint=fingerprint,
        added_tokens=added_tokens,
        checked=checked,
        hf_chunks=route,
        model=watch.backend.model,
    )


def _state(watch: BackendWatch) -> tuple[Fingerprint, tuple[Any, ...]]:
    """The fingerprint and the added tokens.

    Raises Unsupported for components written in Python, which have no fingerprint, and for more added tokens than are
    read in a moment.
    """
    states_of(watch.backend)
    added = watch.backend.get_vocab_size(True) - watch.backend.get_vocab_size(False)
    if added > MOST_ADDED_TOKENS:
        raise Unsupported(f"{added:,} added tokens are more than the {MOST_ADDED_TOKENS:,} that are read")
    return watch.fingerprint(), watch.added_tokens()


def failure(attempt: str, error: BaseException, instead: str) -> str:
    """The reason after an error. Unexpected errors are logged. A Rust panic is not an Exception."""
    if isinstance(error, Unsupported):
        return str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
        raise error
    logger.error("lopt_plugin: %s failed; %s", attempt, instead, exc_info=error)
    return f"{attempt} failed: {type(error).__name__}: {error}"


def _difference(check: str, mismatch: str, instead: str) -> str:
    reason = f"{check} found ids that differ from HF's in {mismatch}"
    logger.error("lopt_plugin: %s; %s. Please report this tokenizer", reason, instead)
    return reason


def _core_to_keep(before: Snapshot | None, fingerprint: Fingerprint) -> Any:
    if before is None or before.native is None or before.fingerprint is None:
        return None
    return before.native.core if differ_only_in(POST_PROCESSOR, fingerprint, before.fingerprint) else None


def watch_of(backend: Any) -> BackendWatch | str:
    """The watch of a backend, or why there is none."""
    if type(backend) is not Tokenizer:  # what stands for one may be changed without its setters
        kind = f"{type(backend).__module__}.{type(backend).__qualname__}"
        return f"the tokenizer's backend is {kind}, not tokenizers.Tokenizer"
    try:
        return BackendWatch.of(backend)
    except Unsupported as error:
        return str(error)


def fingerprint_of(watch: BackendWatch | str, make: Callable[[BackendWatch], Fingerprint]) -> Fingerprint | None:
    """A current fingerprint; None if it cannot be made."""
    try:
        return None if isinstance(watch, str) else make(watch)
    except MemoryError:
        raise
    except Exception:
        return None


def no_answer(*arguments: Any) -> None:
    """Stands for a native call that may not answer."""


class BackendState:
    """The snapshot of the backend of `hf`. Once the reference has taken over, that is permanent. Thread-safe."""

    def __init__(self, hf: HfRoute, settings: Settings) -> None:
        self._hf = hf
        self._settings = settings
        self._snapshot: Snapshot | None = None
        self._watch = watch_of(hf.backend)
        # The number of the last change anywhere when the snapshot was found to be true; how many calls may rely on it.
        self._true_at = 0
        self._calls_left = 0
        self._takes_short = True
        self._earlier_short_calls = 0
        # The ids of a short text; None if `snapshot` must be consulted.
        self.short: Callable[[str, bool], list[int] | None] = no_answer

    def snapshot(self) -> Snapshot:
        """The snapshot of the backend's current state, rebuilt after a change."""
        snapshot, last = self._snapshot, changes.last
        if snapshot is not None and self._true_at == last and self._calls_left > 0:
            self._calls_left -= 1
            if snapshot.short is None or not self._takes_short or snapshot.short.is_allowed():
                return snapshot
        if snapshot is None or self._stale(snapshot):
            snapshot = self._renew()
        # What changes from here on has a later number.
        self._true_at, self._calls_left = last, CALLS_UNTIL_COMPARED
        if snapshot.short is not None and self._takes_short:
            snapshot.short.allow(CALLS_UNTIL_COMPARED)
            self.short = snapshot.short.encode
            if changes.last != last:
                snapshot.short.stop()
        return snapshot

    def short_and_snapshot(self, given: str | Sequence[Row], request: EncodeRequest) -> tuple[Any, Snapshot] | None:
        """The ids of a short text, or of each text of a small batch, for a plain request, and the snapshot."""
        snapshot = self._snapshot
        if snapshot is None or snapshot.native is None or snapshot.short is None:
            return None
        if request.max_length is not None or request.split_special_tokens:
            return None
        if request.token_type_ids and not snapshot.native.post_processing.type_ids_are_zero:
            return None
        encode = snapshot.short.encode if type(given) is str else snapshot.short.encode_batch
        ids = encode(given, request.add_special_tokens)
        return None if ids is None else (ids, snapshot)

    def take_short(self, wanted: bool) -> None:
        """Whether `short` may answer, where calls are neither observed nor verified."""
        self._takes_short = wanted
        if not wanted:
            self._stop_short()

    @property
    def short_calls(self) -> int:
        """How many short texts have been answered without the runner."""
        snapshot = self._snapshot
        now = 0 if snapshot is None or snapshot.short is None else snapshot.short.texts
        return self._earlier_short_calls + now

    def pass_on(self, copied: BackendState) -> None:
        """To the state of a copy of the backend: what was built for this one, as far as it is true of that one."""
        snapshot = self._snapshot
        # The tokenizers of chunks share the components of this backend, which may change without the copy's notice.
        if snapshot is None or snapshot.hf_chunks is not None or self._stale(snapshot):
            return
        if snapshot.fingerprint is not None and isinstance(copied._watch, BackendWatch):
            fingerprint = copied._watch.fingerprint()
            # A copy is made through JSON, and a backend in an odd state does not come back as it was.
            same = same_state(fingerprint, snapshot.fingerprint)
            if not same or copied._watch.added_tokens() != snapshot.added_tokens:
                return
            snapshot = replace(snapshot, fingerprint=fingerprint, model=copied._watch.backend.model)
        # What one state has stopped, the other must not allow.
        short = None if snapshot.native is None else snapshot.native.short_encoder()
        copied._use(replace(snapshot, short=short))

    def failed(self, route: Route, error: Exception) -> None:
        """Hands the tokenizer over to the reference after an error that no text explains."""
        logger.error(
            "lopt_plugin: the %s route failed; the HF tokenizer is used from now on", route.name, exc_info=error
        )
        self.force_to_hf(f"the {route.name} route failed: {type(error).__name__}: {error}")

    def force_to_hf(self, reason: str) -> None:
        """Hands the tokenizer over to the reference: a snapshot without a fingerprint is never renewed."""
        with self._hf.lock:
            known = self._snapshot
            assert known is not None  # a call was answered by its route
            self._use(Snapshot(None, reason, description=known.description, checked=known.checked))

    def _stale(self, snapshot: Snapshot) -> bool:
        return snapshot.fingerprint is not None and self.fingerprint() != snapshot.fingerprint

    def fingerprint(self) -> Fingerprint | None:
        """The backend's current fingerprint; None if it cannot be made."""
        return fingerprint_of(self._watch, BackendWatch.fingerprint)

    def _renew(self) -> Snapshot:
        with self._hf.lock:
            snapshot = self._snapshot
            if snapshot is not None:
                if not self._stale(snapshot):
                    return snapshot
                same = self._same_added_tokens(snapshot)
                if same is not None:
                    self._use(same)
                    return same
            renewed = choose_route(self._watch, self._hf, self._settings, snapshot)
            self._use(renewed)
            return renewed

    def _use(self, snapshot: Snapshot) -> None:
        self._earlier_short_calls = self.short_calls
        self._stop_short()
        if snapshot.short is not None:
            self._earlier_short_calls -= snapshot.short.texts
            changes.stop_at_next(snapshot.short)
        self._snapshot = snapshot

    def _stop_short(self) -> None:
        self.short = no_answer
        if self._snapshot is not None and self._snapshot.short is not None:
            self._snapshot.short.stop()

    def _same_added_tokens(self, snapshot: Snapshot) -> Snapshot | None:
        """The snapshot under its new fingerprint if nothing but unchanged tokens was added; else None."""
        fingerprint = self.fingerprint()
        if isinstance(self._watch, str) or fingerprint is None or snapshot.fingerprint is None:
            return None
        if not differ_only_in(ADDED_TOKENS_VERSION, fingerprint, snapshot.fingerprint):
            return None
        if self._watch.added_tokens() != snapshot.added_tokens:
            return None
        return replace(snapshot, fingerprint=fingerprint)
