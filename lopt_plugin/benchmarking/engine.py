"""What a tokenizer under test has to offer: to be loaded from the text of a tokenizer.json, then text to ids.

`encode` and then `ids` are timed together; what they return is freed outside the timed part. An engine ends in a
list[int]; one that ends in a numpy array says so by its kind, and is compared with its own kind only. Modules that a
library would import at its first call are in `modules`, so that no first prompt pays for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class UnavailableError(Exception):
    """The engine cannot do this tokenizer; the message says why."""


class Engine:
    """Raises UnavailableError, or whatever its library raises, for a tokenizer that it cannot load.

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
        """Whatever the library returns; no ids of a post-processor."""
        raise NotImplementedError

    def ids(self, result: Any) -> Any:
        """The ids of that: list[int]; an integer array, or how many there are, where `kind` says so."""
        return result

    def encode_batch(self, texts: list[str]) -> Any:
        """The same of several texts, by whatever the library has for that."""
        return [self.encode(text) for text in texts]

    def batch_ids(self, result: Any) -> Any:
        """The ids of that: list[list[int]]; where `kind` is "array", all ids and int64 [texts + 1] row offsets."""
        return [self.ids(one) for one in result]

    @property
    def note(self) -> str:
        return ""
