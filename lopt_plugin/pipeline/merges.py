"""The merges of a BPE model, hundreds of thousands of pairs, as in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Merge = str | list[str]


class Merges:
    """By rank; each [left, right], or "left right" in older files. Parsed only when accessed.

    text: the JSON of the list, without white space. The native core parses it, because creating Python objects would
        take as long as building the core's tables.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text

    @classmethod
    def split_off(cls, state: bytes) -> tuple[dict[str, Any], Merges]:
        """A model's state without its merges, parsed, and the merges.

        The key cannot be found inside a JSON string, where every quotation mark follows a backslash, and cannot begin
        with the mark that ends a string, which no letter follows.
        """
        key = b',"merges":['
        at = state.find(key)
        if at < 0 or not state.endswith(b"]}"):  # another version of tokenizers writes them elsewhere
            parsed = json.loads(state)
            return parsed, cls(json.dumps(parsed.pop("merges", []), separators=(",", ":")).encode())
        return json.loads(state[:at] + b"}"), cls(state[at + len(key) - 1 : -1])

    def __len__(self) -> int:
        # Without escapes no string contains a quotation mark; the remaining ones enclose the names.
        text = self.text.replace(b"\\\\", b"").replace(b'\\"', b"")
        between = b'"],["' if text.startswith(b"[[") else b'","'
        return 0 if text == b"[]" else text.count(between) + 1

    def __iter__(self) -> Iterator[Merge]:
        merges: list[Merge] = json.loads(self.text)
        return iter(merges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Merges, list)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
