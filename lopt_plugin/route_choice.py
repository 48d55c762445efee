"""Which route a tokenizer takes: the native one where it is exact and proves it on hard texts, else HF, and why."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from .backend_watch import POST_PROCESSOR, BackendWatch, Fingerprint, differ_only_in
from .pipeline import Unsupported, describe, read_pipeline
from .pipeline.normalizers import replaced_texts
from .routes.hf import HfRoute
from .routes.native import NativeRoute, NativeUnavailableError
from .self_check import SelfCheck, self_check
from .settings import Settings

logger = logging.getLogger("lopt_plugin")


@dataclass(frozen=True)
class Snapshot:
    """What was found out about the backend in one state of it. `native` is None where HF does the work, for `reason`.

    `fingerprint` is None where the snapshot stays valid whatever happens to the backend.
    """

    native: NativeRoute | None
    reason: str
    fingerprint: Fingerprint | None = None
    added_tokens: tuple[Any, ...] = ()
    description: dict[str, str] | None = None
    checked: SelfCheck | None = None


def choose_route(watch: BackendWatch | None, hf: HfRoute, settings: Settings, before: Snapshot | None) -> Snapshot:
    """Reads the backend behind `watch` and `hf`, and says in one log line what came of it.

    `watch` is None for a backend that is not a tokenizers.Tokenizer. `before` is what held before the backend changed;
    what is still true of it is taken over. The caller holds `hf.lock`.
    """
    chosen = _choose(watch, hf, settings, before)
    checked = chosen.checked
    if chosen.native is not None and checked is not None:
        logger.info(
            "lopt_plugin: native route, up to %d threads; self-check of %d texts passed in %.0f ms",
            settings.threads,
            checked.texts,
            1000 * checked.seconds,
        )
    else:
        level = logging.INFO if settings.route == "hf" else logging.WARNING
        logger.log(level, "lopt_plugin: the HF tokenizer does the work: %s", chosen.reason)
    return chosen


def _choose(watch: BackendWatch | None, hf: HfRoute, settings: Settings, before: Snapshot | None) -> Snapshot:
    if settings.route == "hf":
        return Snapshot(None, "route is set to 'hf'")
    if watch is None:
        kind = f"{type(hf.backend).__module__}.{type(hf.backend).__qualname__}"
        return Snapshot(None, f"the tokenizer's backend is {kind}, not tokenizers.Tokenizer")
    try:
        fingerprint = watch.fingerprint()
        added_tokens = watch.added_tokens()
        pipeline = read_pipeline(watch.backend)
    except Exception as error:
        return Snapshot(None, f"the tokenizer cannot be read: {error}")
    if isinstance(pipeline, Unsupported):
        return Snapshot(None, pipeline.reason)
    description = describe(pipeline)
    try:
        native = NativeRoute(pipeline, settings, _core_to_keep(before, fingerprint))
    except NativeUnavailableError as error:
        return Snapshot(None, str(error), description=description)
    try:
        contents = [token.content for token in pipeline.added_tokens]
        checked = self_check(native, hf, [*replaced_texts(pipeline.normalizer), *contents])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the Rust library is no Exception
        logger.exception("lopt_plugin: the self-check failed; the HF tokenizer is used")
        return Snapshot(None, f"the self-check failed: {type(error).__name__}: {error}", description=description)
    if checked.mismatch is not None:
        reason = f"the self-check found other ids than HF's in {checked.mismatch}"
        logger.error("lopt_plugin: %s; the HF tokenizer is used. Please report this tokenizer", reason)
        return Snapshot(None, reason, description=description, checked=checked)
    return Snapshot(native, "the whole pipeline is supported", fingerprint, added_tokens, description, checked)


def _core_to_keep(before: Snapshot | None, fingerprint: Fingerprint) -> Any:
    if before is None or before.native is None or before.fingerprint is None:
        return None
    return before.native.core if differ_only_in(POST_PROCESSOR, fingerprint, before.fingerprint) else None
