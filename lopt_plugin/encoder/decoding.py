"""Ids to text for one backend: natively if its decoder is supported and passes a check, else by the reference."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream as ReferenceStream

from ..pipeline import Unsupported
from ..pipeline.decoders import read_decoder
from ..routes.native_core import import_core
from ..routes.token_table import build_token_table, tokens_of
from ..settings import logger
from .backend_watch import BackendWatch, Fingerprint, changes, same_state
from .route_choice import failure, fingerprint_of, no_answer, watch_of
from .runner import Runner

_T = TypeVar("_T")

# After this many calls without a change, the backend is compared anyway. A call may be for one id.
_CALLS_UNTIL_COMPARED = 4096
_CHECKED_ALONE = 1024
_CHECKED_ROWS = 96
_CHECKED_ROW = 24


@dataclass(frozen=True)
class Decoded:
    """What is known about the backend's decoder in one state of the backend.

    decoder: the native Decoder; None if the reference decodes, for `reason`.
    streams: whether the native streams match the reference's.
    """

    decoder: Any
    reason: str
    fingerprint: Fingerprint | None = None
    added_tokens: tuple[Any, ...] = ()
    kind: str | None = None
    streams: bool = False


class Decoding:
    """Decodes for the backend of a Runner. The table of tokens is built when it is first needed.

    `decode`, `decode_rows` and `tokens` are the native decoder's methods. They return None if `current` must be
    consulted or the arguments are not of the simplest kind. Safe to use from several threads.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.backend = runner.hf.backend
        self.count_reference = runner.count_reference_call
        self.verification = runner.verification
        self._found: Decoded | None = None
        self._forced: str | None = None
        self._watch = watch_of(self.backend)
        # Of a state without a native decoder: the number of the last change, and how many calls may rely on it.
        self._true_at = self._calls_left = 0
        self._earlier_calls = 0
        self.decode: Callable[[Any, Any], str | None] = no_answer
        self.decode_rows: Callable[[Any, Any], list[str] | None] = no_answer
        self.tokens: Callable[[Any], list[str | None] | None] = no_answer
        # Whether transformers has warned that it ignores `clean_up_tokenization_spaces`.
        self.warned_of_clean_up = False

    def current(self) -> Decoded:
        """What is known about the backend in its current state. Its decoder answers the next calls."""
        found, last = self._found, changes.last
        if found is not None and (self._is_unchanged() if found.decoder is None else found.decoder.is_allowed()):
            return found
        self._true_at, self._calls_left = last, _CALLS_UNTIL_COMPARED
        if found is None or found.fingerprint != self._fingerprint():
            with self._runner.hf.lock:
                found = self._renew()
        if found.decoder is not None:
            found.decoder.allow(_CALLS_UNTIL_COMPARED)
            if changes.last != last:
                found.decoder.stop()
        return found

    def text(self, call: str, ids: Any, skip_special_tokens: Any) -> str:
        """The text of ids, by the decoder or the reference, with whatever that raises."""
        text = self.text_or_none(call, ids, skip_special_tokens)
        if text is None:
            decode = functools.partial(self.backend.decode, ids, skip_special_tokens=skip_special_tokens)
            text = str(self._runner.timed_reference(decode))
        return text

    def text_or_none(self, call: str, ids: Any, skip_special_tokens: Any) -> str | None:
        """`text`; None if the reference has to decode, which is counted."""
        return self._native(
            call,
            lambda decoder: decoder.decode(ids, skip_special_tokens),
            lambda: self.backend.decode(ids, skip_special_tokens=skip_special_tokens),
        )

    def texts(self, call: str, rows: list[Any], skip_special_tokens: Any) -> list[str]:
        """The text of each row."""
        decode = self.backend.decode

        def reference() -> list[str]:
            return [decode(row, skip_special_tokens=skip_special_tokens) for row in rows]

        texts = self._native(call, lambda decoder: decoder.decode_rows(rows, skip_special_tokens), reference)
        return self._runner.timed_reference(reference) if texts is None else texts

    def tokens_or_none(self, call: str, ids: list[int]) -> list[str | None] | None:
        """The token of each id; None if the reference has to look them up, which is counted."""
        return self._native(
            call, lambda decoder: decoder.tokens(ids), lambda: [self.backend.id_to_token(number) for number in ids]
        )

    def _native(self, call: str, native: Callable[[Any], _T | None], reference: Callable[[], _T]) -> _T | None:
        found = self.current()
        answer = None if found.decoder is None else native(found.decoder)
        if answer is None:
            plain = "arguments that are not plain ids and flags"
            self.count_reference(f"{call}: {found.reason if found.decoder is None else plain}")
            return None
        if self.verification.is_due() and all(answer != reference() for _ in range(2)) and self.current() is found:
            self.differs()
            return None
        return answer

    def differs(self) -> None:
        """Records that a comparison found a different text: the reference decodes from now on."""
        reason = "verification found text that differs from Hugging Face's"
        logger.error("lopt_plugin: %s; Hugging Face decodes from now on. Please report this", reason)
        self._forced = reason
        with self._runner.hf.lock:
            self._use(Decoded(None, reason, self._fingerprint()))

    def info(self) -> dict[str, Any]:
        """For `explain`. Builds nothing."""
        found = self._found
        if found is None:
            return {"route": None, "reason": "nothing has been decoded yet"}
        decoder = found.decoder
        return {
            "route": "hf" if decoder is None else "native",
            "streams": "native" if found.streams else "hf",
            "reason": found.reason,
            "decoder": found.kind,
            "calls": self._earlier_calls + (0 if decoder is None else decoder.calls),
            "bytes": 0 if decoder is None else decoder.bytes,
        }

    def pass_on(self, copied: Decoding) -> None:
        """To the decoding of a copy of the backend: the table, if it is true of that one."""
        copied._forced = self._forced
        found = self._found
        if found is None or found.decoder is None or found.fingerprint != self._fingerprint():
            return
        fingerprint = copied._fingerprint()
        if not isinstance(copied._watch, BackendWatch) or fingerprint is None or found.fingerprint is None:
            return
        if same_state(fingerprint, found.fingerprint) and copied._watch.added_tokens() == found.added_tokens:
            decoder = import_core().Decoder(found.decoder.table)
            copied._use(Decoded(decoder, found.reason, fingerprint, found.added_tokens, found.kind, found.streams))

    def _is_unchanged(self) -> bool:
        self._calls_left -= 1
        return self._true_at == changes.last and self._calls_left > 0

    def _renew(self) -> Decoded:
        fingerprint, found = self._fingerprint(), self._found
        if found is None or found.fingerprint != fingerprint:
            found = self._read(fingerprint)
            self._use(found)
        return found

    def _use(self, found: Decoded) -> None:
        if self._found is not None and self._found.decoder is not None:
            self._found.decoder.stop()
            self._earlier_calls += self._found.decoder.calls
        self._found = found
        decoder = found.decoder
        self.decode = self.decode_rows = self.tokens = no_answer
        if decoder is not None:
            changes.stop_at_next(decoder)
            if not self._runner.settings.verify:
                self.decode, self.decode_rows, self.tokens = decoder.decode, decoder.decode_rows, decoder.tokens

    def _fingerprint(self) -> Fingerprint | None:
        return fingerprint_of(self._watch, BackendWatch.decoding_fingerprint)

    def _read(self, fingerprint: Fingerprint | None) -> Decoded:
        settings = self._runner.settings
        if self._forced is not None:
            return Decoded(None, self._forced, fingerprint)
        if not settings.decode:
            return Decoded(None, "decoding is switched off (LOPT_DECODE)", fingerprint)
        if settings.route == "hf":
            return Decoded(None, "route is set to 'hf'", fingerprint)
        if isinstance(self._watch, str):
            return Decoded(None, self._watch, fingerprint)
        try:
            steps = read_decoder(self.backend)
            if fingerprint is None:
                raise Unsupported("the state of the decoder cannot be read")
            added_tokens = self._watch.added_tokens()
            tokens = tokens_of(self.backend)
            make = import_core().Decoder
            table = build_token_table(self.backend, steps, tokens)
            tried = make(table)
            tried.allow(1 << 30)
            mismatch = _mismatch(tried, self.backend, tokens)
            if mismatch is not None:
                logger.error("lopt_plugin: decoding: %s. Please report this tokenizer", mismatch)
                raise Unsupported(mismatch)
            streams = _streams_agree(tried, self.backend, tokens)
        except Unsupported as error:
            logger.info("lopt_plugin: Hugging Face decodes: %s", error)
            return Decoded(None, str(error), fingerprint)
        except BaseException as error:
            return Decoded(None, failure("reading the decoder", error, "Hugging Face decodes"), fingerprint)
        return Decoded(make(table), "the decoder is supported", fingerprint, added_tokens, steps.kind, streams)


def _checked_rows(tokens: Sequence[str | None]) -> list[list[int]]:
    """Ids from the whole vocabulary, alone and next to others, and an unknown one."""
    chance = random.Random(len(tokens))
    step = max(1, len(tokens) // _CHECKED_ALONE)
    alone = [[number] for number in range(0, len(tokens) + step, step)]
    short = [number for number, token in enumerate(tokens) if token is not None and len(token) in (1, 6)]
    everything = range(len(tokens) + 1)
    return alone + [
        [chance.choice(short if short and place % 2 else everything) for place in range(_CHECKED_ROW)]
        for _ in range(_CHECKED_ROWS)
    ]


def _mismatch(decoder: Any, backend: Tokenizer, tokens: Sequence[str | None]) -> str | None:
    for ids in _checked_rows(tokens):
        for skip in (True, False):
            if decoder.decode(ids, skip) != backend.decode(ids, skip_special_tokens=skip):
                return f"the self-check found text that differs from Hugging Face's for the ids {ids}"
    return None


def _streams_agree(decoder: Any, backend: Tokenizer, tokens: Sequence[str | None]) -> bool:
    """Whether the installed library's streams are those that the native ones were modelled on."""
    make, skip = import_core().DecodeStream, False
    for ids in _checked_rows(tokens)[-_CHECKED_ROWS:]:
        skip = not skip
        native = make(decoder, ids[:2], skip, _invalid)
        reference = ReferenceStream(ids=ids[:2], skip_special_tokens=skip)
        for number in ids[2:]:
            try:
                expected = reference.step(backend, number)
            except Exception:
                expected = _invalid()
            if native.step(number) != expected:
                return False
            if expected == _invalid():
                break
    return True


def _invalid(*args: Any) -> str:
    return "an invalid prefix"
