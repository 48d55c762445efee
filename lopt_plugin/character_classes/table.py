"""The two-stage class table: what is in it, and how it lies in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .array_file import read_arrays, write_arrays

CODE_POINTS = 0x110000
PAGE_SIZE = 128
PAGES = CODE_POINTS // PAGE_SIZE

# Raised whenever a bit or a pair changes its meaning, so that tables kept by an older release are not read.
FORMAT = 1

LETTER = 1 << 0
MARK = 1 << 1
UPPER_SIDE = 1 << 2
LOWER_SIDE = 1 << 3
NUMBER = 1 << 4
SPACE = 1 << 5
NEWLINE = 1 << 6
PUNCTUATION_OR_SYMBOL = 1 << 7
DEEPSEEK_CJK = 1 << 8
HF_PUNCTUATION = 1 << 9
HF_NUMERIC = 1 << 10
WORD = 1 << 11
STRIP_SPACE = 1 << 12
NFC_CHANGES = 1 << 13
NFC_FOLLOWS = 1 << 14
DECOMPOSES = 1 << 15


@dataclass(frozen=True, eq=False)
class CharacterClasses:
    """Class bits of every code point, as the installed `tokenizers` sees them.

    pages: uint16 [8704], block number of code point >> 7.
    cells: uint16 [blocks * 128], class bits; those of c are ``cells[pages[c >> 7] * 128 + (c & 127)]``.
    compose_pairs: uint32 [n, 2], sorted; every (a, b) of which NFC makes one character (see `normalization`).
    tokenizers_version: the version that the table was derived from.
    """

    pages: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint16]
    compose_pairs: npt.NDArray[np.uint32]
    tokenizers_version: str

    def bits(self) -> npt.NDArray[np.uint16]:
        """Class bits of every code point, uint16 [0x110000]."""
        return self.cells.reshape(-1, PAGE_SIZE)[self.pages].reshape(-1)

    @classmethod
    def from_bits(
        cls, bits: npt.NDArray[np.uint16], compose_pairs: npt.NDArray[np.uint32], tokenizers_version: str
    ) -> CharacterClasses:
        """Fold uint16 [0x110000] into pages and the distinct blocks, numbered as they first appear."""
        distinct, first, block_of_page = np.unique(
            bits.reshape(PAGES, PAGE_SIZE), axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        pages = number[block_of_page.reshape(-1)].astype(np.uint16)
        return cls(pages, np.ascontiguousarray(distinct[order]).reshape(-1), compose_pairs, tokenizers_version).frozen()

    def frozen(self) -> CharacterClasses:
        for array in (self.pages, self.cells, self.compose_pairs):
            array.setflags(write=False)
        return self

    def equals(self, other: CharacterClasses) -> bool:
        return (
            self.tokenizers_version == other.tokenizers_version
            and np.array_equal(self.pages, other.pages)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.compose_pairs, other.compose_pairs)
        )


def shipped_path(tokenizers_version: str, kind: str = "table") -> Path:
    return Path(__file__).with_name(f"{kind}_{tokenizers_version}.npz")


_ARRAYS = ("pages", "cells", "compose_pairs")


def write(classes: CharacterClasses, path: Path) -> None:
    """Atomically. Raises OSError where the folder cannot be written."""
    write_arrays(path, FORMAT, classes.tokenizers_version, {name: getattr(classes, name) for name in _ARRAYS})


def read(path: Path, tokenizers_version: str) -> CharacterClasses | None:
    """The table at `path`; None when it is absent, damaged, of another format or of another version."""
    arrays = read_arrays(path, FORMAT, tokenizers_version, _ARRAYS)
    if arrays is None:
        return None
    classes = CharacterClasses(**arrays, tokenizers_version=tokenizers_version)
    return classes.frozen() if _fits_together(classes) else None


def _fits_together(classes: CharacterClasses) -> bool:
    pages, cells, pairs = classes.pages, classes.cells, classes.compose_pairs
    return bool(
        pages.dtype == np.uint16
        and pages.shape == (PAGES,)
        and cells.dtype == np.uint16
        and cells.ndim == 1
        and len(cells) == (int(pages.max()) + 1) * PAGE_SIZE
        and pairs.dtype == np.uint32
        and pairs.ndim == 2
        and pairs.shape[1] == 2
    )
