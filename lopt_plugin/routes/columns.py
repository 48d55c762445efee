"""Builds all columns of a BatchEncoding from the ids of a batch of rows, each a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .native import NO_OFFSETS, NO_TEMPLATE, NativeRoute
from .native_core import import_core
from .post_processing import Arrays, Kind, Lists, PostProcessing, RowText, padded, rows_of
from .request import PLAIN, Columns, EncodeRequest, NeedsReference, Row, RowParts, Run


def native_columns(route: NativeRoute, rows: Sequence[Row], request: EncodeRequest) -> Columns:
    """The columns of each row; for a plain request, ids and offsets. Raises NeedsReference."""
    texts = [row for row in rows if isinstance(row, str)]
    type_ids_follow = not request.token_type_ids or route.post_processing.type_ids_are_zero
    if not request.is_plain or len(texts) < len(rows) or not type_ids_follow:
        columns = all_columns(route, rows, request)
        if request.arrays and not (isinstance(columns.ids, np.ndarray) and columns.ids.size):
            return all_columns(route, rows, request._replace(arrays=False))
        return columns
    if not request.offsets:
        return Columns(_plain_rows(route, texts, request))
    found = [route.encode_with_offsets(text, request) for text in texts]
    return Columns([ids for ids, _ in found], offsets=[offsets for _, offsets in found])


def _plain_rows(route: NativeRoute, texts: list[str], request: EncodeRequest) -> list[list[int]]:
    around = route.post_processing
    may_be_long = request.max_length is not None and not request.keeps_end
    if may_be_long and any(route.is_over_long(text, around.room(request)) for text in texts):
        return [route.encode_list(text, request) for text in texts]
    rows = route.encode_lists(texts, request.split_special_tokens)
    if request.max_length is not None or (request.add_special_tokens and around.added):
        for ids in rows:
            around.finish(ids, request)
    return rows


def all_columns(route: NativeRoute, rows: Sequence[Row], request: EncodeRequest) -> Columns:
    """Every row with all its columns, as the reference makes them. Raises NeedsReference if it has to make them."""
    templates = route.post_processing.templates
    if templates is None:
        raise NeedsReference(NO_TEMPLATE)
    if request.offsets and not route.gives_offsets:
        raise NeedsReference(NO_OFFSETS)
    room = None if request.max_length is None else request.max_length - templates.single.ids_added
    if request.stride and room is not None and room <= request.stride:
        raise NeedsReference("stride is not smaller than max_length")
    rooms = [_room(route, row, request) for row in rows]
    table = _table(route, rows, request, rooms[0])
    if table is not None:
        return table
    kind: Kind = Arrays if request.arrays else Lists
    encoded: list[RowParts] = []
    samples: list[int] = []
    lengths: list[int] = []  # of the rows without what truncation removed
    word_counts: list[list[Any]] = []
    for number, texts in enumerate(_encoded_texts(route, rows, rooms, request, kind)):
        made = rows_of(route.post_processing.template(rows[number], request), texts, rooms[number], request, kind)
        encoded += made
        samples += [number] * len(made)
        lengths.append(len(made[0].columns[0]))
        word_counts.append([text.word_counts for text in texts])
    if request.padding is not None:
        width = request.padding.width(lengths)
        encoded = [padded(row, width, request.padding, kind) for row in encoded]
    columns = Columns(*(kind.column(list(column)) for column in zip(*(row.columns for row in encoded), strict=True)))
    columns.runs, columns.word_counts = [row.runs for row in encoded], word_counts
    columns.samples = samples if request.overflow else None
    return columns


def runs_of_single_texts(
    post_processing: PostProcessing, lengths: Sequence[int], request: EncodeRequest
) -> list[list[Run]] | None:
    """The runs of single-text rows with these numbers of ids; None if they are not the reference's sequence_ids."""
    template = post_processing.template("", request)
    if not template.tells_texts:
        return None
    special, added = Run(None, 0, 1), template.ids_added
    return [
        [special if piece.text is None else Run(0, 0, length - added) for piece in template.pieces]
        for length in lengths
    ]


def _room(route: NativeRoute, row: Row, request: EncodeRequest) -> int | None:
    """How many ids of the row's texts are kept; None for all."""
    if request.max_length is None:
        return None
    room = request.max_length - route.post_processing.template(row, request).ids_added
    if room <= 0:
        raise NeedsReference("max_length leaves no room for the text")
    return room


def _encoded_texts(
    route: NativeRoute, rows: Sequence[Row], rooms: Sequence[int | None], request: EncodeRequest, kind: Kind
) -> Iterator[list[RowText]]:
    """The texts of each row, truncated only if their offsets depend on it or it saves work."""
    split, as_lists = request.split_special_tokens, kind.as_lists
    ids_of_texts = iter([] if request.offsets else _ids_of_whole_texts(route, rows, rooms, request, kind))
    whole = request.overflow or request.stride or request.strategy == "only_second"
    for row, room in zip(rows, rooms, strict=True):
        of_row: list[RowText] = []
        for text in row if isinstance(row, tuple) else (row,):
            if isinstance(text, list):
                ids, counts, offsets = route.words(text, split, request.offsets, as_lists=as_lists)
                of_row.append(RowText(ids, offsets, counts))
                continue
            if not request.offsets:
                ids, offsets = next(ids_of_texts), None
            else:
                kept = room if isinstance(row, str) and not whole else None
                ids, offsets = route.text_with_offsets(text, split, kept, request.keeps_end, as_lists=as_lists)
            of_row.append(RowText(ids, offsets))
        first_matters = route.first_offset_differs and request.offsets and (request.keeps_end or request.overflow)
        if first_matters and room is not None and sum(len(text.ids) for text in of_row) > room:
            raise NeedsReference("the first offset of a text depends on where it is truncated")
        yield of_row


def _ids_of_whole_texts(
    route: NativeRoute, rows: Sequence[Row], rooms: Sequence[int | None], request: EncodeRequest, kind: Kind
) -> list[Any]:
    """Ids of all texts that are not split into words, in order; for a very long single text, only the kept ones."""
    split, only_second = request.split_special_tokens, request.strategy == "only_second"
    ends_matter = request.keeps_end or request.overflow or request.stride or only_second
    found: list[Any] = []
    whole: list[str] = []
    others: Iterator[Any]
    for row, room in zip(rows, rooms, strict=True):
        for text in row if isinstance(row, tuple) else (row,):
            if not isinstance(text, str):
                continue
            if ends_matter or room is None or row is not text or not route.is_over_long(text, room):
                whole.append(text)
                found.append(None)
            else:
                ids = route.first_ids(text, room, split)
                found.append(ids if kind.as_lists else np.array(ids, dtype=np.int64))
    if kind.as_lists:
        others = iter(route.encode_lists(whole, split))
    elif len(whole) == 1:
        others = iter([route.encode_array(whole[0], PLAIN[False][split])])
    else:
        together, row_offsets = route.encode_batch(whole, PLAIN[False][split])
        others = iter([together[begin:end] for begin, end in pairwise(row_offsets)])
    return [next(others) if ids is None else ids for ids in found]


def _table(route: NativeRoute, rows: Sequence[Row], request: EncodeRequest, room: int | None) -> Columns | None:
    """The columns as arrays int64 [rows, width], all rows at once; None if that is impossible.

    Only for single texts without offsets or overflow, none of which is longer than the padded width.
    """
    padding = request.padding
    if not request.arrays or request.offsets or request.overflow or request.stride:
        return None
    if (padding is None and len(rows) > 1) or request.strategy == "only_second":
        return None
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) < len(rows) or (len(rows) == 1 and room is not None and route.is_over_long(texts[0], room)):
        return None
    ids, row_offsets = route.encode_batch(texts, PLAIN[False][request.split_special_tokens])
    template = route.post_processing.template("", request)
    most = len(ids) if room is None else room
    lengths = [min(end - begin, most) + template.ids_added for begin, end in pairwise(row_offsets.tolist())]
    width = lengths[0] if padding is None else padding.width(lengths)
    if width < max(lengths):
        return None
    place = next(number for number, piece in enumerate(template.pieces) if piece.text is not None)
    added = [(piece.ids[0] if piece.text is None else 0, piece.type_id) for piece in template.pieces]
    columns = import_core().padded_rows(
        ids,
        row_offsets,
        room=most,
        keeps_end=request.keeps_end,
        before=added[:place],
        after=added[place + 1 :],
        type_id=template.pieces[place].type_id,
        width=width,
        padding=(0, 0) if padding is None else (padding.id, padding.type_id),
        pads_right=padding is None or padding.side == "right",
    )
    return Columns(*columns)
