"""Characters as a word-piece pipeline sees them: where they end a word, and what BertNormalizer makes of them.

A raw text is a row of raw words, divided by the characters that become blanks and by those that stand alone. The ids of
the text are those of its raw words in a row, so only raw words need to be normalized.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tokenizers
from tokenizers import normalizers

from .array_file import read_arrays, write_arrays
from .cache_folder import cache_folder
from .table import CODE_POINTS, PAGE_SIZE, PAGES, STRIP_SPACE, WORD

# Raised whenever a bit or an array changes its meaning.
FORMAT = 1

# The bits WORD and STRIP_SPACE of `table` keep their places: added tokens ask for them.
RAW_BLANK = 1 << 0  # becomes blanks: divides raw words and is part of none
RAW_ISOLATED = 1 << 1  # is a raw word by itself, whatever stands beside it
REMOVED = 1 << 2  # becomes nothing; its neighbours meet
CHANGES = 1 << 3  # becomes something else; `image` says what
SPACED = 1 << 4  # its image stands between two blanks
DIVIDES = 1 << 5  # its image is not one word, or not only a part of one
REORDERED = 1 << 6  # its place among its neighbours depends on them
BLANK = 1 << 7  # the pre-tokenizer removes it
PUNCTUATION = 1 << 8  # the pre-tokenizer isolates it
KEPT_BITS = WORD | STRIP_SPACE

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BertOptions:
    """The options of a BertNormalizer. `strip_accents` None: as `lowercase` says."""

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool | None
    lowercase: bool

    def normalizer(self) -> normalizers.BertNormalizer:
        return normalizers.BertNormalizer(
            self.clean_text, self.handle_chinese_chars, self.strip_accents, self.lowercase
        )

    def strips_accents(self) -> bool:
        return self.lowercase if self.strip_accents is None else self.strip_accents

    def reorder(self) -> normalizers.BertNormalizer:
        """What is done up to the point where the order of characters is settled."""
        return normalizers.BertNormalizer(self.clean_text, False, True, False)


@dataclass(frozen=True, eq=False)
class WordCharacters:
    """Class bits of every code point, and the images of those with CHANGES.

    pages, cells: as in `CharacterClasses`, with the bits of this module.
    changed: uint32 [n], sorted code points.
    image_ends: uint32 [n], where the image of each ends in `images`.
    images: the images in a row, UTF-8, uint8; without the blanks of SPACED.
    tokenizers_version: the version that all this was derived from.
    """

    pages: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint16]
    changed: npt.NDArray[np.uint32]
    image_ends: npt.NDArray[np.uint32]
    images: npt.NDArray[np.uint8]
    tokenizers_version: str

    def bits(self) -> npt.NDArray[np.uint16]:
        """Class bits of every code point, uint16 [0x110000]."""
        return self.cells.reshape(-1, PAGE_SIZE)[self.pages].reshape(-1)

    def as_bytes(self) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        """The arrays as the native core wants them, little endian."""
        return (
            self.pages.astype("<u2").tobytes(),
            self.cells.astype("<u2").tobytes(),
            self.changed.astype("<u4").tobytes(),
            self.image_ends.astype("<u4").tobytes(),
            self.images.tobytes(),
        )


def load(options: BertOptions | None, pre_tokenizer: str = "bert") -> WordCharacters:
    """Characters for a BertNormalizer of these options (None: no normalizer) and a pre-tokenizer.

    As `character_classes.load`: shipped for the version and the usual options, else derived (about a second, once) and
    kept in the user's cache folder.
    """
    version = tokenizers.__version__
    name = file_name(options, pre_tokenizer, version)
    folder = cache_folder()
    found = read(Path(__file__).with_name(name), version)
    if found is None and folder is not None:
        found = read(folder / name, version)
    if found is not None:
        return found
    from .derive_word_characters import derive  # seldom needed

    started = time.perf_counter()
    characters = derive(options, pre_tokenizer)
    _logger.info("derived %s in %.1f s", name, time.perf_counter() - started)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write(characters, folder / name)
        except OSError as error:
            _logger.debug("word characters are not kept: %s", error)
    return characters


def file_name(options: BertOptions | None, pre_tokenizer: str, version: str) -> str:
    if options is None:
        normalizer = "plain"
    else:
        strip = {None: "default", True: "1", False: "0"}[options.strip_accents]
        flags = f"clean{options.clean_text:d}_chinese{options.handle_chinese_chars:d}"
        normalizer = f"{flags}_accents{strip}_lower{options.lowercase:d}"
    return f"words_{version}_{FORMAT}_{pre_tokenizer}_{normalizer}.npz"


_ARRAYS = ("pages", "cells", "changed", "image_ends", "images")


def write(characters: WordCharacters, path: Path) -> None:
    """Atomically. Raises OSError where the folder cannot be written."""
    arrays = {name: getattr(characters, name) for name in _ARRAYS}
    write_arrays(path, FORMAT, characters.tokenizers_version, arrays)


def read(path: Path, version: str) -> WordCharacters | None:
    """The characters at `path`; None when they are absent, damaged, of another format or of another version."""
    arrays = read_arrays(path, FORMAT, version, _ARRAYS)
    if arrays is None:
        return None
    characters = WordCharacters(**arrays, tokenizers_version=version)
    return characters if _fits_together(characters) else None


def _fits_together(characters: WordCharacters) -> bool:
    pages, cells, changed, ends = characters.pages, characters.cells, characters.changed, characters.image_ends
    return bool(
        pages.dtype == np.uint16
        and pages.shape == (PAGES,)
        and cells.dtype == np.uint16
        and cells.shape == ((int(pages.max()) + 1) * PAGE_SIZE,)
        and changed.dtype == ends.dtype == np.uint32
        and changed.ndim == 1
        and changed.shape == ends.shape
        and characters.images.dtype == np.uint8
        and characters.images.ndim == 1
        and (not len(changed) or (changed.max() < CODE_POINTS and ends[-1] == len(characters.images)))
        and bool((np.diff(ends.astype(np.int64)) > 0).all())
    )
