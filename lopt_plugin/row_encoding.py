"""Rows of a batch, each a text or a pair, from ids to what `_encode_plus` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .pipeline import Template
from .routes import CannotEncodeError, Row
from .routes.native import NO_OFFSETS, NO_TEMPLATE, NativeRoute
from .row_assembly import RowText, pad, rows_of
from .row_kinds import Arrays, Kind
from .row_request import Columns, RowParts, RowRequest, Run
from .row_table import text_table


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
        made = rows_of(_template(native, rows[number], request), tokens, limits[number], request, kind)
        encoded += made
        samples += [number] * len(made)
        lengths.append(len(made[0].ids))
        word_counts.append([text.word_counts for text in tokens])
    if request.padding is not None:
        width = request.padding.width(lengths)
        for parts_of_row in encoded:
            pad(parts_of_row, width, request.padding, kind)
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


def _tokens(
    native: NativeRoute, rows: Sequence[Row], limits: Sequence[int | None], request: RowRequest, kind: Kind
) -> Iterator[list[RowText]]:
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
        of_row: list[RowText] = []
        for text in row if isinstance(row, tuple) else (row,):
            if isinstance(text, list):
                ids, counts, offsets = native.words(text, split, request.offsets, as_lists=kind.as_lists)
                of_row.append(RowText(ids, offsets, len(ids), counts))
            elif not request.offsets:
                ids = next(found)
                of_row.append(RowText(ids, None, len(ids)))
            elif isinstance(row, str) and limit is not None and not request.overflow and not request.stride:
                if request.cut == "only_second":
                    raise CannotEncodeError("truncation_strategy=only_second for one text")
                ids, offsets = native.text_with_offsets(text, split, limit, request.keep_end, as_lists=kind.as_lists)
                of_row.append(RowText(ids, offsets, len(ids)))
            else:
                ids, offsets = native.text_with_offsets(text, split, None, False, as_lists=kind.as_lists)
                of_row.append(RowText(ids, offsets, len(ids)))
        first_matters = native.first_offset_differs and request.offsets and (request.keep_end or request.overflow)
        if first_matters and limit is not None and sum(text.length for text in of_row) > limit:
            raise CannotEncodeError("the first offset of a text depends on where it is cut")
        yield of_row
