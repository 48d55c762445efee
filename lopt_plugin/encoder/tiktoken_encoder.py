"""TiktokenEncoder: the ids of a tiktoken encoding, from the native core if it is exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..routes.native import NativeRoute
from ..routes.request import PLAIN, NeedsReference
from ..settings import Settings, logger
from .tiktoken_runner import TiktokenRunner, repaired
from .tiktoken_special import Allowed, Disallowed, SpecialTokens

_NONE: frozenset[str] = frozenset()


def from_tiktoken(encoding: Any, **settings: Any) -> TiktokenEncoder:
    """Makes an encoder with the ids of a tiktoken encoding.

    The native core supports the split patterns of o200k_base, cl100k_base, p50k_base, r50k_base, gpt2, Qwen, Tekken and
    Kimi K2. For any other pattern, tiktoken answers. Reading 200,000 entries takes about a second.

    Args:
        encoding: A `tiktoken.Encoding`, such as `tiktoken.get_encoding("o200k_base")`. It is not changed.
        **settings: `Settings` by name; any that are left out come from the environment. With the route "hf" or
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
    if encoder._runner.native is None:
        logger.warning("lopt_plugin: tiktoken does the work for %s: %s", encoding.name, encoder._runner.reason)
    return encoder


class TiktokenEncoder:
    """Encodes texts as one `tiktoken.Encoding` does. Made by `from_tiktoken`.

    As in tiktoken, a disallowed special token raises ValueError, surrogate pairs become one character, and a lone
    surrogate becomes U+FFFD. Texts on which tiktoken panics (a million spaces in a row) still get ids. Safe to use from
    several threads and after a fork.

    >>> fast.encode_ordinary("Hello world") == encoding.encode_ordinary("Hello world")
    True
    """

    def __init__(self, encoding: Any, settings: Settings) -> None:
        self._runner = TiktokenRunner(encoding, settings)
        self._special = SpecialTokens(encoding.special_tokens_set)

    @property
    def encoding(self) -> Any:
        """The `tiktoken.Encoding` that this was made from.

        Returns:
            The same object.

        >>> fast.encoding is encoding
        True
        """
        return self._runner.encoding

    def __reduce__(self) -> tuple[Any, ...]:
        return TiktokenEncoder, (self._runner.encoding, self._runner.settings)

    def encode(
        self, text: str, *, allowed_special: Allowed = _NONE, disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """Encodes one text.

        Args:
            text: The text.
            allowed_special: The special tokens that are recognized in the text; "all" for all of them.
            disallowed_special: The special tokens that are errors in the text; "all" for all that are not allowed. A
                special token in neither set is text like any other.

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
        return self._runner.run("encode", self._ids, text, to_find, lambda: self.encoding.encode(text, **arguments))

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
        return self._runner.run(
            "encode_ordinary", self._ids, text, to_find, lambda: self.encoding.encode_ordinary(text)
        )

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
        return self._answer_batch("encode_batch", text, self.encoding.encode_batch, arguments)

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
        return self._answer_batch("encode_ordinary_batch", text, self.encoding.encode_ordinary_batch, {})

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
        return self._runner.run(
            "count", self._count, text, to_find, lambda: len(self.encoding.encode(text, **arguments))
        )

    def explain(self) -> dict[str, Any]:
        """Says what is active and why.

        Returns:
            The route and the reason for it, what the encoding does, versions, and how often each route answered.

        >>> fast.explain()["route"]
        'native'
        """
        return self._runner.explanation()

    def _ids(self, native: NativeRoute, text: str, to_find: frozenset[str]) -> list[int]:
        rows = [native.encode_list(part, PLAIN[False][split]) for part, split in self._special.parts(text, to_find)]
        return rows[0] if len(rows) == 1 else [number for row in rows for number in row]

    def _count(self, native: NativeRoute, text: str, to_find: frozenset[str]) -> int:
        if not native.seams_checked:
            return len(self._ids(native, text, to_find))
        return sum(native.count(part, PLAIN[False][split]) for part, split in self._special.parts(text, to_find))

    def _rows(self, native: NativeRoute, texts: list[str], to_find: frozenset[str]) -> list[list[int]]:
        if not to_find or to_find == self._special.all:
            try:
                return native.encode_lists(texts, not to_find)
            except NeedsReference:  # because of one of them
                pass
        return [repaired(self._ids, native, text, to_find) for text in texts]

    def _answer_batch(
        self, call: str, texts: Sequence[str], reference: Callable[..., list[list[int]]], arguments: dict[str, Any]
    ) -> list[list[int]]:
        """Answers for several texts; without arguments, special tokens are text like any other."""
        texts = list(texts)
        allowed, disallowed = arguments.get("allowed_special", _NONE), arguments.get("disallowed_special", ())
        to_find = {self._special.to_find(text, allowed, disallowed) for text in texts} or {_NONE}
        return self._runner.run(
            call, self._rows, texts, None if None in to_find else to_find.pop(), lambda: reference(texts, **arguments)
        )
