"""Derives how the normalizers of the installed `tokenizers` treat each character."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tokenizers
from tokenizers import normalizers

from ..table import CharacterClasses
from . import normalization, oracle

# Bits for the normalization forms; native/normalization_form.hpp has the same ones and explains them.
NFD_CHANGES = 1 << 0
NFD_FOLLOWS = 1 << 1
NFKC_CHANGES = 1 << 2
NFKC_FOLLOWS = 1 << 3
NFKD_CHANGES = 1 << 4
NFKD_FOLLOWS = 1 << 5
# Characters that a normalizer changes by themselves, for normalizers that treat each character alone.
LOWERCASE_CHANGES = 1 << 6
STRIP_ACCENTS_CHANGES = 1 << 7
NMT_CHANGES = 1 << 8
# What Strip removes from the ends.
WHITE_SPACE = 1 << 9

CHANGES = {
    "Lowercase": LOWERCASE_CHANGES,
    "StripAccents": STRIP_ACCENTS_CHANGES,
    "Nmt": NMT_CHANGES,
}


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
    for kind, bit in CHANGES.items():
        becomes = each_alone(normalize(kind), decompositions.characters)
        masks[bit] = normalization.differ(becomes, decompositions.characters)
    return CharacterClasses.from_bits(oracle.combined(masks), np.empty((0, 2), np.uint32), tokenizers.__version__)


def normalize(kind: str) -> Callable[[str], str]:
    function: Callable[[str], str] = getattr(normalizers, kind)().normalize_str
    return function


def each_alone(normalize: Callable[[str], str], characters: list[str]) -> list[str]:
    """What each character becomes. Normalizes many at once, separated by "|", which every normalizer here keeps."""
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
