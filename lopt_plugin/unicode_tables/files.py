"""The cache folder, and files that are written atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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
