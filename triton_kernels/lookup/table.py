"""The vocabulary as a hash table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..common.hashing import mixed, placed

_Words = npt.NDArray[np.uint64]

# Bytes 0 to 15 of a key.
_WORDS_IN_SLOT = 2


@dataclass(frozen=True)
class EntryTable:
    """Entries of a vocabulary as a hash table; see `kernel`. longest: bytes of the longest entry."""

    slots: npt.NDArray[np.int64]
    rests: npt.NDArray[np.int64]
    longest: int

    @classmethod
    def of(cls, entries: Mapping[bytes, int]) -> EntryTable:
        """A table of entries, none of which is empty."""
        if b"" in entries:
            raise ValueError("an entry is empty")
        lengths = np.fromiter(map(len, entries), np.int64, len(entries))
        counts = np.maximum(-(-lengths // 8), _WORDS_IN_SLOT)
        padded = b"".join(data.ljust(8 * count, b"\0") for data, count in zip(entries, counts.tolist(), strict=True))
        words, ends = np.frombuffer(padded, dtype="<u8"), np.cumsum(counts)
        begins = ends - counts
        place, size = placed(_hashes(words, begins, lengths))
        slots = np.full((size, 4), -1, dtype=np.int64)
        for k in range(_WORDS_IN_SLOT):
            slots[place, k] = words[begins + k].view(np.int64)
        slots[place, 2] = (lengths << 32) | np.fromiter(entries.values(), np.int64, len(entries))
        slots[place, 3] = begins - _WORDS_IN_SLOT * np.arange(len(entries))
        in_slot = (begins[:, None] + np.arange(_WORDS_IN_SLOT)).ravel()
        rests = np.append(np.delete(words, in_slot), np.uint64(0)).view(np.int64)
        return cls(slots, rests, int(lengths.max(initial=0)))


def _hashes(words: _Words, begins: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> _Words:
    """Hashes of all words of each key, of at least those in the slot, and of its length."""
    hashes = np.zeros(len(lengths), np.uint64)
    for k in range(max(_WORDS_IN_SLOT, int(lengths.max(initial=0) + 7) // 8)):
        more = np.flatnonzero(lengths > 8 * k) if k >= _WORDS_IN_SLOT else np.arange(len(lengths))
        hashes[more] = mixed(hashes[more], words[begins[more] + k])
    return mixed(hashes, lengths.astype(np.uint64))
