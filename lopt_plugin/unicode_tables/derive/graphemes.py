"""Derives which characters share a grapheme cluster with a neighbour, according to the installed `tokenizers`."""

from __future__ import annotations

import base64
import json

import numpy as np
import tokenizers
from tokenizers import Tokenizer, models, normalizers

from ..table import CharacterClasses, fold
from . import oracle

# Bits: the character is in one cluster with an "a" before it, or with one after it.
JOINS_LEFT = 1 << 0
JOINS_RIGHT = 1 << 1

_SEPARATOR = "\n"


def derive() -> CharacterClasses:
    """The table, in about a second."""
    masks = {JOINS_LEFT: _clusters_of_one("a{}"), JOINS_RIGHT: _clusters_of_one("{}a")}
    return CharacterClasses(tokenizers.__version__, *fold(oracle.combined(masks)), np.empty((0, 2), np.uint32))


def _clusters_of_one(pattern: str) -> oracle.Mask:
    """The characters that make one cluster of the pattern, which has less than 6 bytes.

    Precompiled looks up such a cluster by the bytes that it begins with. A map that knows the first byte of every
    character turns each cluster into one "X".
    """
    normalizer = _precompiled(bytes(byte for byte in range(1, 256) if byte != ord(_SEPARATOR)))
    # Controls join nothing but "\r\n"; a zero byte is never part of a key.
    texts = ["XX" if c in "\0\r\n" else pattern.format(c) for c in oracle.to_text(oracle.SCALAR_VALUES)]
    answers = oracle.normalize_each(normalizer, texts, _SEPARATOR)
    return np.array([answer == "X" for answer in answers], dtype=np.bool_)


def _precompiled(first_bytes: bytes) -> normalizers.Normalizer:
    """Precompiled with a map in which each of these bytes is a key that becomes "X"."""
    units = np.zeros(1024, dtype="<u4")
    units[0] = 256 << 10  # the root's children stand at 256 ^ byte, their values at 768 ^ 256 ^ byte
    for byte in first_bytes:
        units[256 ^ byte] = 768 << 10 | 1 << 8 | byte
        units[768 ^ 256 ^ byte] = 1 << 31
    charsmap = len(units.tobytes()).to_bytes(4, "little") + units.tobytes() + b"X\0"
    state = json.loads(Tokenizer(models.BPE()).to_str())
    state["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    normalizer: normalizers.Normalizer = Tokenizer.from_str(json.dumps(state)).normalizer
    return normalizer
