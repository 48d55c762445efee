"""Characters that the normalizers of the installed `tokenizers` change, strip or replace."""

from __future__ import annotations

import functools

import numpy as np

from .derive.normalizers import CHANGES, SEPARATOR, WHITE_SPACE
from .derive.oracle import normalize_each, to_text
from .load import character_classes, normalizer_classes
from .table import SPACE


@functools.cache
def single_characters(kind: str) -> tuple[tuple[int, str], ...]:
    """The code points that Lowercase, StripAccents or Nmt change, each with what it becomes."""
    characters = list(_having(CHANGES[kind]))
    return tuple(zip(map(ord, characters), normalize_each(kind, characters, SEPARATOR), strict=True))


def white_space() -> str:
    """The characters that Strip removes from the ends."""
    return _having(WHITE_SPACE)


def regex_white_space() -> str:
    r"""The characters of `\s` in a Replace, whose regex engine is that of the split patterns."""
    return to_text(np.flatnonzero(character_classes().bits() & SPACE).astype(np.uint32))


def _having(bit: int) -> str:
    return to_text(np.flatnonzero(normalizer_classes().bits() & bit).astype(np.uint32))
