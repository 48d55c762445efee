"""Properties of single characters and their neighbours, for the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.character_kinds import ASCII_SPACE, BOTH, CJK, KIND_MASK, LOWER, MARK, NEWLINE, SEPARATOR, SPACE

Array = npt.NDArray[Any]  # one entry a character; of kinds, states or truth values


def neighbour(values: Array, offset: int, beyond: int) -> Array:
    """The value `offset` places on; `beyond` where there is none."""
    padding = np.full(abs(offset), beyond, dtype=values.dtype)
    if offset < 0:
        return np.concatenate([padding, values])[: len(values)]
    return np.concatenate([values, padding])[offset:]


class Characters:
    """Properties of characters; every array has one entry for each character, separators included."""

    def __init__(self, text: Array, classes: Array, leads: Array) -> None:
        self.kind = classes[leads] & KIND_MASK
        self.is_cjk = (classes[leads] & CJK) != 0
        # ASCII characters themselves, 0 for all others. U+017F counts as an s in contractions.
        following = np.append(text, 0)
        self.is_long_s = (following[leads] == 0xC5) & (following[leads + 1] == 0xBF)
        self.ascii = np.where(text[leads] < 0x80, text[leads], 0)
        self.before = self.neighbour(-1)
        self.after = self.neighbour(1)

    def neighbour(self, offset: int) -> Array:
        return neighbour(self.kind, offset, SEPARATOR)

    def contraction_lengths(self, ignore_case: bool) -> Array:
        """Characters of the contraction that each apostrophe begins; 0 if there is none."""
        letters = self.ascii.copy()
        if ignore_case:
            letters[(letters >= ord("A")) & (letters <= ord("Z"))] |= 0x20
            letters[self.is_long_s] = ord("s")
        first, second = neighbour(letters, 1, 0), neighbour(letters, 2, 0)
        of_two = np.isin(first, [ord(c) for c in "stmd"])
        of_three = np.zeros_like(of_two)
        for one, other in ("re", "ve", "ll"):
            of_three |= (first == ord(one)) & (second == ord(other))
        return np.where(self.ascii == ord("'"), of_two * 2 + of_three * 3, 0).astype(np.uint8)

    def first_beyond(self, run: Array) -> Array:
        """The kind of the first character from each one on that is not in `run`."""
        count = len(run)
        places = np.where(run, count, np.arange(count))
        first = np.minimum.accumulate(places[::-1])[::-1]
        return np.append(self.kind, SEPARATOR)[first]

    def separator_starts(self) -> Array:
        return (self.kind == SEPARATOR) | (self.before == SEPARATOR)


def is_other(kind: Array) -> Array:
    return kind <= MARK


def is_letter(kind: Array) -> Array:
    return (kind >= BOTH) & (kind <= LOWER)


def is_word(kind: Array) -> Array:
    return (kind >= MARK) & (kind <= LOWER)


def is_space(kind: Array) -> Array:
    return (kind >= NEWLINE) & (kind <= ASCII_SPACE)


def is_plain_space(kind: Array) -> Array:
    return (kind == SPACE) | (kind == ASCII_SPACE)
