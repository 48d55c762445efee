"""Input files: their names, compression and format, and how far they have been read."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

STDIN = "-"
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".xz": "xz"}
_BUFFER_BYTES = 1 << 20


class CorpusError(Exception):
    """An error that the user can fix; the message is for the user."""


@dataclass(frozen=True)
class Input:
    """A file or "-" for standard input.

    size      bytes as stored; None if unknown
    modified  a mark of the file's last change; "" if there is none
    """

    name: str
    format: str
    compression: str | None
    size: int | None
    modified: str


def find_inputs(names: Sequence[str], file_format: str | None) -> list[Input]:
    """The inputs of these names, in their order; fsspec addresses, folders and patterns with * are expanded.

    With `file_format` None, each name decides. Raises CorpusError if a file is missing or given twice.
    """
    found = [one for name in names for one in _expand(name, file_format)]
    if not found:
        raise CorpusError("no input files")
    ((most_common, times),) = Counter(one.name for one in found).most_common(1)
    if times > 1:
        raise CorpusError(f"{most_common}: given twice")
    return found


def _expand(name: str, file_format: str | None) -> list[Input]:
    if name == STDIN:
        return [Input(STDIN, file_format or "text", None, None, "")]
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(name)
        if system.isdir(path):
            paths = sorted(p for p in system.find(path) if not PurePosixPath(p).name.startswith("."))
        else:
            paths = [path] if system.exists(path) else sorted(system.glob(path))
        if not paths:
            raise CorpusError(f"{name}: no such file")
        return [_describe(system, one, name, file_format) for one in paths]
    except (OSError, ValueError, ImportError) as error:
        raise CorpusError(f"{name}: {error}") from error


def _describe(system: Any, path: str, given: str, file_format: str | None) -> Input:
    details = system.info(path)
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    chosen = file_format or (_SUFFIXES.get(suffixes[-1], "text") if suffixes else "text")
    name = system.unstrip_protocol(path) if "://" in given else path
    modified = details.get("mtime", details.get("LastModified", details.get("ETag", "")))
    return Input(name, chosen, compression, details.get("size"), str(modified))


class Source(NamedTuple):
    """An opened input: `stream` has its bytes decompressed, `stored` as they are in the file."""

    stream: BinaryIO
    stored: BinaryIO

    @property
    def position(self) -> int:
        """Stored bytes that were read so far, including those in buffers; 0 if the file does not report it."""
        try:
            return self.stored.tell()
        except (OSError, ValueError):
            return 0


@contextmanager
def opened(given: Input) -> Iterator[Source]:
    """The input, opened for reading. Raises CorpusError if it cannot be opened or a library is missing."""
    if given.name == STDIN:
        yield Source(cast(BinaryIO, sys.stdin.buffer), cast(BinaryIO, sys.stdin.buffer))
        return
    import fsspec

    try:
        stored = fsspec.core.url_to_fs(given.name)[0].open(given.name, "rb")
    except OSError as error:
        raise CorpusError(f"{given.name}: {error.strerror or error}") from error
    with stored:
        if given.compression is None:
            yield Source(_buffered(stored), stored)
            return
        decompress = _zstd if given.compression == "zstd" else fsspec.compression.compr[given.compression]
        with decompress(stored, mode="rb") as stream:
            yield Source(_buffered(stream), stored)


def _zstd(stored: Any, mode: str) -> Any:
    # pyarrow reports a truncated file; zstandard, which fsspec uses, stops there without an error.
    try:
        import pyarrow
    except ImportError as error:
        raise CorpusError("zstd files need pyarrow; pip install 'lopt-plugin[corpus]'") from error
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stored, mode="r"), "zstd")


def _buffered(stream: Any) -> BinaryIO:
    # Without a buffer, reading lines of remote and zstd files is slow or impossible.
    return cast(BinaryIO, io.BufferedReader(stream, _BUFFER_BYTES))
