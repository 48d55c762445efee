"""The hash tables on the device: the hash in NumPy, and how a table is filled.

A key is a few 64-bit words w[0], w[1], ...; with unsigned arithmetic modulo 2**64

    h = 0;  h = (h ^ w[k]) * MULTIPLIER;  h = h ^ (h >> 32)   for each k

The high bits of the last word do not reach all bits of h, so they should say little. A key is at one of two slots,
h & (slots - 1) and (h >> 32) & (slots - 1). A search looks at these and never further, so all lanes of a program search
equally long (Pagh and Rodler, "Cuckoo Hashing", 2004). The hash decides where to look, never what is equal: whole keys
are compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MULTIPLIER = 0x9E3779B97F4A7C15

# Keys find their places in a table that is at most half full; with fewer, in fewer rounds.
_MOST_LOAD = 0.47
_ROUNDS = 1000
_DOUBLINGS = 4

Words = npt.NDArray[np.uint64]


def mixed(hashes: Words, words: Words) -> Words:
    """One step of the hash, uint64 [n] each."""
    product: Words = (hashes ^ words) * np.uint64(MULTIPLIER)
    return product ^ (product >> np.uint64(32))


def choices(hashes: Words, slots: int) -> npt.NDArray[np.int64]:
    """The two slots at which each of n keys may be, int64 [2, n]."""
    return np.stack([hashes, hashes >> np.uint64(32)]).view(np.int64) & (slots - 1)


def placed(hashes: Words) -> tuple[npt.NDArray[np.int64], int]:
    """The slot of each of n different keys, int64 [n], and the number of slots, a power of two.

    Raises ValueError if more than two keys have one hash.
    """
    slots = 1 << max(4, (int(len(hashes) / _MOST_LOAD)).bit_length())
    for _ in range(_DOUBLINGS):
        found = _places(choices(hashes, slots))
        if found is not None:
            return found, slots
        slots *= 2
    raise ValueError(f"{len(hashes)} keys find no place in {slots // 2} slots: too many have one hash")


def _places(wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    """The slot of each key, one of its two; None if that is not found.

    A key takes its slot, and whatever was there moves to its other one. All keys that wait do so at once.
    """
    owners = np.full(int(wanted.max(initial=0)) + 1, -1, dtype=np.int64)
    choice = np.zeros(wanted.shape[1], dtype=np.int64)
    waiting = np.arange(wanted.shape[1])
    for _ in range(_ROUNDS):
        if not len(waiting):
            return wanted[choice, np.arange(wanted.shape[1])]
        slot = wanted[choice[waiting], waiting]
        before = owners[slot]
        owners[slot] = waiting  # of several keys the last one wins
        won = owners[slot] == waiting
        evicted = before[won]
        waiting = np.concatenate([waiting[~won], evicted[evicted >= 0]])
        choice[waiting] ^= 1
    return None
