"""Where tables are kept that were derived for a version of `tokenizers` without shipped ones."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """XDG_CACHE_HOME or ~/.cache, and our own folder in it; None where there is no home."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(folder) if os.path.isabs(folder) else Path.home() / ".cache"
    except RuntimeError:
        return None
    return root / "lopt_plugin"
