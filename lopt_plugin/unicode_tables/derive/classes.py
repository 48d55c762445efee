"""Derives the class table from the installed `tokenizers`, over every code point.

Uses nothing from Python's Unicode tables: their Unicode version differs from those of the reference's regex engine, its
normalizer, and the Rust standard library that Punctuation and Digits use.
"""

from __future__ import annotations

import numpy as np
import tokenizers
from tokenizers import pre_tokenizers

from .. import table
from ..table import CharacterClasses, fold
from . import normalization, oracle

# Sets of the reference's regex engine, as the split patterns use them.
CHARACTER_SETS = {
    table.LETTER: r"\p{L}",
    table.MARK: r"\p{M}",
    table.UPPER_SIDE: r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    table.LOWER_SIDE: r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    table.NUMBER: r"\p{N}",
    table.SPACE: r"\s",
    table.NEWLINE: r"[\r\n]",
    table.PUNCTUATION_OR_SYMBOL: r"[\p{P}\p{S}]",
    table.CJK: "[一-龥\u3040-ゟ゠-ヿ]",
}
HAN = r"\p{Han}"


def derive_with_han(classes: CharacterClasses) -> CharacterClasses:
    """The table for Kimi's split pattern: CJK stands for Han characters, which are on neither side."""
    han = oracle.combined({table.CJK: oracle.in_character_set(HAN)})
    bits = classes.bits() & ~np.uint16(table.CJK)
    bits[han != 0] &= ~np.uint16(table.UPPER_SIDE | table.LOWER_SIDE)
    return CharacterClasses(classes.tokenizers_version, *fold(bits | han), classes.compose_pairs)


def derive() -> CharacterClasses:
    r"""The class table of the installed `tokenizers`, in about seven seconds.

    Each bit comes from the part of the reference that uses it: the sets of split patterns from its regex engine,
    HF_PUNCTUATION and HF_NUMERIC from its pre-tokenizers, WORD and STRIP_SPACE from its added tokens (a different regex
    engine, with a different `\w` and `\s`), and the NFC bits from its normalizers. `oracle` and `normalization` explain
    why the answers are certain. Surrogates have no bits, because the reference rejects them.
    """
    masks = {bit: oracle.in_character_set(pattern) for bit, pattern in CHARACTER_SETS.items()}
    masks[table.HF_PUNCTUATION] = oracle.removed_and_isolated(pre_tokenizers.Punctuation("isolated"))[1]
    masks[table.HF_NUMERIC] = oracle.removed_and_isolated(pre_tokenizers.Digits(individual_digits=True))[1]
    masks[table.WORD], masks[table.STRIP_SPACE] = oracle.word_and_strip_space()
    decompositions = normalization.Decompositions()
    masks[table.NFC_CHANGES] = normalization.differ(decompositions.composed, decompositions.characters)
    masks[table.NFC_FOLLOWS] = normalization.follows(decompositions, decompositions)
    masks[table.DECOMPOSES] = normalization.differ(decompositions.decomposed, decompositions.characters)
    pairs = normalization.compose_pairs(decompositions)
    return CharacterClasses(tokenizers.__version__, *fold(oracle.combined(masks)), pairs)
