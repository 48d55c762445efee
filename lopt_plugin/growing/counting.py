"""How many ids texts have, and where to cut a text that has too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..route_calls import RouteCalls
    from ..routes.native import NativeRoute


def count(encoder: RouteCalls, text: str, add_special_tokens: bool, split_special_tokens: bool) -> int:
    """See Encoder.count."""
    native = encoder.native_for("count", (text,))
    if native is not None:
        try:
            return native.count(text, add_special_tokens, split_special_tokens)
        except ValueError:  # a lone surrogate, or a text that is too long: Hugging Face's own answer
            pass
    return len(encoder.hf.encode_list(text, add_special_tokens, split_special_tokens))


def count_batch(
    encoder: RouteCalls, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
) -> list[int]:
    """See Encoder.count_batch."""
    texts = list(texts)
    native = encoder.native_for("count_batch", texts)
    if native is not None:
        try:
            threads = native.threads_for(sum(map(len, texts)))
            found: list[int] = native.core.count_batch(texts, threads, split_special_tokens)
        except ValueError:
            pass
        else:
            added = special_tokens(native, add_special_tokens)
            return [number + added for number in found]
    _, row_offsets = encoder.hf.encode_batch(texts, add_special_tokens, split_special_tokens)
    lengths: list[int] = (row_offsets[1:] - row_offsets[:-1]).tolist()
    return lengths


def count_until(
    encoder: RouteCalls, text: str, limit: int, add_special_tokens: bool, split_special_tokens: bool
) -> int | None:
    """See Encoder.count_until."""
    native = encoder.native_for("count_until", [text])
    if native is not None:
        added = special_tokens(native, add_special_tokens)
        if limit < added:
            return None
        try:
            found: int | None = native.core.count_until(text, limit - added, split_special_tokens)
        except ValueError:
            pass
        else:
            return None if found is None else found + added
    number = len(encoder.hf.encode_list(text, add_special_tokens, split_special_tokens))
    return number if number <= limit else None


def cut(encoder: RouteCalls, text: str, max_tokens: int, add_special_tokens: bool, split_special_tokens: bool) -> int:
    """See Encoder.cut."""
    native = encoder.native_for("cut", [text])
    if native is not None:
        most = max_tokens - special_tokens(native, add_special_tokens)
        if most >= 0:
            try:
                length: int = native.core.cut(text, most, split_special_tokens)
            except ValueError:
                pass
            else:
                return length
    # Nothing is known about how counts go up and down: every prefix is tried, the longest first.
    for end in range(len(text), -1, -1):
        if len(encoder.hf.encode_list(text[:end], add_special_tokens, split_special_tokens)) <= max_tokens:
            return end
    raise ValueError(f"max_tokens={max_tokens}: fewer than an empty text has")


def special_tokens(native: NativeRoute, add_special_tokens: bool) -> int:
    """How many ids the post-processor adds."""
    return native.special_tokens_added if add_special_tokens else 0


def check_text(text: Any) -> None:
    """Raises TypeError, as Hugging Face does, for what is no text that it would encode."""
    if not isinstance(text, str):
        raise TypeError(f"a text must be a str, not {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"the text holds a lone surrogate: {error}") from error
