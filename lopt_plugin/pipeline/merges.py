"""The merges of a BPE model, hundreds of thousands of pairs, as they stand in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, overload

Merge = str | list[str]


class Merges(Sequence[Merge]):
    """By rank; each [left, right], or "left right" in older files. Read only when someone looks at one of them.

    text: the JSON of the list, without blanks. The native core reads it for itself, because making Python objects of it
        takes as long as building the core's tables.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text

    @classmethod
    def split_off(cls, state: bytes) -> tuple[bytes, Merges] | None:
        """A model's state without its merges, and the merges; None if they are not where `tokenizers` writes them.

        Inside a JSON string every quotation mark has a backslash before it, so that what is looked for is no part of
        one; and it cannot begin with the mark that ends a string, behind which no letter stands.
        """
        key = b',"merges":['
        at = state.find(key)
        if at < 0 or not state.endswith(b"]}"):
            return None
        return state[:at] + b"}", cls(state[at + len(key) - 1 : -1])

    @cached_property
    def _length(self) -> int:
        # Without its escapes, no string holds a quotation mark: those that are left stand around the names.
        text = self.text.replace(b"\\\\", b"").replace(b'\\"', b"")
        between = b'"],["' if text.startswith(b"[[") else b'","'
        return 0 if text == b"[]" else text.count(between) + 1

    def _read(self) -> list[Merge]:
        merges: list[Merge] = json.loads(self.text)
        return merges

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, rank: int) -> Merge: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Merge]: ...
    def __getitem__(self, rank: int | slice) -> Merge | list[Merge]:
        return self._read()[rank]

    def __iter__(self) -> Any:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._read() == list(other)

    __hash__ = None  # type: ignore[assignment]
