"""The documents of an input, in batches of bounded size. A record is a line, a row, or a whole text file."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .inputs import CorpusError, Input, Source, load_pyarrow, opened

LONGEST_TEXT = 1 << 30
_MOST_ROWS = 8192


@dataclass(frozen=True)
class Problem:
    """A record without a text; `record` counts from 1."""

    record: int
    reason: str


@dataclass
class Batch:
    """Consecutive records of one input.

    texts     texts of the records that have one; `records` are their numbers, from 1
    problems  the other records
    end       number of the last record of the batch; empty lines count
    size      decompressed bytes
    position  bytes of the stored file read so far
    """

    texts: list[str] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    end: int = 0
    size: int = 0
    position: int = 0

    def add(self, record: int, read: Callable[[], str]) -> None:
        """Adds the text that `read` returns; a ValueError that it raises is added as a problem."""
        try:
            self.texts.append(read())
        except UnicodeDecodeError as error:
            reason = f"not UTF-8: byte 0x{error.object[error.start]:02x} at {error.start}"
        except UnicodeEncodeError as error:
            reason = f"a lone surrogate at character {error.start:,}"
        except json.JSONDecodeError as error:
            reason = f"not JSON: {error.msg} at column {error.colno}"
        except RecursionError:
            reason = "JSON nested too deeply"
        except ValueError as error:
            reason = str(error)
        else:
            self.records.append(record)
            return
        self.problems.append(Problem(record, reason))


def read_batches(
    given: Input, column: str, sample_by: str, skip: int, batch_bytes: int
) -> Generator[Batch, None, None]:
    """All records after the first `skip`, in order, in batches of about `batch_bytes` or of one longer record.

    `column` is the field of a JSON object or the column of a Parquet file. `sample_by` says what a record of a text
    file is: "document" or "line". Raises CorpusError if the rest of the file cannot be read.
    """
    try:
        with opened(given) as source:
            if given.format == "parquet":
                yield from _parquet(given, source, column, skip, batch_bytes)
            elif given.format == "text" and sample_by == "document":
                yield from _whole(given, source, skip)
            else:
                yield from _lines(source, column if given.format == "jsonl" else None, skip, batch_bytes)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise CorpusError(f"{given.name}: {getattr(error, 'strerror', None) or error}") from error


def _whole(given: Input, source: Source, skip: int) -> Generator[Batch, None, None]:
    data = source.stream.read(LONGEST_TEXT + 1)
    if len(data) > LONGEST_TEXT:
        raise CorpusError(f"{given.name}: more than 1 GiB, too long for one document; use --sample-by line")
    if not skip:
        batch = Batch(end=1, size=len(data), position=source.position())
        batch.add(1, data.decode)
        yield batch


def _lines(source: Source, column: str | None, skip: int, batch_bytes: int) -> Generator[Batch, None, None]:
    number = 0
    while number < skip and source.stream.readline():
        number += 1
    while lines := source.stream.readlines(batch_bytes):
        batch = Batch(end=number + len(lines), size=sum(map(len, lines)), position=source.position())
        if number == 0 and column is not None:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        for record, line in enumerate(lines, number + 1):
            if column is None:
                batch.add(record, line.rstrip(b"\r\n").decode)
            elif line.strip():
                batch.add(record, partial(_text_of, line, column))
        yield batch
        number = batch.end


def _text_of(line: bytes, column: str) -> str:
    """The text of a line of JSON. Raises ValueError or RecursionError."""
    value = json.loads(line.decode())
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {_kind(value)}")
    if column not in value:
        known = ", ".join(map(repr, list(value)[:8])) or "none"
        raise ValueError(f"no field {column!r}; there are {known}")
    text = value[column]
    if not isinstance(text, str):
        raise ValueError(f"field {column!r} is {_kind(text)}, not a string")
    if b"\\u" in line:
        text.encode()  # only an escape can be a lone surrogate
    return text


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names: dict[type, str] = {dict: "an object", list: "an array", str: "a string"}
    return names.get(type(value), "a number")


def _parquet(given: Input, source: Source, column: str, skip: int, batch_bytes: int) -> Generator[Batch, None, None]:
    pyarrow = load_pyarrow(given.name)
    if not source.stream.seekable():
        raise CorpusError(f"{given.name}: Parquet cannot be read from a pipe")
    try:
        file = pyarrow.parquet.ParquetFile(source.stream)
        if column not in file.schema_arrow.names:
            known = ", ".join(file.schema_arrow.names)
            raise CorpusError(f"{given.name}: no column {column!r}; there are {known} (see --field)")
        kind = file.schema_arrow.field(column).type
        kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
            raise CorpusError(f"{given.name}: column {column!r} is {kind}, not string")
        number = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if number + rows <= skip:
                number += rows
                continue
            size = max(1, file.metadata.row_group(group).total_byte_size)
            at_once = min(_MOST_ROWS, max(1, batch_bytes * rows // size))
            for part in file.iter_batches(batch_size=at_once, row_groups=[group], columns=[column]):
                batch = Batch(end=number + len(part), size=part.nbytes)
                batch.position = (given.size or 0) * batch.end // file.metadata.num_rows
                for record, text in enumerate(part.column(0).to_pylist(), number + 1):
                    if record <= skip:
                        continue
                    if text is None:
                        batch.problems.append(Problem(record, f"column {column!r} is null"))
                    else:
                        batch.texts.append(text)
                        batch.records.append(record)
                number = batch.end
                if batch.end > skip:
                    yield batch
    except pyarrow.ArrowException as error:
        raise CorpusError(f"{given.name}: {error}") from error
