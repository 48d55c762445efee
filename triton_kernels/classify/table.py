"""The kinds of all characters as a two-stage table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CODE_POINTS = 0x110000
PAGE_SIZE = 128
PAGES = CODE_POINTS // PAGE_SIZE


@dataclass(frozen=True, eq=False)
class KindTable:
    """Kind and CJK flag of every code point, as `character_kinds` defines them.

    pages: int16 [8704], block number of code point >> 7; that of ASCII is 0.
    cells: uint8 [blocks * 128]; the kind of c is ``cells[pages[c >> 7] * 128 + (c & 127)]``.
    """

    pages: npt.NDArray[np.int16]
    cells: npt.NDArray[np.uint8]

    @classmethod
    def from_kinds(cls, kinds: npt.NDArray[np.uint8]) -> KindTable:
        """Fold uint8 [0x110000] into pages and the distinct blocks, numbered as they first appear."""
        blocks: dict[bytes, int] = {}
        pages = [blocks.setdefault(page.tobytes(), len(blocks)) for page in kinds.reshape(PAGES, PAGE_SIZE)]
        return cls(np.array(pages, dtype=np.int16), np.frombuffer(b"".join(blocks), dtype=np.uint8))
