"""The cache folder, files that are written atomically, and files of arrays for one format and `tokenizers` version."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


def cache_folder() -> Path | None:
    """`lopt_plugin` in XDG_CACHE_HOME or ~/.cache; None if there is no home folder."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(folder) if os.path.isabs(folder) else Path.home() / ".cache"
    except RuntimeError:
        return None
    return root / "lopt_plugin"


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends; readers see the old file or the whole new one.

    Creates the folder. After an exception `path` is unchanged. Raises OSError if the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_arrays(path: Path, file_format: int, version: str, arrays: dict[str, Any]) -> None:
    """Write a compressed .npz atomically. Raises OSError if the folder cannot be written."""
    with atomic_file(path) as file:
        np.savez_compressed(file, format=np.uint32(file_format), tokenizers_version=np.array(version), **arrays)


def read_arrays(path: Path, file_format: int, version: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The named arrays; None if the file is absent, damaged, or of another format or version."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if int(file["format"]) != file_format or str(file["tokenizers_version"]) != version:
                return None
            return {name: file[name] for name in names}
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        return None
