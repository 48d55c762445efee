"""Open addressing for the tables on the device: the hash in NumPy, and how a table is filled.

A key is a few 64-bit words w[0], w[1], ...; with unsigned arithmetic modulo 2**64

    h = 0;  h = (h ^ w[k]) * MULTIPLIER;  h = h ^ (h >> 32)   for each k

A key is at slot h & (slots - 1), or at the first free slot after it. A table has more slots than keys, so a search ends
at a free slot. The hash decides where to look, never what is equal: whole keys are compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MULTIPLIER = 0x9E3779B97F4A7C15

Words = npt.NDArray[np.uint64]


def mixed(hashes: Words, words: Words) -> Words:
    """One step of the hash, uint64 [n] each."""
    product: Words = (hashes ^ words) * np.uint64(MULTIPLIER)
    return product ^ (product >> np.uint64(32))


def words_of(data: bytes) -> Words:
    """The bytes of a key as words, the last one padded with zeros."""
    return np.frombuffer(data.ljust(-(-len(data) // 8) * 8, b"\0"), dtype="<u8")


def slots_for(keys: int) -> int:
    """The number of slots for a table of that many keys: a power of two, at least 1.5 times the keys."""
    return 1 << max(4, (keys + keys // 2).bit_length())


def places(hashes: Words, slots: int) -> npt.NDArray[np.int64]:
    """The slot of each of n different keys, int64 [n], under linear probing.

    Keys that want the same slot get it in order of their number, in rounds; the others move to the next slot. Whatever
    the order, all slots between a key's first choice and its place are taken, as a search requires.
    """
    if len(hashes) >= slots:
        raise ValueError(f"{len(hashes)} keys in {slots} slots: a search would not end")
    taken = np.zeros(slots, dtype=bool)
    found = np.full(len(hashes), -1, dtype=np.int64)
    wanted = (hashes & np.uint64(slots - 1)).astype(np.int64)
    waiting = np.arange(len(hashes))
    while len(waiting):
        free = waiting[~taken[wanted[waiting]]]
        slot, first = np.unique(wanted[free], return_index=True)
        winners = free[first]
        taken[slot] = True
        found[winners] = slot
        waiting = waiting[found[waiting] < 0]
        wanted[waiting] = (wanted[waiting] + 1) & (slots - 1)
    return found
