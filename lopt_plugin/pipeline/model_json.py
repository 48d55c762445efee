"""The entries and merges of a BPE model, hundreds of thousands, as in a tokenizer.json.

Both are parsed only when accessed. The native core parses them itself, because creating Python objects would take as
long as building the core's tables.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .component_state import Unsupported


class Entries(Mapping[str, int]):
    """From name to id.

    text: the JSON of the object, without white space.
    size: how many entries the model has. Of those that share an id, the text has only one.
    """

    def __init__(self, text: bytes, size: int) -> None:
        self.text = text
        self.size = size

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        ids: dict[str, int] = json.loads(self.text)
        if len(ids) != self.size:
            raise Unsupported("model BPE has two entries with one id")
        return ids

    def __getitem__(self, name: str) -> int:
        return self._ids[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Merges:
    """By rank; each [left, right], also where an older file has "left right". From `tiktoken_encoding`: "left right".

    text: the JSON of the list, without white space.
    """

    text: bytes

    def __iter__(self) -> Iterator[Any]:
        return iter(json.loads(self.text))


def split_state(state: bytes, size: int) -> tuple[dict[str, Any], Entries, Merges]:
    """The options of a model's state, parsed; and its entries, of which the model has `size`, and its merges.

    Their keys cannot be found inside a JSON string, where every quotation mark follows a backslash, and cannot begin
    with the mark that ends a string, which no letter follows.
    """
    entries_key, merges_key = b',"vocab":{', b',"merges":['
    entries_at = state.find(entries_key)
    merges_at = state.find(merges_key, entries_at)
    if min(entries_at, merges_at) < 0 or not state.endswith(b"]}"):
        # Another version of tokenizers writes them elsewhere.
        parsed = json.loads(state)
        entries, merges = (
            json.dumps(parsed.pop(key, empty), separators=(",", ":")).encode()
            for key, empty in (("vocab", {}), ("merges", []))
        )
        return parsed, Entries(entries, size), Merges(merges)
    entries = state[entries_at + len(entries_key) - 1 : merges_at]
    merges = state[merges_at + len(merges_key) - 1 : -1]
    return json.loads(state[:entries_at] + b"}"), Entries(entries, size), Merges(merges)
