"""What HF makes of the rows of a call."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Encoding

from .routes import Row
from .routes.hf import HfRoute, Truncation
from .row_request import RowRequest


def hf_encodings(hf: HfRoute, rows: Sequence[Row], request: RowRequest) -> list[Encoding]:
    """What HF makes of the rows, padding included."""
    truncation = None
    if request.limit is not None:
        truncation = Truncation(request.limit, "left" if request.keep_end else "right", request.cut, request.stride)
    special, split = request.add_special_tokens, request.split_special_tokens
    in_words = any(isinstance(row[0] if isinstance(row, tuple) else row, list) for row in rows)
    encodings = hf.encodings(rows, special, split, truncation, in_words)
    lengths = [len(encoding.ids) for encoding in encodings]
    if request.overflow:
        encodings = [part for encoding in encodings for part in (encoding, *encoding.overflowing)]
    padding = request.padding
    if padding is not None:
        width = padding.width(lengths)
        for encoding in encodings:
            encoding.pad(
                width, direction=padding.side, pad_id=padding.id, pad_type_id=padding.type_id, pad_token=padding.token
            )
    return encodings
