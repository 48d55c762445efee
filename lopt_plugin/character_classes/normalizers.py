"""What the normalizers of the installed `tokenizers` do to characters: a second class table, read only where needed.

`python -m lopt_plugin.character_classes.normalizers` writes the table that is shipped for the installed version.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import tokenizers
from tokenizers import normalizers

from . import normalization, oracle, table
from .table import CharacterClasses

# Bits for the normalization forms; native/normalization_form.hpp has the same and says what they are for.
NFD_CHANGES = 1 << 0
NFD_FOLLOWS = 1 << 1
NFKC_CHANGES = 1 << 2
NFKC_FOLLOWS = 1 << 3
NFKD_CHANGES = 1 << 4
NFKD_FOLLOWS = 1 << 5
# Characters that a normalizer changes alone; `single_characters` says of which normalizers that is all.
LOWERCASE_CHANGES = 1 << 6
STRIP_ACCENTS_CHANGES = 1 << 7
NMT_CHANGES = 1 << 8
# What Strip takes off the ends.
WHITE_SPACE = 1 << 9

_CHANGES = {
    "Lowercase": LOWERCASE_CHANGES,
    "StripAccents": STRIP_ACCENTS_CHANGES,
    "Nmt": NMT_CHANGES,
}


@functools.cache
def load() -> CharacterClasses:
    """The table of the installed `tokenizers`, from where `character_classes.load` has its own; without pairs."""
    from . import find_or_derive

    return find_or_derive("normalizers", derive)


def derive() -> CharacterClasses:
    """The table, in about five seconds."""
    decompositions = normalization.Decompositions()
    compatible = normalization.Decompositions("NFKD", "NFKC")
    masks = {
        NFD_CHANGES: normalization.decomposes(decompositions),
        NFD_FOLLOWS: normalization.begins_with_combining_class(decompositions),
        NFKC_CHANGES: normalization.composed_changes(compatible),
        NFKC_FOLLOWS: normalization.composed_follows(compatible, decompositions),
        NFKD_CHANGES: normalization.decomposes(compatible),
        NFKD_FOLLOWS: normalization.begins_with_combining_class(compatible),
        WHITE_SPACE: _stripped(),
    }
    for kind, bit in _CHANGES.items():
        becomes = _each_alone(_normalize(kind), decompositions.characters)
        pairs = zip(becomes, decompositions.characters, strict=True)
        masks[bit] = np.fromiter((a != b for a, b in pairs), dtype=np.bool_, count=len(becomes))
    bits = np.zeros(table.CODE_POINTS, dtype=np.uint16)
    for bit, mask in masks.items():
        bits[oracle.SCALAR_VALUES[mask]] |= bit
    return CharacterClasses.from_bits(bits, np.empty((0, 2), np.uint32), tokenizers.__version__)


@functools.cache
def single_characters(kind: str) -> tuple[tuple[int, str], ...]:
    """For Lowercase, StripAccents or Nmt, which look at each character alone: those they change, and into what."""
    characters = list(_having(_CHANGES[kind]))
    return tuple(zip(map(ord, characters), _each_alone(_normalize(kind), characters), strict=True))


def white_space() -> str:
    """The characters that Strip takes off the ends."""
    return _having(WHITE_SPACE)


def blanks() -> str:
    r"""The characters of `\s` in a Replace, whose regex engine is that of the split patterns."""
    from . import load as load_classes

    return oracle.to_text(np.flatnonzero(load_classes().bits() & table.SPACE).astype(np.uint32))


def _having(bit: int) -> str:
    return oracle.to_text(np.flatnonzero(load().bits() & bit).astype(np.uint32))


def _normalize(kind: str) -> Callable[[str], str]:
    normalize: Callable[[str], str] = getattr(normalizers, kind)().normalize_str
    return normalize


def _each_alone(normalize: Callable[[str], str], characters: list[str]) -> list[str]:
    """What becomes of each character, in texts of many with "|" between them, which every normalizer here keeps."""
    batch = 1 << 14
    answers: list[str] = []
    for first in range(0, len(characters), batch):
        some = ["" if c == "|" else c for c in characters[first : first + batch]]
        parts = normalize("|".join(some)).split("|")
        assert len(parts) == len(some)
        answers += parts
    return ["|" if c == "|" else answer for c, answer in zip(characters, answers, strict=True)]


def _stripped() -> oracle.Mask:
    strip = normalizers.Strip().normalize_str
    characters = oracle.to_text(oracle.SCALAR_VALUES)
    return np.fromiter((strip(c) == "" for c in characters), dtype=np.bool_, count=len(characters))


def main() -> None:
    started = time.perf_counter()
    classes = derive()
    path = table.shipped_path(classes.tokenizers_version, "normalizers")
    table.write(classes, path)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
