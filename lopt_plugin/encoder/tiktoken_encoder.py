"""TiktokenEncoder: the ids of a tiktoken encoding, by the native core where it is exact for it."""

from __future__ import annotations

import functools
import logging
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._version import version
from ..native import build_description
from ..pipeline import Unsupported, describe
from ..pipeline.tiktoken_encoding import read_encoding
from ..routes.hard_texts import hard_texts
from ..routes.native import NativeRoute
from ..routes.request import PLAIN, NeedsReference
from ..routes.tiktoken import TiktokenRoute
from ..settings import Settings
from .self_check import SelfCheck, self_check
from .tiktoken_special import Allowed, Disallowed, SpecialTokens

logger = logging.getLogger("lopt_plugin")
_T = TypeVar("_T")
_NONE: frozenset[str] = frozenset()


def from_tiktoken(encoding: Any, **settings: Any) -> TiktokenEncoder:
    """Makes an encoder with the ids of a tiktoken encoding.

    The native core knows the split patterns of o200k_base, cl100k_base, p50k_base, r50k_base and gpt2, and of models
    that have taken these over. For an encoding with any other pattern, tiktoken answers. Reading 200,000 entries takes
    about a second.

    Args:
        encoding: A `tiktoken.Encoding`, such as `tiktoken.get_encoding("o200k_base")`. It is not changed.
        **settings: Those of `Settings`, by name; what is left out comes from the environment. With the route "hf" or
            "hf_chunks", tiktoken answers.

    Returns:
        The encoder.

    Raises:
        TypeError: For an argument that is not a `tiktoken.Encoding`, or an unknown setting.
        ValueError: For an invalid setting.
        ImportError: Without tiktoken, which the extra `tiktoken` installs.

    >>> import lopt_plugin
    >>> fast = lopt_plugin.from_tiktoken(encoding)
    >>> fast.encode("Hello world") == encoding.encode("Hello world")
    True
    """
    import tiktoken

    if not isinstance(encoding, tiktoken.Encoding):
        kind = f"{type(encoding).__module__}.{type(encoding).__qualname__}"
        raise TypeError(f"from_tiktoken accelerates a tiktoken.Encoding, got {kind}")
    encoder = TiktokenEncoder(encoding, Settings.read(**settings))
    if encoder._native is None:
        logger.warning("lopt_plugin: tiktoken does the work for %s: %s", encoding.name, encoder._reason)
    return encoder


class TiktokenEncoder:
    """Encodes texts as one `tiktoken.Encoding` does. Made by `from_tiktoken`.

    As in tiktoken, a disallowed special token is a ValueError, surrogate pairs become one character, and a lone
    surrogate becomes U+FFFD. For a text with which tiktoken panics (a million spaces side by side), there are ids.
    Safe to use from several threads and after a fork.

    >>> fast.encode_ordinary("Hello world") == encoding.encode_ordinary("Hello world")
    True
    """

    def __init__(self, encoding: Any, settings: Settings) -> None:
        self._encoding = encoding
        self._settings = settings
        self._special = SpecialTokens(encoding.special_tokens_set)
        self._native: NativeRoute | None = None
        self._description: dict[str, str] | None = None
        self._checked: SelfCheck | None = None
        self._native_calls = self._verified_calls = 0
        self._verifications_due = 0.0
        self._reference_calls: Counter[str] = Counter()
        try:
            self._native = self._checked_route()
            self._reason = "the whole encoding is supported"
        except Unsupported as unsupported:
            self._reason = str(unsupported)

    @property
    def encoding(self) -> Any:
        """The `tiktoken.Encoding` that this was made of.

        Returns:
            The very object.

        >>> fast.encoding is encoding
        True
        """
        return self._encoding

    def __reduce__(self) -> tuple[Any, ...]:
        return TiktokenEncoder, (self._encoding, self._settings)

    def encode(
        self, text: str, *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """Encodes one text.

        Args:
            text: The text.
            allowed_special: The special tokens that are found in the text; "all" for all of them.
            disallowed_special: The special tokens that are an error in the text; "all" for all that are not allowed. A
                special token that is in neither is text like any other.

        Returns:
            The ids.

        Raises:
            ValueError: For a text with a disallowed special token.
            TypeError: For an argument of another type.

        >>> fast.encode("<|endoftext|>", allowed_special="all") == [encoding.eot_token]
        True
        """
        arguments: dict[str, Any] = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
        to_find = self._special.to_find(text, allowed_special, disallowed_special)
        return self._answer("encode", self._ids, text, to_find, lambda: self._encoding.encode(text, **arguments))

    def encode_ordinary(self, text: str) -> list[int]:
        """Encodes one text, in which special tokens are text like any other.

        Args:
            text: The text.

        Returns:
            The ids.

        Raises:
            TypeError: For an argument of another type.

        >>> encoding.eot_token in fast.encode_ordinary("<|endoftext|>")
        False
        """
        to_find = self._special.to_find(text, _NONE, ())
        return self._answer("encode_ordinary", self._ids, text, to_find, lambda: self._encoding.encode_ordinary(text))

    def encode_batch(
        self, text: Sequence[str], *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all"
    ) -> list[list[int]]:
        """Encodes several texts, on the threads of the settings.

        Args:
            text: The texts.
            allowed_special: See `encode`.
            disallowed_special: See `encode`.

        Returns:
            The ids of each text.

        Raises:
            ValueError: For a text with a disallowed special token.
            TypeError: For an argument of another type.

        >>> fast.encode_batch(["Hello", "world"]) == [fast.encode("Hello"), fast.encode("world")]
        True
        """
        arguments: dict[str, Any] = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
        return self._answer_batch("encode_batch", text, self._encoding.encode_batch, arguments)

    def encode_ordinary_batch(self, text: Sequence[str]) -> list[list[int]]:
        """Encodes several texts, on the threads of the settings; special tokens are text like any other.

        Args:
            text: The texts.

        Returns:
            The ids of each text.

        Raises:
            TypeError: For an argument of another type.

        >>> fast.encode_ordinary_batch(["Hello", ""])[1]
        []
        """
        return self._answer_batch("encode_ordinary_batch", text, self._encoding.encode_ordinary_batch, {})

    def count(self, text: str, *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all") -> int:
        """Counts the ids of a text.

        Args:
            text: The text.
            allowed_special: See `encode`.
            disallowed_special: See `encode`.

        Returns:
            The number of ids.

        Raises:
            ValueError: For a text with a disallowed special token.
            TypeError: For an argument of another type.

        >>> fast.count("Hello world") == len(fast.encode("Hello world"))
        True
        """
        arguments: dict[str, Any] = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
        to_find = self._special.to_find(text, allowed_special, disallowed_special)
        return self._answer("count", self._count, text, to_find, lambda: len(self._encoding.encode(text, **arguments)))

    def explain(self) -> dict[str, Any]:
        """Says what is active and why.

        Returns:
            The route and the reason for it, what the encoding does, versions, and how often which route answered.

        >>> fast.explain()["route"]
        'native'
        """
        import tiktoken

        native = self._native
        return {
            "route": "tiktoken" if native is None else native.name,
            "reason": self._reason,
            "encoding": self._encoding.name,
            "pipeline": self._description,
            "threads": self._settings.threads,
            "verify": self._settings.verify,
            "versions": {
                "lopt_plugin": version(),
                "native_core": build_description(),
                "tiktoken": tiktoken.__version__,
                "python": platform.python_version(),
            },
            "self_check": None if self._checked is None else vars(self._checked).copy(),
            "calls": {
                "native": self._native_calls,
                "tiktoken": self._reference_calls.total(),
                "verified": self._verified_calls,
            },
            "tiktoken_calls": dict(self._reference_calls),
            "core": None if native is None else native.info(),
        }

    def _checked_route(self) -> NativeRoute:
        """The native route, after the self-check. Raises Unsupported."""
        import tiktoken

        encoding, contents = self._encoding, sorted(self._special.all)
        if self._settings.route in ("hf", "hf_chunks"):
            raise Unsupported(f"route is set to {self._settings.route!r}")
        if type(encoding) is not tiktoken.Encoding:
            raise Unsupported(f"{type(encoding).__qualname__} is a subclass of tiktoken.Encoding")
        pipeline = read_encoding(encoding)
        self._description = describe(pipeline)
        native = NativeRoute(pipeline, self._settings)
        native.seam_texts = functools.partial(hard_texts, contents)
        self._checked = self_check(native, TiktokenRoute(encoding), contents)
        if self._checked.mismatch is not None:
            reason = f"the self-check found other ids than tiktoken's in {self._checked.mismatch}"
            logger.error("lopt_plugin: %s. Please report this encoding", reason)
            raise Unsupported(reason)
        if self._settings.prefix_cache_mb:
            native.takes_apart()  # the prefix cache keeps nothing until seams are checked
        return native

    def _ids(self, native: NativeRoute, text: str, to_find: frozenset[str]) -> list[int]:
        rows = [native.encode_list(part, PLAIN[False][split]) for part, split in self._special.parts(text, to_find)]
        return rows[0] if len(rows) == 1 else [number for row in rows for number in row]

    def _count(self, native: NativeRoute, text: str, to_find: frozenset[str]) -> int:
        if not (native.seams_checked or native.takes_apart()):
            return len(self._ids(native, text, to_find))
        return sum(native.count(part, PLAIN[False][split]) for part, split in self._special.parts(text, to_find))

    def _rows(self, native: NativeRoute, texts: list[str], to_find: frozenset[str]) -> list[list[int]]:
        if not to_find or to_find == self._special.all:
            try:
                return native.encode_lists(texts, not to_find)
            except NeedsReference:  # because of one of them
                pass
        return [_repaired(self._ids, native, text, to_find) for text in texts]

    def _answer_batch(
        self, call: str, texts: Sequence[str], reference: Callable[..., list[list[int]]], arguments: dict[str, Any]
    ) -> list[list[int]]:
        """`_answer` of several texts; without arguments, special tokens are text like any other."""
        texts = list(texts)
        allowed, disallowed = arguments.get("allowed_special", _NONE), arguments.get("disallowed_special", ())
        to_find = {self._special.to_find(text, allowed, disallowed) for text in texts} or {_NONE}
        return self._answer(
            call, self._rows, texts, None if None in to_find else to_find.pop(), lambda: reference(texts, **arguments)
        )

    def _answer(
        self,
        call: str,
        encode: Callable[[NativeRoute, Any, frozenset[str]], _T],
        given: Any,
        to_find: frozenset[str] | None,
        reference: Callable[[], _T],
    ) -> _T:
        """The native answer, or else, counted with its reason, that of tiktoken, with whatever it raises."""
        native = self._native
        try:
            if native is None:
                raise NeedsReference(self._reason)
            if to_find is None:
                raise NeedsReference("tiktoken refuses the text or another argument")
            answer = _repaired(encode, native, given, to_find)
            self._verify(answer, reference)
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
        return reference()

    def _verify(self, answer: _T, reference: Callable[[], _T]) -> None:
        """Compares a share of all answers with tiktoken's. Raises NeedsReference where they differ."""
        self._verifications_due += self._settings.verify
        if self._verifications_due < 1.0:
            return
        self._verifications_due -= 1.0
        self._verified_calls += 1
        if answer != reference():
            self._give_up("verification found other ids than tiktoken's")
            raise NeedsReference(self._reason)

    def _give_up(self, reason: str, error: Exception | None = None) -> None:
        logger.error("lopt_plugin: %s. tiktoken answers from now on. Please report this", reason, exc_info=error)
        self._native, self._reason = None, reason


def _repaired(
    encode: Callable[[NativeRoute, Any, frozenset[str]], _T], native: NativeRoute, given: Any, to_find: frozenset[str]
) -> _T:
    """`encode(native, given, to_find)`; a text with surrogates, which has no UTF-8, is repaired as tiktoken does it."""
    try:
        return encode(native, given, to_find)
    except NeedsReference:
        repaired = given.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if type(given) is str else given
        if repaired == given:
            raise
        return encode(native, repaired, to_find)
