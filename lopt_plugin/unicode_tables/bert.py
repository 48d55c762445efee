"""Characters as a WordPiece pipeline sees them: where they end a word, and what BertNormalizer turns them into.

White space, and characters that are words by themselves, split a raw text into raw words. The ids of the text are those
of its raw words in order, so only raw words need to be normalized.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tokenizers import normalizers

from .table import STRIP_SPACE, WORD, PagedTable

# The bits WORD and STRIP_SPACE of `table` keep their places: added tokens use them.
RAW_SPACE = 1 << 0  # becomes white space: divides raw words and is part of none
RAW_ISOLATED = 1 << 1  # is a raw word by itself, whatever is beside it
REMOVED = 1 << 2  # becomes nothing; its neighbours meet
CHANGES = 1 << 3  # becomes something else, its image
SPACED = 1 << 4  # its image is between two spaces
DIVIDES = 1 << 5  # its image is not one word, or not only a part of one
REORDERED = 1 << 6  # its place among its neighbours depends on them
SPACE = 1 << 7  # the pre-tokenizer removes it
PUNCTUATION = 1 << 8  # the pre-tokenizer isolates it
KEPT_BITS = WORD | STRIP_SPACE


@dataclass(frozen=True)
class BertOptions:
    """The options of a BertNormalizer. strip_accents: None means the same as `lowercase`."""

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
        """The steps up to the point where the order of characters is final."""
        return normalizers.BertNormalizer(self.clean_text, False, True, False)


@dataclass(frozen=True, eq=False)
class WordCharacters(PagedTable):
    """The bits above, and the images of characters with CHANGES.

    changed: uint32 [n], sorted code points.
    image_ends: uint32 [n], where the image of each ends in `images`.
    images: the images one after the other, UTF-8, uint8; without the spaces of SPACED.
    """

    FORMAT = 1

    changed: npt.NDArray[np.uint32]
    image_ends: npt.NDArray[np.uint32]
    images: npt.NDArray[np.uint8]

    def as_bytes(self) -> tuple[bytes, ...]:
        """The five arrays for the native core, little endian."""
        arrays = (self.pages, self.cells, self.changed, self.image_ends, self.images)
        return tuple(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)


def file_name(options: BertOptions | None, pre_tokenizer: str, version: str) -> str:
    if options is None:
        normalizer = "plain"
    else:
        strip = {None: "default", True: "1", False: "0"}[options.strip_accents]
        flags = f"clean{options.clean_text:d}_chinese{options.handle_chinese_chars:d}"
        normalizer = f"{flags}_accents{strip}_lower{options.lowercase:d}"
    return f"words_{version}_{WordCharacters.FORMAT}_{pre_tokenizer}_{normalizer}.npz"
