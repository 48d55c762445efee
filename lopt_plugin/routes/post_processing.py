"""Finishes a text's ids: truncation, the post-processor's ids, padding.

The rules are those of the reference's `Tokenizer.post_process`, `Encoding.truncate` and `Encoding.merge_with`: each
text is truncated first, then the post-processor adds its ids around and between, then rows are padded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..pipeline import PostProcessor, Template, Templates
from . import Ids
from .request import EncodeRequest, NeedsReference, Padding, Row, RowParts, Run, Strategy


class PostProcessing:
    """Truncates the ids of single texts and adds a tokenizer's post-processor ids.

    templates: the positions of those ids in rows of one and of two texts; None if they are unknown.
    """

    def __init__(self, post_processor: PostProcessor, templates: Templates | None = None) -> None:
        self.prefix = list(post_processor.prefix_ids)
        self.suffix = list(post_processor.suffix_ids)
        self.added = len(self.prefix) + len(self.suffix)
        self.type_ids_are_zero = post_processor.token_type_ids_are_zero
        self.templates = templates

    def template(self, row: Row, request: EncodeRequest) -> Template:
        """The positions of special tokens in this row. Only if `templates` is not None."""
        assert self.templates is not None
        single, pair = self.templates.single, self.templates.pair
        if not request.add_special_tokens:
            single, pair = self.templates.single_bare, self.templates.pair_bare
        return pair if isinstance(row, tuple) else single

    def ids_added(self, request: EncodeRequest) -> int:
        """How many ids the post-processor adds to a text."""
        return self.added if request.add_special_tokens else 0

    def room(self, request: EncodeRequest) -> float:
        """The maximum number of ids of the text itself, or infinity. Raises NeedsReference if there is no room."""
        most = request.max_length
        if most is None:
            return math.inf
        if most <= self.added:
            raise NeedsReference("max_length leaves no room for the text")
        return most - self.added if request.add_special_tokens else most

    def finish(self, ids: list[int], request: EncodeRequest) -> list[int]:
        """The ids of a text, truncated and with special tokens; changes the list in place."""
        if request.max_length is not None:
            room, number = int(self.room(request)), len(ids)
            if number > room:
                del ids[slice(0, number - room) if request.keeps_end else slice(room, None)]
        if request.add_special_tokens:
            if self.prefix:
                ids[:0] = self.prefix
            if self.suffix:
                ids += self.suffix
        return ids

    def finish_array(self, ids: Ids) -> Ids:
        """The same for an array, with special tokens and without truncation."""
        if not self.added:
            return ids
        return np.concatenate([np.array(self.prefix, np.int32), ids, np.array(self.suffix, np.int32)])


class Lists:
    """Rows are lists of int, and lists of (int, int) tuples."""

    as_lists = True

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """The parts one after the other; a single one is not copied."""
        if len(parts) == 1:
            return parts[0]
        joined: list[Any] = []
        for part in parts:
            joined += part
        return joined

    @staticmethod
    def fill(value: int | tuple[int, int], count: int) -> Any:
        """`count` times the same."""
        return [value] * count

    @staticmethod
    def column(rows: list[Any]) -> Any:
        """The rows of a batch."""
        return rows


class Arrays:
    """The same with arrays, int64 [n] and [n, 2]."""

    as_lists = False

    @staticmethod
    def join(parts: list[Any]) -> Any:
        return np.concatenate(parts, dtype=np.int64)

    @staticmethod
    def fill(value: int | tuple[int, int], count: int) -> Any:
        return np.full((count, *np.shape(value)), value, dtype=np.int64)

    @staticmethod
    def column(rows: list[Any]) -> Any:
        # One array if all have the same length.
        return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows


Kind = type[Lists] | type[Arrays]
# The offsets of an id that does not come from the text.
_NOWHERE = 0, 0
Range = tuple[int, int]


def part_ranges(length: int, kept: int, stride: int, keep_end: bool) -> list[Range]:
    """The ids of each part of a text of `length` ids: the first, of `kept` ids, then those that overflow.

    Neighbours share `stride` ids, which must be fewer than `kept`; with `keep_end` they go from the end of the text to
    its beginning. If nothing is kept, the whole text overflows.
    """
    if length <= kept:
        return [(0, length)]
    if kept == 0:
        return [(0, 0), (0, length)]
    ranges = []
    for at in range(0, length, kept - stride):
        first = max(length - at - kept, 0) if keep_end else at
        last = length - at if keep_end else min(at + kept, length)
        ranges.append((first, last))
        if first == 0 if keep_end else last == length:
            break
    return ranges


def combined(template: Template, counts: Sequence[int]) -> list[tuple[int, ...]]:
    """The rows made from texts with these numbers of parts, in order: for each row, which part of each text it has."""
    main: tuple[int, ...] = (0,) * len(counts)
    overflowing: list[tuple[int, ...]] = []
    for piece in template.pieces:
        if piece.text is None:
            continue
        place = piece.text
        overflowing_here = range(1, counts[place])

        def having(row: tuple[int, ...], part: int, place: int = place) -> tuple[int, ...]:
            return (*row[:place], part, *row[place + 1 :])

        merged = [having(row, part) for row in overflowing for part in (0, *overflowing_here)]
        overflowing = merged + [having(main, part) for part in overflowing_here]
    return [main, *overflowing]


class RowText(NamedTuple):
    """Ids of one text and their offsets, or None."""

    ids: Any
    offsets: Any
    word_counts: Any = None


def rows_of(
    template: Template, texts: list[RowText], limit: int | None, request: EncodeRequest, kind: Kind
) -> list[RowParts]:
    """The row of these texts and, if requested, the rows of the truncated parts."""
    ranges = []
    for text, kept in zip(texts, _kept([len(text.ids) for text in texts], limit, request.strategy), strict=True):
        if request.stride >= kept > 0 and kept < len(text.ids):
            raise NeedsReference("stride is not smaller than what is kept of a text")
        parts = part_ranges(len(text.ids), kept, request.stride, request.keeps_end)
        ranges.append(parts if request.overflow else parts[:1])
    counts = [len(parts) for parts in ranges]
    if max(counts) == 1:
        return [_assembled(template, texts, [parts[0] for parts in ranges], (False,) * len(texts), kind)]
    if template.overflow_type_ids is None:
        raise NeedsReference("a post-processor that treats truncated parts differently")
    return [
        _assembled(template, texts, [ranges[text][part] for text, part in enumerate(row)], [p > 0 for p in row], kind)
        for row in combined(template, counts)
    ]


def _kept(lengths: list[int], limit: int | None, strategy: Strategy) -> list[int]:
    """How many ids of each text are kept, as in the reference library's `truncate_encodings`."""
    if limit is None or sum(lengths) <= limit:
        return lengths
    if strategy == "longest_first":
        if len(lengths) == 1:
            return [limit]
        # The longer one is cut down to the shorter one first, then both by turns; the second keeps the odd id if the
        # first is not longer.
        short, long = sorted(lengths)
        long = short if short > limit else max(short, limit - short)
        if short + long > limit:
            short = limit // 2
            long = short + limit % 2
        return [long, short] if lengths[0] > lengths[1] else [short, long]
    place = 0 if strategy == "only_first" else 1
    if place >= len(lengths):
        raise NeedsReference("truncation_strategy=only_second for one text")
    too_many = sum(lengths) - limit
    if lengths[place] <= too_many:
        raise NeedsReference("the text to be cut is too short for that")
    kept = list(lengths)
    kept[place] -= too_many
    return kept


def _assembled(
    template: Template, texts: Sequence[RowText], ranges: Sequence[Range], overflowing: Sequence[bool], kind: Kind
) -> RowParts:
    parts, runs = [], []
    with_offsets = texts[0].offsets is not None
    for piece in template.pieces:
        type_id, special = piece.type_id, int(piece.text is None)
        if piece.text is None:
            ids, offsets, run = kind.fill(piece.ids[0], 1), kind.fill(_NOWHERE, 1), Run(None, 0, 1)
        else:
            text, run = texts[piece.text], Run(piece.text, *ranges[piece.text])
            ids, offsets = text.ids, text.offsets
            if run.end - run.begin < len(ids):
                ids, offsets = ids[run.begin : run.end], offsets[run.begin : run.end] if with_offsets else None
            if overflowing[piece.text]:
                assert template.overflow_type_ids is not None
                type_id = template.overflow_type_ids[piece.text]
        count = run.end - run.begin
        part = ids, kind.fill(type_id, count), kind.fill(special, count), offsets
        parts.append(part if with_offsets else part[:3])
        runs.append(run)
    columns = [kind.join(list(column)) for column in zip(*parts, strict=True)]
    columns.insert(3, kind.fill(1, len(columns[0])))
    return RowParts(columns, runs)


def padded(row: RowParts, width: int, padding: Padding, kind: Kind) -> RowParts:
    """The row padded to that width; a longer row is unchanged."""
    missing = width - len(row.columns[0])
    if missing <= 0:
        return row
    nothing = RowParts(
        [kind.fill(value, missing) for value in (padding.id, padding.type_id, 1, 0, _NOWHERE)], [Run(None, 0, missing)]
    )
    first, last = (row, nothing) if padding.side == "right" else (nothing, row)
    columns = [kind.join(list(both)) for both in zip(first.columns, last.columns, strict=False)]
    return RowParts(columns, first.runs + last.runs)
