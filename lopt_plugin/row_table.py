"""A whole table of texts at once: cut, with special tokens, padded."""

from __future__ import annotations

import numpy as np

from .pipeline import Template
from .routes import Ids, RowOffsets
from .row_request import Columns, Padding


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
