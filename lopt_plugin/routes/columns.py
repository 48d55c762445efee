"""Builds all columns of a BatchEncoding from the ids of a batch of rows, each a text or a pair of texts."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import Ids, RowOffsets
from .native import NO_OFFSETS, NO_TEMPLATE, NativeRoute
from .request import PLAIN, Columns, EncodeRequest, NeedsReference, Row


def native_columns(route: NativeRoute, rows: Sequence[Row], request: EncodeRequest) -> Columns:
    """The columns of each row; for a plain request, ids and offsets. Raises NeedsReference."""
    texts = [row for row in rows if isinstance(row, str)]
    type_ids_follow = not request.token_type_ids or route.post_processing.type_ids_are_zero
    if not request.is_plain or len(texts) < len(rows) or not type_ids_follow:
        return all_columns(route, rows, request)
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
    around, most = route.post_processing, request.max_length
    if around.templates is None:
        raise NeedsReference(NO_TEMPLATE)
    if request.offsets and not route.gives_offsets:
        raise NeedsReference(NO_OFFSETS)
    if request.stride and most is not None and most - around.templates.single.ids_added <= request.stride:
        raise NeedsReference("stride is not smaller than max_length")
    pairs = [isinstance(row, tuple) for row in rows]
    templates = around.templates_for(request)[: 1 + any(pairs)]
    rooms = [sys.maxsize if most is None else most - template.ids_added for template in templates]
    if min(rooms) <= 0:
        raise NeedsReference("max_length leaves no room for the text")
    *texts, word_counts = _encoded_texts(route, rows, rooms, request)
    layouts = [(of.pieces, of.overflow_type_ids, room) for of, room in zip(templates, rooms, strict=True)]
    truncation = request.strategy, request.keeps_end, request.stride, request.overflow
    padding = (0, None, "right", 0, 0) if request.padding is None else request.padding[:5]
    made: tuple[Any, Any, Any, Any, Any, Any] = route.core.finished_rows(
        *texts, pairs, layouts, truncation, padding, not request.arrays
    )
    return Columns(*made, word_counts)


def _encoded_texts(
    route: NativeRoute, rows: Sequence[Row], rooms: Sequence[int], request: EncodeRequest
) -> tuple[Ids, RowOffsets, Ids | None, Sequence[Ids] | None]:
    """Ids of all texts, their row offsets, and their offsets, if wanted; the numbers of ids of their words, if known.

    A row of one text is truncated if its offsets depend on that, or if it saves work.
    """
    split, keeps_end, bare = request.split_special_tokens, request.keeps_end, PLAIN[False][request.split_special_tokens]
    whole = request.max_length is None or request.overflow or request.stride or request.strategy == "only_second"
    texts_of_rows: list[Any] = [row if isinstance(row, tuple) else (row,) for row in rows]
    # Threads share a batch, but not the beginning of one text.
    most = rooms[0] * (1 if len(rows) == 1 else route.settings.threads)
    if not request.in_words and not request.offsets:
        texts = list(itertools.chain.from_iterable(texts_of_rows))
        if whole or keeps_end or len(rooms) > 1 or not route.is_over_long(max(texts, key=len), most):
            return *route.encode_batch(texts, bare), None, None
    first_matters = route.first_offset_differs and request.offsets and (keeps_end or request.overflow)
    made: list[tuple[Any, Any, Any]] = []  # ids, offsets, numbers of ids of words
    for texts in texts_of_rows:
        room, before = rooms[len(texts) - 1], len(made)
        for text in texts:
            offsets = counts = None
            if request.in_words:
                ids, counts, offsets = route.words(text, split, request.offsets)
            elif request.offsets:
                kept = None if whole or len(texts) > 1 else room
                ids, offsets = route.text_with_offsets(text, split, kept, keeps_end, as_lists=False)
            elif route.is_over_long(text, most):
                ids = np.array(route.first_ids(text, room, split), np.int32)
            else:
                ids = route.encode_array(text, bare)
            made.append((ids, offsets, counts))
        if first_matters and sum(len(ids) for ids, _, _ in made[before:]) > room:
            raise NeedsReference("the first offset of a text depends on where it is truncated")
    all_ids, all_offsets, word_counts = zip(*made, strict=True)
    row_offsets = np.cumsum([0, *map(len, all_ids)], dtype=np.int64)
    together = np.concatenate(all_offsets) if request.offsets else None
    return np.concatenate(all_ids), row_offsets, together, word_counts if request.in_words else None
