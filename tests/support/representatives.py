"""Characters and snippets that stand for everything a split pattern, a normalizer or an added token can tell apart."""

from __future__ import annotations

import functools

import numpy as np

from lopt_plugin.unicode_tables import load

# Where classes alone do not decide: contractions (U+017F folds to s), newlines in pairs, digits in groups, combining
# sequences in and out of order, jamo, and text that looks like added tokens.
SNIPPETS = [
    *["'s", "'S", "'ll", "'LL", "'Re", "'ve", "'d", "'\u017f", "\u2019s", "'t", "'m", "''", "'l", "'r"],
    *["\r\n", "\n\n", "\n \n", "  ", "   ", " \t", "\u3000\u3000", "\x85", "\u2028"],
    *["123", "1234", "12", "\u00b2\u00b3", "\u0663\u0664\u0665", "\u4e00\u4e8c", "\u304b\u3099", "\u30ab\u30bf"],
    *["e\u0301", "\u00e9", "q\u0307\u0323", "q\u0323\u0307", "\u1100\u1161\u11a8", "\uac00\u11a8", "\u212b", "\u0344"],
    *["\u2e80", "!\u2e80", "\u3007", "1\u3007", "\u4e00\u3007\u2e80\u3005", "\U00016ff0"],  # Han, of all classes
    *["<|end|>", "<|start|>", "<|start", "<|left|>", "<|right|>", "<|both|>", "<|word|>", "<|normalized|>", "lonely"],
    *["<|", "|>", "<|end", "Cafe\u0301", "Caf\u00e9", "\n\n\n", "\u2603", "<s>", "</s>", "<mask>", "[INST]"],
    *[
        "http://a.b/c?d=e",
        "camelCase",
        "SNAKE_CASE",
        "x**=2;",
        "a",
        "the",
        " the",
        " internationalization",
        "//\n",
        "_",
    ],
    *["\U0001f469\u200d\U0001f469", "\U0001f1fa\U0001f1f8", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\x00", "\ufeff"],
]


@functools.cache
def characters() -> tuple[str, ...]:
    """Up to four characters of each combination of class bits, of one to four bytes in UTF-8 where there are such."""
    bits = load.character_classes().bits()
    chosen: list[int] = []
    for value in np.unique(bits):
        of_class = np.flatnonzero(bits == value)
        for first, last in ((0, 0x80), (0x80, 0x800), (0x800, 0x10000), (0x10000, 0x110000)):
            of_length = of_class[(of_class >= first) & (of_class < last)]
            of_length = of_length[(of_length < 0xD800) | (of_length >= 0xE000)]
            if len(of_length):
                chosen.append(int(of_length[len(of_length) // 2]))
    return tuple(map(chr, sorted({*chosen, *range(0x80)})))
