"""Rows of a batch, each a text or a pair, from ids to what `_encode_plus` returns: cut, with special tokens, padded.

The rules are those of `Tokenizer.post_process` in the reference library: each text is cut first, then the
post-processor puts its ids around and between, then rows are padded. `text_table` makes a whole table of texts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .pipeline import Template
from .routes import CannotEncodeError, Ids, Row, RowOffsets
from .routes.native import NO_OFFSETS, NO_TEMPLATE, NativeRoute
from .row_kinds import Arrays, Kind
from .row_overflow import Range, combined, part_ranges

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


def encode_rows(native: NativeRoute, rows: Sequence[Row], request: RowRequest, kind: Kind) -> Columns:
    """Every row as HF makes it. Raises CannotEncodeError where HF must be asked; the message says why."""
    if native.templates is None:
        raise CannotEncodeError(NO_TEMPLATE)
    if request.offsets and not native.gives_offsets:
        raise CannotEncodeError(NO_OFFSETS)
    room = None if request.limit is None else request.limit - native.templates.single.ids_added
    if request.stride and room is not None and room <= request.stride:
        raise CannotEncodeError("stride is not smaller than max_length")
    limits = [_limit_of(native, row, request) for row in rows]
    if kind is Arrays and not request.offsets and request.padding is not None and len(rows) > 1:
        texts = [row for row in rows if isinstance(row, str)]
        in_parts = request.overflow or request.stride
        if len(texts) == len(rows) and request.cut != "only_second" and not in_parts:
            ids, row_offsets = native.encode_batch(texts, False, request.split_special_tokens)
            table = text_table(
                ids, row_offsets, _template(native, rows[0], request), limits[0], request.keep_end, request.padding
            )
            if table is not None:
                return table
    encoded: list[RowParts] = []
    samples: list[int] = []
    lengths: list[int] = []  # of the rows without what is cut off
    word_counts: list[list[Any]] = []
    for number, tokens in enumerate(_tokens(native, rows, limits, request, kind)):
        made = _rows_of(_template(native, rows[number], request), tokens, limits[number], request, kind)
        encoded += made
        samples += [number] * len(made)
        lengths.append(len(made[0].ids))
        word_counts.append([text.word_counts for text in tokens])
    if request.padding is not None:
        width = request.padding.width(lengths)
        for parts_of_row in encoded:
            _pad(parts_of_row, width, request.padding, kind)
    return Columns(
        kind.column([row.ids for row in encoded]),
        kind.column([row.type_ids for row in encoded]),
        kind.column([row.special for row in encoded]),
        kind.column([row.attention for row in encoded]),
        kind.column([row.offsets for row in encoded]) if request.offsets else None,
        [row.runs for row in encoded],
        samples if request.overflow else None,
        word_counts,
    )


def text_table(
    ids: Ids, row_offsets: RowOffsets, template: Template, limit: int | None, keep_end: bool, padding: Padding
) -> Columns | None:
    """`encode_rows` for texts without offsets whose ids are given: tables int64 [rows, width].

    None where a row is longer than it is to be padded to.
    """
    lengths = np.diff(row_offsets)
    kept = lengths if limit is None else np.minimum(lengths, limit)
    place = next(number for number, piece in enumerate(template.pieces) if piece.text is not None)
    before, behind = template.pieces[:place], template.pieces[place + 1 :]
    whole = kept + template.ids_added
    width = padding.width(whole.tolist())
    if width < int(whole.max()):
        return None
    start = np.zeros_like(whole) if padding.side == "right" else width - whole
    position = np.arange(width)[None, :] - start[:, None]
    in_row = (position >= 0) & (position < whole[:, None])
    in_text = (position >= len(before)) & (position < (len(before) + kept)[:, None])
    if limit is not None:
        # The place of each id in its text, and in the part of it that is kept.
        number = np.arange(len(ids)) - np.repeat(row_offsets[:-1], lengths)
        first = lengths - kept if keep_end else np.zeros_like(kept)
        ids = ids[(number >= np.repeat(first, lengths)) & (number < np.repeat(first + kept, lengths))]
    columns = Columns(
        np.full(position.shape, padding.id, dtype=np.int64),
        np.full(position.shape, padding.type_id, dtype=np.int64),
        (~in_text).astype(np.int64),
        in_row.astype(np.int64),
        None,
    )
    columns.ids[in_text] = ids
    columns.type_ids[in_text] = template.pieces[place].type_id
    row = np.arange(len(whole))
    for piece, column in [
        *((piece, start + number) for number, piece in enumerate(before)),
        *((piece, start + len(before) + kept + number) for number, piece in enumerate(behind)),
    ]:
        columns.ids[row, column] = piece.ids[0]
        columns.type_ids[row, column] = piece.type_id
    return columns


def sequences(native: NativeRoute, row: Row, request: RowRequest) -> int:
    """What HF calls n_sequences of the row."""
    return _template(native, row, request).sequences


def tells_texts(native: NativeRoute, rows: Sequence[Row], request: RowRequest) -> bool:
    """Whether what HF calls sequence_ids of a row are its runs."""
    return all(_template(native, row, request).tells_texts for row in rows)


def text_runs(native: NativeRoute, lengths: Sequence[int], add_special_tokens: bool) -> list[list[Run]] | None:
    """The runs of rows that are one text each and have so many ids; None if they are not what HF calls sequence_ids."""
    templates = native.templates
    assert templates is not None
    template = templates.single if add_special_tokens else templates.single_bare
    if not template.tells_texts:
        return None
    special, added = Run(None, 0, 1), template.ids_added
    return [
        [special if piece.text is None else Run(0, 0, length - added) for piece in template.pieces]
        for length in lengths
    ]


def _template(native: NativeRoute, row: Row, request: RowRequest) -> Template:
    templates = native.templates
    assert templates is not None
    if not isinstance(row, tuple):
        return templates.single if request.add_special_tokens else templates.single_bare
    return templates.pair if request.add_special_tokens else templates.pair_bare


def _ends_are_cut_off(
    native: NativeRoute, rows: Sequence[Row], limits: Sequence[int | None], request: RowRequest
) -> bool:
    """Whether all rows are single texts, and one is so long that it is better not encoded to its end."""
    if request.keep_end or request.overflow or request.stride or request.cut == "only_second":
        return False
    over_long = False
    for row, limit in zip(rows, limits, strict=True):
        if not isinstance(row, str):
            return False
        over_long |= limit is not None and native.is_over_long(row, limit)
    return over_long


def _limit_of(native: NativeRoute, row: Row, request: RowRequest) -> int | None:
    """How many ids of the texts are kept."""
    if request.limit is None:
        return None
    kept = request.limit - _template(native, row, request).ids_added
    if kept <= 0:
        raise CannotEncodeError("max_length leaves no room for the text")
    return kept


class _Text(NamedTuple):
    """Ids of one text and their offsets, or None; `length`: how many there are if nothing is cut off."""

    ids: Any
    offsets: Any
    length: int
    word_counts: Any = None


def _tokens(
    native: NativeRoute, rows: Sequence[Row], limits: Sequence[int | None], request: RowRequest, kind: Kind
) -> Iterator[list[_Text]]:
    """The texts of each row: whole, or, where the offsets depend on it, cut already."""
    split = request.split_special_tokens
    texts = [text for row in rows for text in (row if isinstance(row, tuple) else (row,))]
    if not request.offsets:
        whole = [text for text in texts if isinstance(text, str)]
        if _ends_are_cut_off(native, rows, limits, request):
            limited = zip(whole, limits, strict=True)
            lists = [native.encode_limited(text, False, split, limit, False) for text, limit in limited]
            found = iter([ids if kind.as_lists else np.array(ids, dtype=np.int64) for ids in lists])
        else:
            found = iter(kind.texts(native, whole, split))
    for row, limit in zip(rows, limits, strict=True):
        of_row: list[_Text] = []
        for text in row if isinstance(row, tuple) else (row,):
            if isinstance(text, list):
                ids, counts, offsets = native.words(text, split, request.offsets, as_lists=kind.as_lists)
                of_row.append(_Text(ids, offsets, len(ids), counts))
            elif not request.offsets:
                ids = next(found)
                of_row.append(_Text(ids, None, len(ids)))
            elif isinstance(row, str) and limit is not None and not request.overflow and not request.stride:
                if request.cut == "only_second":
                    raise CannotEncodeError("truncation_strategy=only_second for one text")
                ids, offsets = native.text_with_offsets(text, split, limit, request.keep_end, as_lists=kind.as_lists)
                of_row.append(_Text(ids, offsets, len(ids)))
            else:
                ids, offsets = native.text_with_offsets(text, split, None, False, as_lists=kind.as_lists)
                of_row.append(_Text(ids, offsets, len(ids)))
        first_matters = native.first_offset_differs and request.offsets and (request.keep_end or request.overflow)
        if first_matters and limit is not None and sum(text.length for text in of_row) > limit:
            raise CannotEncodeError("the first offset of a text depends on where it is cut")
        yield of_row


def _rows_of(
    template: Template, texts: list[_Text], limit: int | None, request: RowRequest, kind: Kind
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
    template: Template, texts: Sequence[_Text], ranges: Sequence[Range], overflowing: Sequence[bool], kind: Kind
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


def _pad(row: RowParts, width: int, padding: Padding, kind: Kind) -> None:
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
