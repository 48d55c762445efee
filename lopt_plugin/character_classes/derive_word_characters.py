"""Derive the characters of a word-piece pipeline from the installed `tokenizers`, over every code point.

Of BertNormalizer only this is taken for granted, and tested: it maps each character by itself, but where it strips
accents it puts combining characters into canonical order first; and the pre-tokenizers judge each character by itself.

`python -m lopt_plugin.character_classes.derive_word_characters` writes the shipped tables of the installed version.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import normalizers, pre_tokenizers

from . import load as load_classes
from . import table
from . import word_characters as words
from .normalization import with_combining_class
from .oracle import SCALAR_VALUES, Mask, normalize_each, to_text
from .table import CharacterClasses
from .word_characters import BertOptions, WordCharacters

PRE_TOKENIZERS = {
    "bert": pre_tokenizers.BertPreTokenizer,
    "whitespace_split": pre_tokenizers.WhitespaceSplit,
}
SHIPPED: tuple[BertOptions | None, ...] = (
    None,
    BertOptions(True, True, None, True),
    BertOptions(True, True, None, False),
    BertOptions(True, True, False, True),
    BertOptions(True, True, False, False),
)

# A letter that every step leaves as it is and that no other character's image holds: a starter, without case.
_SEPARATOR = "\ua4d0"
_BATCH = 1 << 12


def derive(options: BertOptions | None, pre_tokenizer: str = "bert") -> WordCharacters:
    """In about a second."""
    blank, punctuation = _pre_token_classes(PRE_TOKENIZERS[pre_tokenizer]())
    bits = np.zeros(table.CODE_POINTS, dtype=np.uint16)
    bits[SCALAR_VALUES[blank]] |= words.BLANK
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
    bits[same & (kinds & words.BLANK != 0)] |= words.RAW_BLANK
    bits[same & (kinds & words.PUNCTUATION != 0)] |= words.RAW_ISOLATED
    if options is not None and options.strips_accents():
        bits[_reordered(options, bits)] |= words.REORDERED
    bits |= load_classes().bits() & np.uint16(words.KEPT_BITS)

    changed = np.array(sorted(images), dtype=np.uint32)
    encoded = [images[int(c)].encode() for c in changed]
    ends = np.cumsum([len(image) for image in encoded], dtype=np.uint32) if encoded else np.zeros(0, np.uint32)
    folded = CharacterClasses.from_bits(bits, np.zeros((0, 2), np.uint32), tokenizers.__version__)
    return WordCharacters(
        folded.pages,
        folded.cells,
        changed,
        ends.astype(np.uint32),
        np.frombuffer(b"".join(encoded), dtype=np.uint8),
        tokenizers.__version__,
    )


def _describe(image: str, kinds: np.ndarray) -> tuple[int, str]:
    """Bits of a character with an image that is not itself, and the image as it is kept."""
    if not image:
        return words.REMOVED, ""
    classes = [int(kinds[ord(c)]) for c in image]
    if all(kind & words.BLANK for kind in classes):
        return words.RAW_BLANK, image
    if not (classes[0] and classes[-1]):
        return (words.DIVIDES if any(classes) else 0), image
    kept = image.strip(" ")
    if kept == image:
        mask = words.RAW_ISOLATED
    elif f" {kept} " == image and kinds[ord(" ")] & words.BLANK:
        mask = words.RAW_ISOLATED | words.SPACED
    else:
        raise ValueError(f"a normalizer gives {image!r}, which is of no known kind")
    single = len(kept) == 1 or not any(kinds[ord(c)] for c in kept)
    return (mask if single else mask | words.DIVIDES), kept


def _pre_token_classes(pre_tokenizer: pre_tokenizers.PreTokenizer) -> tuple[Mask, Mask]:
    """Scalar values that the pre-tokenizer removes, and those that it isolates: each is put between two "a"."""
    removed, isolated = [], []
    for first in range(0, len(SCALAR_VALUES), _BATCH):
        batch = SCALAR_VALUES[first : first + _BATCH]
        text = np.full(2 * len(batch) + 1, ord("a"), dtype=np.uint32)
        text[1::2] = batch
        starts = np.zeros(len(text), dtype=np.bool_)
        covered = np.zeros(len(text), dtype=np.bool_)
        for _, (start, stop) in pre_tokenizer.pre_tokenize_str(to_text(text)):
            starts[start] = covered[start:stop] = True
        begins, divided = starts[1::2], starts[2::2]
        if not covered[::2].all() or (begins & ~divided).any() or (~covered[1::2] & ~divided).any():
            raise ValueError("a pre-tokenizer does not judge characters by themselves")
        removed.append(~covered[1::2])
        isolated.append(begins)
        if (covered[1::2] & ~begins & divided).any():
            raise ValueError("a pre-tokenizer ends a word behind a character")
    return np.concatenate(removed), np.concatenate(isolated)


def _changed(normalizer: normalizers.Normalizer) -> dict[int, str]:
    """Scalar values that are not left as they are, with what becomes of them."""
    if normalizer.normalize_str(f"x{_SEPARATOR}y") != f"x{_SEPARATOR}y":
        raise ValueError("the normalizer changes the separator")
    changed: dict[int, str] = {}
    for first in range(0, len(SCALAR_VALUES), _BATCH):
        batch = [c for c in to_text(SCALAR_VALUES[first : first + _BATCH]) if c != _SEPARATOR]
        images = normalizer.normalize_str(_SEPARATOR.join(batch)).split(_SEPARATOR)
        if len(images) != len(batch):
            raise ValueError("an image holds the separator")
        changed.update((ord(c), image) for c, image in zip(batch, images, strict=True) if c != image)
    return changed


def _reordered(options: BertOptions, bits: np.ndarray) -> list[int]:
    """Code points of which something with a combining class is left when accents are stripped.

    What is stripped does not matter, wherever it stood. So a text's characters change places only within a run of these
    and of removed ones: all others leave a starter, or a blank.
    """
    candidates = [chr(c) for c in np.flatnonzero(load_classes().bits() & (table.NFC_FOLLOWS | table.DECOMPOSES))]
    decomposed = normalize_each("NFD", candidates)
    ordered = with_combining_class(sorted(set("".join(decomposed))))
    candidates = [c for c, nfd in zip(candidates, decomposed, strict=True) if ordered & set(nfd)]
    reorder, full = options.reorder().normalize_str, options.normalizer().normalize_str
    found = []
    for character in candidates:
        left = reorder(character)
        if not ordered & set(left):
            continue
        # What is put into order once goes through the whole map again, one by one.
        if "".join(map(full, left)) != full(character) or "".join(map(reorder, left)) != left:
            raise ValueError(f"U+{ord(character):04X} is not normalized step by step")
        if bits[ord(character)] & (words.RAW_BLANK | words.RAW_ISOLATED):
            raise ValueError(f"U+{ord(character):04X} divides words and may be moved")
        found.append(ord(character))
    return found


def main() -> None:
    for options in SHIPPED:
        started = time.perf_counter()
        characters = derive(options)
        path = Path(__file__).with_name(words.file_name(options, "bert", characters.tokenizers_version))
        words.write(characters, path)
        seconds = time.perf_counter() - started
        print(f"{path.name}: {len(characters.changed):,} images, {path.stat().st_size:,} bytes, {seconds:.1f} s")


if __name__ == "__main__":
    main()
