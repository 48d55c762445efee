"""Decodes ids that arrive one by one into parts of text, like `tokenizers.decoders.DecodeStream`."""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import Any, Protocol

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream as ReferenceStream

from ..routes.native_core import import_core
from .decoding import Decoding

_REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"
_LARGEST_ID = (1 << 32) - 1


class DecodeStream(Protocol):
    """Decodes ids that arrive one by one into parts of text. Made by `Encoder.decode_stream`.

    >>> stream = tokenizer.lopt.decode_stream()
    >>> [stream.step(number) for number in tokenizer.lopt.encode_list("Hi")][-1][-1]
    'i'
    """

    def step(self, id: int | list[int]) -> str | None:
        """Adds one or more ids.

        Args:
            id: The id, or a list of ids.

        Returns:
            The next part of the text; None if it needs more ids.

        Raises:
            TypeError: If something is not an id.
            OverflowError: For a number below 0 or above 2^32 - 1.
            Exception: The reference's, if the text of all ids does not begin with the parts returned so far.

        >>> stream = tokenizer.lopt.decode_stream(skip_special_tokens=True)
        >>> stream.step(tokenizer.lopt.encode_list("Hello world"))
        'Hello world'
        """


def decode_stream(decoding: Decoding, ids: list[Any], skip_special_tokens: bool) -> DecodeStream:
    """A stream that continues after `ids`."""
    found = decoding.current()
    if found.decoder is None or not found.streams or not import_core().ids_within(ids, _LARGEST_ID):
        reason = "the streams of this version of tokenizers are unknown" if found.decoder else found.reason
        decoding.count_reference(f"decode_stream: {reason}")
        return _StreamOfReference(decoding, ids, skip_special_tokens)
    otherwise = functools.partial(_step_otherwise, decoding)
    stream: DecodeStream = import_core().DecodeStream(found.decoder, ids, skip_special_tokens, otherwise)
    if decoding.verification.is_due():
        return _StreamOfReference(decoding, ids, skip_special_tokens, stream)
    return stream


class _StreamOfReference:
    """The reference's stream. A native one that is given with it is compared until they differ."""

    def __init__(
        self, decoding: Decoding, ids: list[Any], skip_special_tokens: bool, native: DecodeStream | None = None
    ) -> None:
        begun = {"ids": ids} if ids else {}
        self._stream = ReferenceStream(skip_special_tokens=skip_special_tokens, **begun)
        self._decoding = decoding
        self._native = native

    def step(self, id: int | list[int]) -> str | None:
        found: str | None = None
        if self._native is not None:
            # Where it raises, the reference raises the same, or the answers differ.
            with contextlib.suppress(Exception):
                found = self._native.step(id)
        expected: str | None = self._stream.step(self._decoding.backend, id)
        if self._native is not None and found != expected:
            self._native = None
            self._decoding.differs()
        return expected


def _step_otherwise(decoding: Decoding, stream: Any, ids: Any, invalid: bool) -> str | None:
    """A step of a native stream whose tokenizer may have changed, or whose ids are not plain, or have no valid text."""
    skip, backend = stream.skip_special_tokens, decoding.backend
    # Raises as the reference does where something is not an id.
    ReferenceStream(skip_special_tokens=skip).step(backend, ids)
    added = [operator.index(ids)] if hasattr(ids, "__index__") else [operator.index(number) for number in ids]
    found = decoding.current()
    if found.decoder is not None and found.streams and not invalid:
        stream.go_on(found.decoder, *stream.state())
        part: str | None = stream.step(added)
        return part
    decoding.count_reference(f"decode_stream: {found.reason if found.decoder is None else 'an invalid prefix'}")
    return _step_by_reference(backend, stream, added)


def _step_by_reference(backend: Tokenizer, stream: Any, added: list[int]) -> str | None:
    """A step of a native stream, made with the reference. The stream goes on from here, even after an error."""
    decode = functools.partial(backend.decode, skip_special_tokens=stream.skip_special_tokens)
    # The ids that may still matter, and the text of the first `prefix_ids` of them.
    ids, prefix, prefix_ids = stream.state()
    try:
        if ids and not prefix:
            text = decode(ids)
            if not text.endswith(_REPLACEMENT_CHARACTER):
                prefix, prefix_ids = text, len(ids)
        ids = ids + added
        text = decode(ids)
        if len(text.encode()) <= len(prefix.encode()) or text.endswith(_REPLACEMENT_CHARACTER):
            return None
        if not text.startswith(prefix):
            # The reference's own words: callers look for them.
            wrong = f"Token ID: {ids[-1]}, Expected prefix: '{prefix}', Actual string: '{text}'"
            raise Exception(f"Invalid prefix encountered while decoding stream. {wrong}")
        part = text[len(prefix) :]
        ids = ids[prefix_ids:]
        prefix, prefix_ids = decode(ids), len(ids)
        return str(part)
    finally:
        stream.go_on(None, ids, prefix, prefix_ids)
