"""Derives the characters of a WordPiece pipeline from the installed `tokenizers`, over every code point.

It assumes, and tests, that BertNormalizer maps each character alone, except that stripping accents first puts combining
characters into canonical order; and that the pre-tokenizers treat each character alone.
"""

from __future__ import annotations

import numpy as np
import tokenizers
from tokenizers import normalizers, pre_tokenizers

from .. import bert as words, table
from ..bert import BertOptions, WordCharacters
from ..table import CharacterClasses, fold
from .normalization import with_combining_class
from .oracle import SCALAR_VALUES, normalize_each, removed_and_isolated, to_text

PRE_TOKENIZERS = {
    "bert": pre_tokenizers.BertPreTokenizer,
    "whitespace_split": pre_tokenizers.WhitespaceSplit,
}
# A letter that every step keeps and that is in no other character's image: a starter, without case.
_SEPARATOR = "\ua4d0"


def derive(options: BertOptions | None, classes: CharacterClasses, pre_tokenizer: str = "bert") -> WordCharacters:
    """The characters, in about a second. classes: those of `load.character_classes`."""
    space, punctuation = removed_and_isolated(PRE_TOKENIZERS[pre_tokenizer]())
    bits = np.zeros(table.CODE_POINTS, dtype=np.uint16)
    bits[SCALAR_VALUES[space]] |= words.SPACE
    bits[SCALAR_VALUES[punctuation]] |= words.PUNCTUATION
    kinds = bits.copy()
    images: dict[int, str] = {}
    found = {} if options is None else _changed(options.normalizer())
    for code_point, image in found.items():
        mask, shown = _describe(image, kinds)
        bits[code_point] |= mask
        if shown and shown != chr(code_point):
            bits[code_point] |= words.CHANGES
            images[code_point] = shown
    same = np.ones(table.CODE_POINTS, dtype=np.bool_)
    same[list(found)] = False
    bits[same & (kinds & words.SPACE != 0)] |= words.RAW_SPACE
    bits[same & (kinds & words.PUNCTUATION != 0)] |= words.RAW_ISOLATED
    if options is not None and options.strips_accents():
        bits[_reordered(options, bits, classes)] |= words.REORDERED
    bits |= classes.bits() & np.uint16(words.KEPT_BITS)

    changed = np.array(sorted(images), dtype=np.uint32)
    encoded = [images[int(c)].encode() for c in changed]
    ends = np.cumsum([len(image) for image in encoded], dtype=np.uint32)
    images_in_order = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return WordCharacters(tokenizers.__version__, *fold(bits), changed, ends, images_in_order)


def _describe(image: str, kinds: np.ndarray) -> tuple[int, str]:
    """Bits of a character whose image is not itself, and the image as stored."""
    if not image:
        return words.REMOVED, ""
    classes = [int(kinds[ord(c)]) for c in image]
    if all(kind & words.SPACE for kind in classes):
        return words.RAW_SPACE, image
    if not (classes[0] and classes[-1]):
        return (words.DIVIDES if any(classes) else 0), image
    kept = image.strip(" ")
    if kept == image:
        mask = words.RAW_ISOLATED
    elif f" {kept} " == image and kinds[ord(" ")] & words.SPACE:
        mask = words.RAW_ISOLATED | words.SPACED
    else:
        raise ValueError(f"a normalizer gives {image!r}, which is of an unknown kind")
    single = len(kept) == 1 or not any(kinds[ord(c)] for c in kept)
    return (mask if single else mask | words.DIVIDES), kept


def _changed(normalizer: normalizers.Normalizer) -> dict[int, str]:
    """Scalar values that change, with what they become."""
    if normalizer.normalize_str(f"x{_SEPARATOR}y") != f"x{_SEPARATOR}y":
        raise ValueError("the normalizer changes the separator")
    characters = list(to_text(SCALAR_VALUES))
    images = normalize_each(normalizer, characters, _SEPARATOR)
    return {ord(c): image for c, image in zip(characters, images, strict=True) if c != image}


def _reordered(options: BertOptions, bits: np.ndarray, classes: CharacterClasses) -> list[int]:
    """Code points that leave something with a combining class when accents are stripped.

    Stripped characters do not matter, wherever they were. So characters of a text change places only within a run of
    these and of removed ones: all others leave a starter or white space.
    """
    candidates = list(classes.characters(table.NFC_FOLLOWS | table.DECOMPOSES))
    decomposed = normalize_each("NFD", candidates)
    ordered = with_combining_class(sorted(set("".join(decomposed))))
    candidates = [c for c, nfd in zip(candidates, decomposed, strict=True) if ordered & set(nfd)]
    reorder, full = options.reorder().normalize_str, options.normalizer().normalize_str
    found = []
    for character in candidates:
        left = reorder(character)
        if not ordered & set(left):
            continue
        # Characters in their final order go through the whole map again, one by one.
        if "".join(map(full, left)) != full(character) or "".join(map(reorder, left)) != left:
            raise ValueError(f"U+{ord(character):04X} is not normalized step by step")
        if bits[ord(character)] & (words.RAW_SPACE | words.RAW_ISOLATED):
            raise ValueError(f"U+{ord(character):04X} divides words and may be moved")
        found.append(ord(character))
    return found
