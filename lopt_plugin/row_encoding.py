"""Rows of a batch, each a text or a pair, from ids to what `_encode_plus` returns: cut, with special tokens, padded.

The rules are those of `Tokenizer.post_process` in the reference library: each text is cut first, then the
post-processor puts its ids around and between, then rows are padded. Rows are made of lists, or of arrays where tensors
are wanted: `Lists` and `Arrays` are the few operations that differ; `text_table` makes a whole table of texts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .pipeline import Template
from .routes import CannotEncodeError, Ids, Row, RowOffsets
from .routes.native import NativeRoute

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
    """What is to be made of the rows. limit: how many ids are kept of each, None for all; keep_end: the last ones."""

    add_special_tokens: bool
    split_special_tokens: bool
    limit: int | None
    cut: Cut
    keep_end: bool
    padding: Padding | None
    offsets: bool


@dataclass
class RowParts:
    """One row: ids [n], type ids [n], special tokens mask [n], attention mask [n], offsets [n, 2] or None."""

    ids: Any
    type_ids: Any
    special: Any
    attention: Any
    offsets: Any


@dataclass
class Columns:
    """The same of all rows: a list of rows, or one array where rows are arrays of one length; offsets may be None."""

    ids: Any
    type_ids: Any
    special: Any
    attention: Any
    offsets: Any


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
    def fill(value: int, count: int) -> Any:
        """`count` times the same."""
        return [value] * count

    @staticmethod
    def no_offsets(count: int) -> Any:
        """The offsets of ids that are not of the text."""
        return [(0, 0)] * count

    @staticmethod
    def column(rows: list[Any]) -> Any:
        """The rows of a batch."""
        return rows

    @staticmethod
    def texts(native: NativeRoute, texts: list[str], split_special_tokens: bool) -> list[Any]:
        """Ids of each text alone."""
        return native.text_lists(texts, split_special_tokens)


class Arrays:
    """Rows are arrays, int64 [n] and [n, 2]."""

    as_lists = False

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """The parts one after the other."""
        return np.concatenate(parts, dtype=np.int64)

    @staticmethod
    def fill(value: int, count: int) -> Any:
        """`count` times the same."""
        return np.full(count, value, dtype=np.int64)

    @staticmethod
    def no_offsets(count: int) -> Any:
        """The offsets of ids that are not of the text."""
        return np.zeros((count, 2), dtype=np.int64)

    @staticmethod
    def column(rows: list[Any]) -> Any:
        """The rows of a batch: one array if they are of one length."""
        return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows

    @staticmethod
    def texts(native: NativeRoute, texts: list[str], split_special_tokens: bool) -> list[Any]:
        """Ids of each text alone."""
        if len(texts) == 1:
            return [native.text_array(texts[0], split_special_tokens)]
        ids, offsets = native.encode_batch(texts, False, split_special_tokens)
        return [ids[offsets[row] : offsets[row + 1]] for row in range(len(texts))]


Kind = type[Lists] | type[Arrays]


def encode_rows(native: NativeRoute, rows: Sequence[Row], request: RowRequest, kind: Kind) -> Columns:
    """Every row as HF makes it. Raises CannotEncodeError where HF must be asked; the message says why."""
    if native.templates is None:
        raise CannotEncodeError("a post-processor whose template is not known")
    if request.offsets and not native.gives_offsets:
        raise CannotEncodeError("offsets are not native for this tokenizer")
    limits = [_limit_of(native, row, request) for row in rows]
    if kind is Arrays and not request.offsets and request.padding is not None and len(rows) > 1:
        texts = [row for row in rows if isinstance(row, str)]
        if len(texts) == len(rows) and request.cut != "only_second":
            ids, row_offsets = native.encode_batch(texts, False, request.split_special_tokens)
            table = text_table(
                ids, row_offsets, _template(native, rows[0], request), limits[0], request.keep_end, request.padding
            )
            if table is not None:
                return table
    texts = [text for row in rows for text in ([row] if isinstance(row, str) else row)]
    if request.offsets:
        tokens = _with_offsets(native, rows, limits, request, kind)
    elif _ends_are_cut_off(native, rows, limits, request):
        firsts = [
            native.encode_limited(text, False, request.split_special_tokens, limit, False)
            for text, limit in zip(texts, limits, strict=True)
        ]
        tokens = [(ids if kind is Lists else np.array(ids, dtype=np.int64), None) for ids in firsts]
    else:
        tokens = [(ids, None) for ids in kind.texts(native, texts, request.split_special_tokens)]
    found = iter(tokens)
    encoded = []
    for row, limit in zip(rows, limits, strict=True):
        parts = [next(found) for _ in range(1 if isinstance(row, str) else 2)]
        if not request.offsets:
            lengths = _kept([len(ids) for ids, _ in parts], limit, request.cut)
            parts = [(_cut(ids, n, request.keep_end), None) for (ids, _), n in zip(parts, lengths, strict=True)]
        encoded.append(_assembled(_template(native, row, request), parts, kind))
    if request.padding is not None:
        width = request.padding.width([len(row.ids) for row in encoded])
        for parts_of_row in encoded:
            _pad(parts_of_row, width, request.padding, kind)
    return Columns(
        kind.column([row.ids for row in encoded]),
        kind.column([row.type_ids for row in encoded]),
        kind.column([row.special for row in encoded]),
        kind.column([row.attention for row in encoded]),
        kind.column([row.offsets for row in encoded]) if request.offsets else None,
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


def _template(native: NativeRoute, row: Row, request: RowRequest) -> Template:
    templates = native.templates
    assert templates is not None
    if isinstance(row, str):
        return templates.single if request.add_special_tokens else templates.single_bare
    return templates.pair if request.add_special_tokens else templates.pair_bare


def _ends_are_cut_off(
    native: NativeRoute, rows: Sequence[Row], limits: Sequence[int | None], request: RowRequest
) -> bool:
    """Whether all rows are single texts, and one is so long that it is better not encoded to its end."""
    if request.keep_end or request.cut == "only_second":
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


def _with_offsets(
    native: NativeRoute, rows: Sequence[Row], limits: Sequence[int | None], request: RowRequest, kind: Kind
) -> list[tuple[Any, Any]]:
    # Offsets depend on where a text is cut, as the first token may be trimmed in another way: so cutting comes first.
    split, keep_end = request.split_special_tokens, request.keep_end
    tokens = []
    for row, limit in zip(rows, limits, strict=True):
        if isinstance(row, str):
            if request.cut == "only_second" and limit is not None:
                raise CannotEncodeError("truncation_strategy=only_second for one text")
            kept: list[int | None] = [limit]
        elif limit is None:
            kept = [None, None]
        else:
            kept = [*_kept([len(native.text_array(text, split)) for text in row], limit, request.cut)]
        texts = [row] if isinstance(row, str) else row
        for text, length in zip(texts, kept, strict=True):
            tokens.append(native.text_with_offsets(text, split, length, keep_end, as_lists=kind.as_lists))
    return tokens


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


def _cut(ids: Any, length: int, keep_end: bool) -> Any:
    if len(ids) == length:
        return ids
    return ids[len(ids) - length :] if keep_end else ids[:length]


def _assembled(template: Template, texts: list[tuple[Any, Any]], kind: Kind) -> RowParts:
    ids, type_ids, special, offsets = [], [], [], []
    for piece in template.pieces:
        if piece.text is None:
            part, places, count = kind.fill(piece.ids[0], 1), kind.no_offsets(1), 1
        else:
            part, places = texts[piece.text]
            count = len(part)
        ids.append(part)
        type_ids.append(kind.fill(piece.type_id, count))
        special.append(kind.fill(int(piece.text is None), count))
        offsets.append(places)
    joined = kind.join(ids)
    with_offsets = texts[0][1] is not None
    return RowParts(
        joined,
        kind.join(type_ids),
        kind.join(special),
        kind.fill(1, len(joined)),
        kind.join(offsets) if with_offsets else None,
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
