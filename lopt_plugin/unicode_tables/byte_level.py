"""The byte-level alphabet: the 256 characters that stand for bytes in byte-level vocabularies."""

from __future__ import annotations

import functools

from .load import character_classes
from .table import HF_NUMERIC, HF_PUNCTUATION

NUMERIC = 1 << 0
PUNCTUATION = 1 << 1


@functools.cache
def alphabet() -> str:
    """The stand-in character of each byte; 256 characters.

    GPT-2's rule: a byte that is a visible Latin-1 character stands for itself; the others get the code points from 256
    on, in order. A test compares this with ByteLevel for every byte that text can contain.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in visible else next(others)) for byte in range(256))


@functools.cache
def byte_classes() -> bytes:
    """For each byte, the classes of its stand-in character: NUMERIC (Digits) and PUNCTUATION; 256 bytes.

    Steps after ByteLevel see these characters, not the text's.
    """
    classes = map(character_classes().of, alphabet())
    return bytes(NUMERIC * bool(of & HF_NUMERIC) + PUNCTUATION * bool(of & HF_PUNCTUATION) for of in classes)
