"""Characters that the normalizers of the installed `tokenizers` change, strip or replace."""

from __future__ import annotations

import functools

from .derive.graphemes import JOINS_LEFT, JOINS_RIGHT
from .derive.normalizers import CHANGES, SEPARATOR, WHITE_SPACE
from .derive.oracle import normalize_each
from .load import character_classes, grapheme_classes, normalizer_classes
from .table import SPACE, STRIP_SPACE


@functools.cache
def single_characters(kind: str) -> tuple[tuple[int, str], ...]:
    """The code points that Lowercase, StripAccents or Nmt change, each with what it becomes."""
    characters = list(normalizer_classes().characters(CHANGES[kind]))
    return tuple(zip(map(ord, characters), normalize_each(kind, characters, SEPARATOR), strict=True))


def white_space() -> str:
    """The characters that Strip removes from the ends."""
    return normalizer_classes().characters(WHITE_SPACE)


@functools.cache
def added_token_white_space() -> str:
    """The characters that an added token with `lstrip` or `rstrip` takes."""
    return character_classes().characters(STRIP_SPACE)


def regex_white_space() -> str:
    r"""The characters of `\s` in a Replace, whose regex engine is that of the split patterns."""
    return character_classes().characters(SPACE)


def joining() -> tuple[str, str]:
    """The characters that share a grapheme cluster with one before them, and those that do with one after them."""
    classes = grapheme_classes()
    return classes.characters(JOINS_LEFT), classes.characters(JOINS_RIGHT)
