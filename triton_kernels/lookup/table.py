"""The vocabulary as a hash table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..common.hashing import mixed, places, slots_for, words_of


@dataclass(frozen=True)
class EntryTable:
    """Entries of a vocabulary as a hash table; see `kernel`. longest: bytes of the longest entry."""

    slots: npt.NDArray[np.int64]
    rests: npt.NDArray[np.int64]
    longest: int

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.rests.nbytes

    @classmethod
    def of(cls, entries: Mapping[bytes, int]) -> EntryTable:
        """A table of entries, none of which is empty."""
        if b"" in entries:
            raise ValueError("an entry is empty")
        keys = [words_of(data) for data in entries]
        lengths = np.array([len(data) for data in entries], dtype=np.int64)
        slots = np.full((slots_for(len(keys)), 4), -1, dtype=np.int64)
        rests = [key[2:] for key in keys if len(key) > 2]
        if keys:
            place = places(_hashes(keys, lengths), len(slots))
            slots[place, 0] = [int(key[0].view(np.int64)) for key in keys]
            slots[place, 1] = [int(key[1].view(np.int64)) if len(key) > 1 else 0 for key in keys]
            slots[place, 2] = (lengths << 32) | np.fromiter(entries.values(), np.int64, len(keys))
            sizes = np.array([max(0, len(key) - 2) for key in keys], dtype=np.int64)
            slots[place, 3] = np.cumsum(sizes) - sizes
        rest = np.concatenate([*rests, np.zeros(1, np.uint64)]).view(np.int64)
        return cls(slots, rest, int(lengths.max(initial=0)))


def _hashes(keys: list[npt.NDArray[np.uint64]], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Hashes of the length and the first two words: few longer entries agree in these."""
    hashes = mixed(np.zeros(len(keys), np.uint64), lengths.astype(np.uint64))
    for k in range(2):
        hashes = mixed(hashes, np.array([key[k] if k < len(key) else 0 for key in keys], dtype=np.uint64))
    return hashes
