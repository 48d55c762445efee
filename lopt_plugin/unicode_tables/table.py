"""Two-stage tables of class bits for every code point, and the classes of split patterns, added tokens and NFC."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from .files import atomic_file

CODE_POINTS = 0x110000
PAGE_SIZE = 128
PAGES = CODE_POINTS // PAGE_SIZE

LETTER = 1 << 0
MARK = 1 << 1
UPPER_SIDE = 1 << 2
LOWER_SIDE = 1 << 3
NUMBER = 1 << 4
SPACE = 1 << 5
NEWLINE = 1 << 6
PUNCTUATION_OR_SYMBOL = 1 << 7
CJK = 1 << 8
HF_PUNCTUATION = 1 << 9
HF_NUMERIC = 1 << 10
WORD = 1 << 11
STRIP_SPACE = 1 << 12
NFC_CHANGES = 1 << 13
NFC_FOLLOWS = 1 << 14
DECOMPOSES = 1 << 15

_Table = TypeVar("_Table", bound="PagedTable")
_Bits = TypeVar("_Bits", np.uint8, np.uint16)


@dataclass(frozen=True, eq=False)
class PagedTable:
    """Class bits of every code point.

    tokenizers_version: the version that the table was derived from.
    pages: uint16 [8704], block number of code point >> 7.
    cells: uint16 [blocks * 128], class bits; those of c are ``cells[pages[c >> 7] * 128 + (c & 127)]``.
    FORMAT: increase it when a bit or an array changes its meaning, so that cached older tables are not read.
    """

    FORMAT: ClassVar[int]

    tokenizers_version: str
    pages: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint16]

    def bits(self) -> npt.NDArray[np.uint16]:
        """Class bits of every code point, uint16 [0x110000]."""
        return self.cells.reshape(-1, PAGE_SIZE)[self.pages].reshape(-1)

    def of(self, character: str) -> int:
        """Class bits of one character."""
        code_point = ord(character)
        return int(self.cells[int(self.pages[code_point // PAGE_SIZE]) * PAGE_SIZE + code_point % PAGE_SIZE])

    def characters(self, bits: int) -> str:
        """The characters that have one of these bits."""
        return "".join(map(chr, np.flatnonzero(self.bits() & bits)))

    def write(self, path: Path) -> None:
        """Writes a compressed .npz atomically. Raises OSError if the folder cannot be written."""
        arrays = {name: getattr(self, name) for name in _arrays(type(self))}
        version = np.array(self.tokenizers_version)
        with atomic_file(path) as file:
            np.savez_compressed(file, format=np.uint32(self.FORMAT), tokenizers_version=version, **arrays)

    @classmethod
    def read(cls: type[_Table], path: Path, tokenizers_version: str) -> _Table | None:
        """The table at `path`; None if it is absent, damaged, or of another format or version."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if int(file["format"]) != cls.FORMAT or str(file["tokenizers_version"]) != tokenizers_version:
                    return None
                table = cls(tokenizers_version, *(file[name] for name in _arrays(cls)))
                blocks = int(table.pages.max()) + 1
        except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
            return None
        return table if len(table.cells) == blocks * PAGE_SIZE else None


def _arrays(table: type[PagedTable]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(table) if field.name != "tokenizers_version")


def fold(bits: npt.NDArray[_Bits]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[_Bits]]:
    """Pages and cells of [0x110000]; the distinct blocks are numbered as they first appear."""
    blocks: dict[bytes, int] = {}
    pages = [blocks.setdefault(page.tobytes(), len(blocks)) for page in bits.reshape(PAGES, PAGE_SIZE)]
    return np.array(pages, dtype=np.uint16), np.frombuffer(b"".join(blocks), dtype=bits.dtype)


@dataclass(frozen=True, eq=False)
class CharacterClasses(PagedTable):
    """The bits above, as the installed `tokenizers` sees them.

    compose_pairs: uint32 [n, 2], sorted; every (a, b) that NFC composes into one character (see `normalization`).
    """

    FORMAT = 1

    compose_pairs: npt.NDArray[np.uint32]


def file_name(tokenizers_version: str, kind: str = "table") -> str:
    return f"{kind}_{tokenizers_version}_{CharacterClasses.FORMAT}.npz"
