"""Runs the calls of a TiktokenEncoder, as `runner` does those of an Encoder. An encoding never changes."""

from __future__ import annotations

import functools
import platform
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from .._version import version
from ..native import build_description
from ..pipeline import Unsupported, describe
from ..pipeline.tiktoken_encoding import read_encoding
from ..routes.hard_texts import hard_texts
from ..routes.native import NativeRoute
from ..routes.request import NeedsReference
from ..routes.tiktoken import TiktokenRoute
from ..settings import Settings, logger
from .self_check import SelfCheck, self_check
from .verification import Verification

Answer = TypeVar("Answer")
# From a text or texts, and the special tokens to find in them.
Native: TypeAlias = "Callable[[NativeRoute, Any, frozenset[str]], Answer]"


class TiktokenRunner:
    """Chooses the route of one encoding, verifies and counts its calls, and falls back to tiktoken if necessary.

    native: None if tiktoken does the work, for `reason`.
    """

    def __init__(self, encoding: Any, settings: Settings) -> None:
        self.encoding = encoding
        self.settings = settings
        self.native: NativeRoute | None = None
        self._description: dict[str, str] | None = None
        self._checked: SelfCheck | None = None
        self._native_calls = 0
        self._verification = Verification(settings.verify)
        self._reference_calls: Counter[str] = Counter()
        try:
            self.native = self._checked_route()
            self.reason = "the whole encoding is supported"
        except Unsupported as unsupported:
            self.reason = str(unsupported)

    def run(
        self, call: str, encode: Native[Answer], given: Any, to_find: frozenset[str] | None, ask: Callable[[], Answer]
    ) -> Answer:
        """Answers a call natively, or else by tiktoken.

        Args:
            call: The name under which tiktoken's answers are counted, with the reason.
            encode: The native answer. May raise NeedsReference.
            given: The text or texts.
            to_find: The special tokens to find; None if tiktoken has an error to raise.
            ask: The answer of tiktoken.

        Returns:
            The answer, or whatever tiktoken raises.
        """
        native = self.native
        try:
            if native is None:
                raise NeedsReference(self.reason)
            if to_find is None:
                raise NeedsReference("tiktoken rejects the text or another argument")
            answer = repaired(encode, native, given, to_find)
            if self.settings.verify and self._verification.is_due() and answer != ask():
                self._give_up("verification found ids that differ from tiktoken's")
                raise NeedsReference(self.reason)
        except NeedsReference as reason:
            self._reference_calls[f"{call}: {reason}"] += 1
        except MemoryError:
            raise
        except Exception as error:
            self._give_up(f"the native route failed: {type(error).__name__}: {error}", error)
            self._reference_calls[f"{call}: the native route failed"] += 1
        else:
            self._native_calls += 1
            return answer
        return ask()

    def explanation(self) -> dict[str, Any]:
        """See TiktokenEncoder.explain."""
        import tiktoken

        native, checked = self.native, self._checked
        return {
            "route": TiktokenRoute.name if native is None else native.name,
            "reason": self.reason,
            "encoding": self.encoding.name,
            "pipeline": self._description,
            "threads": self.settings.threads,
            "verify": self.settings.verify,
            "versions": {
                "lopt_plugin": version(),
                "native_core": build_description(),
                "tiktoken": tiktoken.__version__,
                "python": platform.python_version(),
            },
            "self_check": None if checked is None else vars(checked).copy(),
            "calls": {
                "native": self._native_calls,
                "tiktoken": self._reference_calls.total(),
                "verified": self._verification.calls,
            },
            "tiktoken_calls": dict(self._reference_calls),
            "core": None if native is None else native.info(),
        }

    def _checked_route(self) -> NativeRoute:
        """The native route, after the self-check. Raises Unsupported."""
        import tiktoken

        if self.settings.route in ("hf", "hf_chunks"):
            raise Unsupported(f"route is set to {self.settings.route!r}")
        if type(self.encoding) is not tiktoken.Encoding:
            raise Unsupported(f"{type(self.encoding).__qualname__} is a subclass of tiktoken.Encoding")
        pipeline = read_encoding(self.encoding)
        self._description = describe(pipeline)
        native = NativeRoute(pipeline, self.settings)
        contents = [token.content for token in pipeline.added_tokens]
        native.seam_texts = functools.partial(hard_texts, contents)
        self._checked = self_check(native, TiktokenRoute(self.encoding), contents)
        if self._checked.mismatch is not None:
            reason = f"the self-check found ids that differ from tiktoken's in {self._checked.mismatch}"
            logger.error("lopt_plugin: %s. Please report this encoding", reason)
            raise Unsupported(reason)
        native.takes_apart()  # no text is divided at seams until they are checked
        return native

    def _give_up(self, reason: str, error: Exception | None = None) -> None:
        logger.error("lopt_plugin: %s. tiktoken answers from now on. Please report this", reason, exc_info=error)
        self.native, self.reason = None, reason


def repaired(encode: Native[Answer], native: NativeRoute, given: Any, to_find: frozenset[str]) -> Answer:
    """`encode(native, given, to_find)`; a text with surrogates, which has no UTF-8, is repaired as tiktoken does."""
    try:
        return encode(native, given, to_find)
    except NeedsReference:
        text = given.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if type(given) is str else given
        if text == given:
            raise
        return encode(native, text, to_find)
