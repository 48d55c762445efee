"""What is asked for the rows of a batch, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Cut = Literal["longest_first", "only_first", "only_second"]


class Padding(NamedTuple):
    """Fill rows up to `length` ids (None: those of the longest row), or to the next multiple of `multiple`."""

    length: int | None
    multiple: int | None
    side: str
    id: int
    type_id: int
    token: str

    def width(self, lengths: Sequence[int]) -> int:
        """The length up to which rows of these lengths are filled; longer ones stay as they are."""
        width = max(lengths) if self.length is None else self.length
        return width if self.multiple is None else -(-width // self.multiple) * self.multiple


class RowRequest(NamedTuple):
    """What is to be made of the rows. limit: how many ids are kept of each, None for all; keep_end: the last ones.

    overflow: what is cut off makes rows of its own, which have `stride` ids in common with their neighbours.
    """

    add_special_tokens: bool
    split_special_tokens: bool
    limit: int | None
    cut: Cut
    keep_end: bool
    padding: Padding | None
    offsets: bool
    overflow: bool = False
    stride: int = 0


class Run(NamedTuple):
    """Ids of a row that belong together: those at [begin, end) of its text `text`, or `end` that belong to none."""

    text: int | None
    begin: int
    end: int


@dataclass
class RowParts:
    """One row: ids [n], type ids [n], special tokens mask [n], attention mask [n], offsets [n, 2] or None."""

    ids: Any
    type_ids: Any
    special: Any
    attention: Any
    offsets: Any
    runs: list[Run]


@dataclass
class Columns:
    """The same of all rows: a list of rows, or one array where rows are arrays of one length; offsets may be None.

    runs: what the ids of each row belong to; None where nobody has asked row by row.
    samples: which of the given rows each of these is of, where some may be what was cut off; else None.
    word_counts: of each text of the given rows, how many ids each of its words has; None for texts not in words.
    """

    ids: Any
    type_ids: Any
    special: Any
    attention: Any
    offsets: Any
    runs: list[list[Run]] | None = None
    samples: list[int] | None = None
    word_counts: list[list[Any]] | None = None
