"""One row from the ids of its texts: cut, with special tokens, padded.

The rules are those of `Tokenizer.post_process` in the reference library: each text is cut first, then the
post-processor puts its ids around and between, then rows are padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .pipeline import Template
from .routes import CannotEncodeError
from .row_kinds import Kind
from .row_overflow import Range, combined, part_ranges
from .row_request import Cut, Padding, RowParts, RowRequest, Run


class RowText(NamedTuple):
    """Ids of one text and their offsets, or None; `length`: how many there are if nothing is cut off."""

    ids: Any
    offsets: Any
    length: int
    word_counts: Any = None


def rows_of(
    template: Template, texts: list[RowText], limit: int | None, request: RowRequest, kind: Kind
) -> list[RowParts]:
    """The row of these texts and, if asked for, those of what is cut off."""
    ranges = []
    for text, kept in zip(texts, _kept([text.length for text in texts], limit, request.cut), strict=True):
        if request.stride >= kept > 0 and kept < text.length:
            raise CannotEncodeError("stride is not smaller than what is kept of a text")
        parts = part_ranges(text.length, kept, request.stride, request.keep_end)
        ranges.append(parts if request.overflow else parts[:1])
    counts = [len(parts) for parts in ranges]
    if max(counts) == 1:
        return [_assembled(template, texts, [parts[0] for parts in ranges], (False,) * len(texts), kind)]
    if template.overflow_type_ids is None:
        raise CannotEncodeError("a post-processor that treats what is cut off in another way")
    return [
        _assembled(template, texts, [ranges[text][part] for text, part in enumerate(row)], [p > 0 for p in row], kind)
        for row in combined(template, counts)
    ]


def _kept(lengths: list[int], limit: int | None, cut: Cut) -> list[int]:
    """How many ids of each text are kept: `truncate_encodings` of the reference library."""
    if limit is None or sum(lengths) <= limit:
        return lengths
    if cut == "longest_first":
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
    place = 0 if cut == "only_first" else 1
    if place >= len(lengths):
        raise CannotEncodeError("truncation_strategy=only_second for one text")
    too_many = sum(lengths) - limit
    if lengths[place] <= too_many:
        raise CannotEncodeError("the text to be cut is too short for that")
    kept = list(lengths)
    kept[place] -= too_many
    return kept


def _assembled(
    template: Template, texts: Sequence[RowText], ranges: Sequence[Range], overflowing: Sequence[bool], kind: Kind
) -> RowParts:
    ids, type_ids, special, offsets, runs = [], [], [], [], []
    with_offsets = texts[0].offsets is not None
    for piece in template.pieces:
        type_id = piece.type_id
        if piece.text is None:
            part, places, count = kind.fill(piece.ids[0], 1), kind.no_offsets(1), 1
            runs.append(Run(None, 0, 1))
        else:
            text, (begin, end) = texts[piece.text], ranges[piece.text]
            count = end - begin
            part, places = text.ids, text.offsets
            if count < text.length:
                part, places = part[begin:end], places[begin:end] if with_offsets else None
            if overflowing[piece.text]:
                assert template.overflow_type_ids is not None
                type_id = template.overflow_type_ids[piece.text]
            runs.append(Run(piece.text, begin, end))
        ids.append(part)
        type_ids.append(kind.fill(type_id, count))
        special.append(kind.fill(int(piece.text is None), count))
        offsets.append(places)
    joined = kind.join(ids)
    return RowParts(
        joined,
        kind.join(type_ids),
        kind.join(special),
        kind.fill(1, len(joined)),
        kind.join(offsets) if with_offsets else None,
        runs,
    )


def pad(row: RowParts, width: int, padding: Padding, kind: Kind) -> None:
    missing = width - len(row.ids)
    if missing <= 0:
        return
    at_the_end = padding.side == "right"

    def filled(part: Any, filling: Any) -> Any:
        return kind.join([part, filling] if at_the_end else [filling, part])

    row.ids = filled(row.ids, kind.fill(padding.id, missing))
    row.type_ids = filled(row.type_ids, kind.fill(padding.type_id, missing))
    row.special = filled(row.special, kind.fill(1, missing))
    row.attention = filled(row.attention, kind.fill(0, missing))
    if row.offsets is not None:
        row.offsets = filled(row.offsets, kind.no_offsets(missing))
    row.runs = [*row.runs, Run(None, 0, missing)] if at_the_end else [Run(None, 0, missing), *row.runs]
