"""Derive the class table from the installed `tokenizers`, over every code point.

Nothing is taken from Python's Unicode tables: they are of another Unicode version than the reference's regex engine,
its normalizer, and the Rust standard library that Punctuation and Digits ask.

`python -m lopt_plugin.character_classes.derive` writes the table that is shipped for the installed version.
"""

from __future__ import annotations

import time

import numpy as np
import tokenizers

from . import normalization, oracle, table
from .table import CharacterClasses

# Sets of the reference's regex engine, as the split patterns use them.
_CHARACTER_SETS = {
    table.LETTER: r"\p{L}",
    table.MARK: r"\p{M}",
    table.UPPER_SIDE: r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    table.LOWER_SIDE: r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    table.NUMBER: r"\p{N}",
    table.SPACE: r"\s",
    table.NEWLINE: r"[\r\n]",
    table.PUNCTUATION_OR_SYMBOL: r"[\p{P}\p{S}]",
    table.DEEPSEEK_CJK: "[一-龥\u3040-ゟ゠-ヿ]",
}


def derive() -> CharacterClasses:
    r"""The class table of the installed `tokenizers`, in about seven seconds.

    Each bit is the answer of that part of the reference that uses it: split patterns ask its regex engine,
    HF_PUNCTUATION and HF_NUMERIC its pre-tokenizers, WORD and STRIP_SPACE its added tokens (another regex engine, with
    another `\w` and `\s`), and the NFC bits its normalizers. `oracle` and `normalization` say why each question has
    a sure answer. Surrogates have no bits: the reference refuses them.
    """
    masks = {bit: oracle.in_character_set(pattern) for bit, pattern in _CHARACTER_SETS.items()}
    masks[table.HF_PUNCTUATION] = oracle.removed_by_punctuation()
    masks[table.HF_NUMERIC] = oracle.cut_off_by_digits()
    masks[table.WORD], masks[table.STRIP_SPACE] = oracle.word_and_strip_space()
    decompositions = normalization.Decompositions()
    masks[table.NFC_CHANGES] = normalization.composed_changes(decompositions)
    masks[table.NFC_FOLLOWS] = normalization.composed_follows(decompositions, decompositions)
    masks[table.DECOMPOSES] = normalization.decomposes(decompositions)

    bits = np.zeros(table.CODE_POINTS, dtype=np.uint16)
    for bit, mask in masks.items():
        bits[oracle.SCALAR_VALUES[mask]] |= bit
    return CharacterClasses.from_bits(bits, normalization.compose_pairs(decompositions), tokenizers.__version__)


def main() -> None:
    started = time.perf_counter()
    classes = derive()
    path = table.shipped_path(classes.tokenizers_version)
    table.write(classes, path)
    print(
        f"{path.name}: {len(classes.cells) // table.PAGE_SIZE} blocks, {len(classes.compose_pairs)} composing pairs, "
        f"{path.stat().st_size:,} bytes, {time.perf_counter() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
