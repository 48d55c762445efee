"""Input files: their names, compression and format, and how far they have been read."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple

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
    """The inputs with these names, in order; fsspec addresses, folders and patterns with * are expanded.

    If `file_format` is None, each name determines its format. Raises CorpusError if a file is missing or given twice.
    """
    found = [one for name in names for one in _expand(name, file_format)]
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
    plain = PurePosixPath(path.lower())
    compression = _COMPRESSIONS.get(plain.suffix)
    if compression is not None:
        plain = plain.with_suffix("")
    chosen = file_format or _SUFFIXES.get(plain.suffix, "text")
    name = system.unstrip_protocol(path) if "://" in given else path
    modified = details.get("mtime", details.get("LastModified", details.get("ETag", "")))
    return Input(name, chosen, compression, details.get("size"), str(modified))


class Source(NamedTuple):
    """An open input: its decompressed bytes, and how many bytes of the file were read, including buffered ones."""

    stream: BinaryIO
    position: Callable[[], int]


@contextmanager
def opened(given: Input) -> Iterator[Source]:
    """The input, opened for reading. Raises OSError, and CorpusError if a library is missing."""
    if given.name == STDIN:
        yield Source(sys.stdin.buffer, lambda: 0)
        return
    import fsspec

    with fsspec.core.url_to_fs(given.name)[0].open(given.name, "rb") as stored:
        decompress = _zstd if given.compression == "zstd" else fsspec.compression.compr[given.compression]
        with decompress(stored, mode="rb") as stream:
            # Without a buffer, reading lines of remote and zstd files is slow or impossible.
            yield Source(io.BufferedReader(stream, _BUFFER_BYTES), stored.tell)


def _zstd(stored: Any, mode: str) -> Any:
    # pyarrow reports a truncated file; zstandard, which fsspec uses, stops there without an error.
    pyarrow = load_pyarrow("a zstd file")
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stored, mode="r"), "zstd")


def load_pyarrow(what: str) -> Any:
    """The module, for `what`. Raises CorpusError if it is missing."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise CorpusError(f"{what}: needs pyarrow; pip install 'lopt-plugin[corpus]'") from error
    return pyarrow
