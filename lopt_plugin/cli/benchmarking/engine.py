"""The interface of a tokenizer under test: it is loaded from the text of a tokenizer.json, then turns text into ids.

`encode` and `ids` are timed together; what they return is freed outside the timed part. An engine gives a list[int];
one that gives a numpy array has another `kind`, and is compared with its own kind only. `modules` are those that a
library would import in its first call, so that the first prompt does not pay for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class UnavailableError(Exception):
    """The engine does not support this tokenizer; the message says why."""


class Engine:
    """Raises UnavailableError, or an error of its library, for a tokenizer that it cannot load.

    modules     imported before the load is timed
    is_peer     whether the figures of others are compared with it
    kind        "list", "array" or "count": what `ids` gives
    note        what the reader of its figures should know
    """

    modules: ClassVar[Sequence[str]] = ()
    is_peer: ClassVar[bool] = False
    kind: ClassVar[str] = "list"

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        raise NotImplementedError

    def encode(self, text: str) -> Any:
        """What the library returns for the text; without ids of a post-processor."""
        raise NotImplementedError

    def ids(self, result: Any) -> Any:
        """The ids of that result: list[int], an integer array, or their number, by `kind`."""
        return result

    def encode_batch(self, texts: list[str]) -> Any:
        """The same for several texts, by the library's call for batches."""
        return [self.encode(text) for text in texts]

    def batch_ids(self, result: Any) -> Any:
        """The ids of that result: list[list[int]]; for the kind "array", all ids and int64 [texts + 1] row offsets."""
        return [self.ids(one) for one in result]

    @property
    def note(self) -> str:
        return ""
