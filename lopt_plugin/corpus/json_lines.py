"""A string field of many JSON lines at once, by pyarrow, where it is certain that this gives what `json` gives."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import Any


def texts_of_lines(lines: Sequence[bytes], column: str) -> list[str] | None:
    """The field of every line; None where any line must be looked at alone, or pyarrow is not installed.

    That there is one object a line: where a line ends with } and the next begins with {, nothing but white space is
    between them, which is valid between two objects only. So no object reaches over a line's end, every line has at
    least one, and as many rows as lines are one each. pyarrow refuses what is not valid, and a field that comes twice.
    """
    pyarrow = _pyarrow()
    if pyarrow is None or not all(line[:1] == b"{" and line.rstrip(b"\r\n")[-1:] == b"}" for line in lines):
        return None
    block = b"".join(lines)
    wanted = pyarrow.schema([(column, pyarrow.string())])
    try:
        table = pyarrow.json.read_json(
            io.BytesIO(block),
            # One block: an object that is longer than a block is refused.
            read_options=pyarrow.json.ReadOptions(block_size=min(len(block) + 1, _LONGEST_BLOCK)),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore"),
        )
        texts: list[str] = table.column(column).to_pylist()
    except (pyarrow.ArrowException, UnicodeDecodeError):
        return None
    return texts if len(texts) == len(lines) and None not in texts else None


_LONGEST_BLOCK = (1 << 31) - 1


@functools.cache
def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return None
    return pyarrow
