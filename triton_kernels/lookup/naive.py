"""Whole pre-tokens to ids, by a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..common.character_kinds import SEPARATOR_BYTE
from ..common.word_ids import MISSED, SEPARATOR


def lookup(text: bytes, word_starts: npt.NDArray[np.int32], entries: Mapping[bytes, int]) -> npt.NDArray[np.int32]:
    """word_ids, int32 [words]."""
    found = []
    for begin, end in pairwise(word_starts):
        word = text[begin:end]
        found.append(SEPARATOR if word == bytes([SEPARATOR_BYTE]) else entries.get(word, MISSED))
    return np.array(found, dtype=np.int32)
