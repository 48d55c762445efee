"""Files that are either complete or missing, also after a power failure; and a folder with a single writer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .inputs import CorpusError

TEMPORARY_SUFFIX = ".partial"
_LOCK = ".lock"


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file for writing that gets the name `path` when it is on the disk; nothing remains if writing fails."""
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Creates the folder and locks it; raises CorpusError if another process has the lock, which ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            import fcntl
        except ImportError:
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{folder}: another process is writing there") from error
        yield
