"""Derives how the normalizers of the installed `tokenizers` treat each character."""

from __future__ import annotations

import numpy as np
import tokenizers
from tokenizers import normalizers

from ..table import CharacterClasses, fold
from . import normalization, oracle

# Bits for the normalization forms; native/normalization_form.hpp has the same ones and explains them.
NFD_CHANGES = 1 << 0
NFD_FOLLOWS = 1 << 1
NFKC_CHANGES = 1 << 2
NFKC_FOLLOWS = 1 << 3
NFKD_CHANGES = 1 << 4
NFKD_FOLLOWS = 1 << 5
# Characters that a normalizer changes, for normalizers that treat each character alone.
LOWERCASE_CHANGES = 1 << 6
STRIP_ACCENTS_CHANGES = 1 << 7
NMT_CHANGES = 1 << 8
# Characters that Strip removes from the ends.
WHITE_SPACE = 1 << 9

CHANGES = {"Lowercase": LOWERCASE_CHANGES, "StripAccents": STRIP_ACCENTS_CHANGES, "Nmt": NMT_CHANGES}
# Each of these keeps it, and treats the characters next to it independently.
SEPARATOR = "|"


def derive() -> CharacterClasses:
    """The table, in about five seconds."""
    decompositions = normalization.Decompositions()
    compatible = normalization.Decompositions("NFKD", "NFKC")
    characters = decompositions.characters
    masks = {
        NFD_CHANGES: normalization.differ(decompositions.decomposed, characters),
        NFD_FOLLOWS: normalization.follows(decompositions),
        NFKC_CHANGES: normalization.differ(compatible.composed, characters),
        NFKC_FOLLOWS: normalization.follows(compatible, decompositions),
        NFKD_CHANGES: normalization.differ(compatible.decomposed, characters),
        NFKD_FOLLOWS: normalization.follows(compatible),
        WHITE_SPACE: _stripped(),
    }
    for kind, bit in CHANGES.items():
        masks[bit] = normalization.differ(oracle.normalize_each(kind, characters, SEPARATOR), characters)
    return CharacterClasses(tokenizers.__version__, *fold(oracle.combined(masks)), np.empty((0, 2), np.uint32))


def _stripped() -> oracle.Mask:
    strip = normalizers.Strip().normalize_str
    characters = oracle.to_text(oracle.SCALAR_VALUES)
    return np.fromiter((strip(c) == "" for c in characters), dtype=np.bool_, count=len(characters))
