"""The kinds of all characters as a two-stage table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PAGE_SIZE = 128


@dataclass(frozen=True, eq=False)
class KindTable:
    """Kind and CJK flag of every code point, as `character_kinds` defines them.

    pages: int16 [8704], block number of code point >> 7; that of ASCII is 0.
    cells: uint8 [blocks * 128]; the kind of c is ``cells[pages[c >> 7] * 128 + (c & 127)]``.
    """

    pages: npt.NDArray[np.int16]
    cells: npt.NDArray[np.uint8]
