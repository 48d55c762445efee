"""Files of arrays, each of one format and of one version of `tokenizers`."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def write_arrays(path: Path, file_format: int, version: str, arrays: dict[str, Any]) -> None:
    """Write a compressed .npz, atomically: readers see the old file or the whole new one.

    Raises OSError where the folder cannot be written.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez_compressed(file, format=np.uint32(file_format), tokenizers_version=np.array(version), **arrays)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_arrays(path: Path, file_format: int, version: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The arrays of these names; None when they are absent, damaged, of another format or of another version."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if int(file["format"]) != file_format or str(file["tokenizers_version"]) != version:
                return None
            return {name: file[name] for name in names}
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        return None
