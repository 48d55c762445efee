"""Character classes, composing pairs and the byte-level alphabet, as the installed `tokenizers` sees them."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from pathlib import Path

import tokenizers

from . import table
from .byte_level import alphabet, byte_classes
from .cache_folder import cache_folder
from .table import CharacterClasses

__all__ = ["CharacterClasses", "alphabet", "byte_classes", "load"]

_logger = logging.getLogger(__name__)


@functools.cache
def load() -> CharacterClasses:
    """The class table of the installed `tokenizers`.

    Read from the table shipped for that version; for a version without one it is derived (some seconds, once) and kept
    in the user's cache folder, XDG_CACHE_HOME or ~/.cache. A damaged file there is replaced; a folder that cannot be
    written only means that the next process derives it again.
    """

    def derive() -> CharacterClasses:
        from .derive import derive  # seldom needed

        return derive()

    return find_or_derive("table", derive)


def find_or_derive(kind: str, derive: Callable[[], CharacterClasses]) -> CharacterClasses:
    """The table of one kind, as `load` finds it."""
    version = tokenizers.__version__
    cached = _cache_path(version, kind)
    found = table.read(table.shipped_path(version, kind), version) or (cached and table.read(cached, version))
    if found:
        return found
    started = time.perf_counter()
    classes = derive()
    _logger.info("derived the character classes of tokenizers %s in %.1f s", version, time.perf_counter() - started)
    if cached:
        try:
            cached.parent.mkdir(parents=True, exist_ok=True)
            table.write(classes, cached)
        except OSError as error:
            _logger.debug("character classes are not kept: %s", error)
    return classes


def _cache_path(version: str, kind: str) -> Path | None:
    folder = cache_folder()
    name = "character_classes" if kind == "table" else kind
    return None if folder is None else folder / f"{name}_{version}_{table.FORMAT}.npz"
