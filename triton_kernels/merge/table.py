"""The merges of a vocabulary as a hash table over pairs of tokens, with the shields and gates of the merge rule.

For a pair (x, y) it holds

    rank   of the merge (x, y), NO_MERGE if there is none
    id     of the merge's result
    gate   whether every merge that has the result as a part has a greater rank
    left   the least rank of a merge (T, y) with x on T's right spine: x is T, or the right part of a merge that makes
           T, or the right part of one that makes that, ...
    right  the least rank of a merge (x, T) with y on T's left spine

A pair has an entry where it has a rank or a shield.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..common.hashing import mixed, placed

NO_MERGE = (1 << 30) - 1

_Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairTable:
    """slots: int64 [3 * slots]. First the keys, left id << 32 | right id (-1: free): most searches read nothing else.

    Then two values for each slot: id << 32 | rank * 2 + gate, and right << 32 | left.
    byte_ids: int32 [256], the token of each byte.
    """

    slots: npt.NDArray[np.int64]
    byte_ids: npt.NDArray[np.int32]

    @classmethod
    def of(cls, merges: Sequence[tuple[int, int, int]] | _Array, byte_ids: npt.NDArray[np.int32]) -> PairTable:
        """merges: (left, right, result) ids, below 2**31 - 1, by rank; of a pair that occurs twice, the last counts."""
        table = np.asarray(merges, dtype=np.int64).reshape(-1, 3)
        if len(table) >= NO_MERGE:
            raise ValueError(f"{len(table)} merges are too many")
        left, right, result = table.T
        rank = np.arange(len(table), dtype=np.int64)
        _, last = np.unique((left << 32 | right)[::-1], return_index=True)
        kept = np.sort(len(table) - 1 - last)
        left, right, result, rank = left[kept], right[kept], result[kept], rank[kept]

        gate = _least_use(left, right, rank, result) > rank
        keys = left << 32 | right
        left_keys, left_ranks = _shields(left, right, result, rank, along_right_spine=True)
        right_keys, right_ranks = _shields(left, right, result, rank, along_right_spine=False)
        every = np.unique(np.concatenate([keys, left_keys, right_keys]))
        values = np.full((len(every), 2), (NO_MERGE << 32 | NO_MERGE), dtype=np.int64)
        values[:, 0] = NO_MERGE * 2
        values[np.searchsorted(every, keys), 0] = result << 32 | rank * 2 + gate
        shield_left = np.full(len(every), NO_MERGE, dtype=np.int64)
        shield_right = shield_left.copy()
        shield_left[np.searchsorted(every, left_keys)] = left_ranks
        shield_right[np.searchsorted(every, right_keys)] = right_ranks
        values[:, 1] = shield_right << 32 | shield_left

        of_left, of_right = (every >> 32).astype(np.uint64), (every & 0xFFFFFFFF).astype(np.uint64)
        place, count = placed(mixed(mixed(np.zeros(len(every), np.uint64), of_left), of_right))
        slots = np.zeros(3 * count, dtype=np.int64)
        slots[:count] = -1
        slots[place] = every
        slots[count:].reshape(count, 2)[place] = values
        return cls(slots, byte_ids.astype(np.int32))

    def entries(self) -> tuple[_Array, _Array]:
        """The keys, int64 [n], and their values, int64 [n, 2]."""
        count = len(self.slots) // 3
        used = self.slots[:count] != -1
        return self.slots[:count][used], self.slots[count:].reshape(count, 2)[used]


def _least_use(left: _Array, right: _Array, rank: _Array, result: _Array) -> _Array:
    """For each merge, the least rank of one that has its result as a part."""
    least = np.full(int(max(left.max(initial=0), right.max(initial=0), result.max(initial=0))) + 1, NO_MERGE)
    np.minimum.at(least, left, rank)
    np.minimum.at(least, right, rank)
    return least[result]


def _shields(
    left: _Array, right: _Array, result: _Array, rank: _Array, *, along_right_spine: bool
) -> tuple[_Array, _Array]:
    """Pairs with a shield, as keys in order, and the shields."""
    part = right if along_right_spine else left
    by_result = np.argsort(result, kind="stable")
    results, parts = result[by_result], part[by_result]
    # Tokens in the position of the merge's own part: T itself, then the outer parts of what makes T, and so on. Below a
    # token that was reached with a smaller rank before, there is nothing new.
    outer = left if along_right_spine else right
    fixed = right if along_right_spine else left
    keys, ranks = np.empty((2, 0), dtype=np.int64)
    while len(outer):
        new = outer << 32 | fixed if along_right_spine else fixed << 32 | outer
        order = np.lexsort((rank, new))
        new, outer, fixed, rank = new[order], outer[order], fixed[order], rank[order]
        first = np.ones(len(new), dtype=bool)
        first[1:] = new[1:] != new[:-1]
        new, outer, fixed, rank = new[first], outer[first], fixed[first], rank[first]
        place = np.searchsorted(keys, new)
        known = np.zeros(len(new), dtype=bool)
        inside = place < len(keys)
        known[inside] = keys[place[inside]] == new[inside]
        better = ~known
        better[known] = rank[known] < ranks[place[known]]
        ranks[place[known & better]] = rank[known & better]
        added = better & ~known
        keys = np.insert(keys, place[added], new[added])
        ranks = np.insert(ranks, place[added], rank[added])
        outer, fixed, rank = outer[better], fixed[better], rank[better]
        begin = np.searchsorted(results, outer, side="left")
        count = np.searchsorted(results, outer, side="right") - begin
        repeated = np.repeat(np.arange(len(outer)), count)
        step = np.arange(len(repeated)) - np.repeat(np.cumsum(count) - count, count)
        outer, fixed, rank = parts[begin[repeated] + step], fixed[repeated], rank[repeated]
    return keys, ranks
