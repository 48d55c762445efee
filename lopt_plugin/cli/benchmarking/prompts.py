"""Distinct prompts from a text, and generated ones that no cache has seen."""

from __future__ import annotations

import random
import string


def spread(text: str, count: int, chars: int) -> list[str]:
    """`count` prompts of `chars` characters, spaced evenly over the text, without overlap if it is long enough."""
    step = (len(text) - chars) // max(1, count - 1)
    return [text[k * step : k * step + chars] for k in range(count)]


def random_words(chars: int, seed: int) -> str:
    """Words of 3 to 12 random lower-case letters: hardly any is in a vocabulary, and none repeats."""
    rng = random.Random(seed)
    words: list[str] = []
    length = 0
    while length < chars:
        words.append("".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 12))))
        length += len(words[-1]) + 1
    return " ".join(words)[:chars]
