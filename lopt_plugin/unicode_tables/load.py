"""Loads the tables of the installed `tokenizers`: shipped with the package, cached by an earlier process, or derived.

Without a shipped table for this version of `tokenizers`, the table is derived once (a few seconds) and cached in
XDG_CACHE_HOME or ~/.cache. A damaged cache file is replaced. If the folder cannot be written, every process derives.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import tokenizers

from . import bert, table
from .bert import BertOptions, WordCharacters
from .derive import bert as derive_bert, classes, graphemes, normalizers
from .files import cache_folder
from .table import CharacterClasses, PagedTable

_logger = logging.getLogger(__name__)
_Table = TypeVar("_Table", bound=PagedTable)


@functools.cache
def character_classes() -> CharacterClasses:
    """The classes that split patterns, pre-tokenizers, added tokens and NFC need, and the pairs that NFC composes."""
    return _load(CharacterClasses, table.file_name(tokenizers.__version__), classes.derive)


@functools.cache
def classes_with_han() -> CharacterClasses:
    """The same for Kimi's split pattern."""
    name = table.file_name(tokenizers.__version__, "han")
    return _load(CharacterClasses, name, lambda: classes.derive_with_han(character_classes()))


@functools.cache
def normalizer_classes() -> CharacterClasses:
    """The classes that the other normalizers need; without pairs. Few tokenizers use them."""
    name = table.file_name(tokenizers.__version__, "normalizers")
    return _load(CharacterClasses, name, normalizers.derive)


@functools.cache
def grapheme_classes() -> CharacterClasses:
    """Which characters share a cluster with a neighbour; without pairs. Only Precompiled asks."""
    return _load(CharacterClasses, table.file_name(tokenizers.__version__, "graphemes"), graphemes.derive)


def word_characters(options: BertOptions | None, pre_tokenizer: str = "bert") -> WordCharacters:
    """Characters for a BertNormalizer with these options (None: no normalizer) and a pre-tokenizer."""
    name = bert.file_name(options, pre_tokenizer, tokenizers.__version__)
    return _load(WordCharacters, name, lambda: derive_bert.derive(options, character_classes(), pre_tokenizer))


def _load(kind: type[_Table], name: str, derive: Callable[[], _Table]) -> _Table:
    folder = cache_folder()
    for place in (Path(__file__).parent, folder):
        if place is not None and (found := kind.read(place / name, tokenizers.__version__)) is not None:
            return found
    started = time.perf_counter()
    derived = derive()
    _logger.info("lopt_plugin: derived %s in %.1f s", name, time.perf_counter() - started)
    if folder is not None:
        try:
            derived.write(folder / name)
        except OSError as error:
            _logger.debug("lopt_plugin: could not cache %s: %s", name, error)
    return derived
