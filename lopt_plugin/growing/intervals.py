"""How many ids any part of one text has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .counting import special_tokens

if TYPE_CHECKING:
    from ..route_calls import RouteCalls


class Intervals:
    """`count(start, end)` is the number of ids of `text[start:end]` as a text of its own.

    Made in one pass over the text, with 8 bytes for about 64 characters. A count then takes the time of encoding what
    lies between the range's ends and the next seams inside it, however long the range is. The tokenizer is taken as it
    was when this was made. Safe to use from several threads.

    Raises the HF tokenizer's own TypeError for what it cannot encode.
    """

    def __init__(self, encoder: RouteCalls, text: str, add_special_tokens: bool, split_special_tokens: bool) -> None:
        self.text = text
        self._encoder = encoder
        self._options = add_special_tokens, split_special_tokens
        self._native: Any = None
        self._added = 0
        native = encoder.native_for("intervals", [text])
        if native is not None:
            try:
                self._native = native.core.intervals(text, split_special_tokens)
            except ValueError:  # what Hugging Face may have its own answer to
                pass
            else:
                self._added = special_tokens(native, add_special_tokens)
        if self._native is None:
            encoder.hf.encode_list(text, *self._options)  # raises where there is nothing to count

    def count(self, start: int, end: int) -> int:
        """Of characters [start, end), 0 <= start <= end <= len(text); IndexError otherwise."""
        if not 0 <= start <= end <= len(self.text):
            raise IndexError(f"intervals: 0 <= start <= end <= {len(self.text)} expected, got {start} and {end}")
        if self._native is not None:
            found: int = self._native.count(start, end)
            return found + self._added
        return len(self._encoder.hf.encode_list(self.text[start:end], *self._options))
