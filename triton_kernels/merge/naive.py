"""The shielded-minimum rule, one word at a time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from .table import NO_MERGE, PairTable

_MASK = (1 << 32) - 1


def entries_of(table: PairTable) -> dict[tuple[int, int], tuple[int, int, bool, int, int]]:
    """The pairs of a table: rank, id, gate, left and right shield."""
    return {
        (int(key) >> 32, int(key) & _MASK): (
            (int(value) & _MASK) >> 1,
            int(value) >> 32,
            bool(value & 1),
            int(shields) & _MASK,
            int(shields) >> 32,
        )
        for key, (value, shields) in zip(*table.entries(), strict=True)
    }


def merge(
    tokens: list[int], entries: Mapping[tuple[int, int], tuple[int, int, bool, int, int]]
) -> tuple[list[int], int]:
    """The tokens of a word after all merges, and the number of passes; the rule is the one of `kernel`."""
    tokens = list(tokens)
    passes = 0
    nothing = (NO_MERGE, -1, False, NO_MERGE, NO_MERGE)
    while len(tokens) > 1:
        rank, result, gate, left, right = map(
            np.array, zip(*(entries.get(pair, nothing) for pair in pairwise(tokens)), strict=True)
        )
        if rank.min() == NO_MERGE:
            break
        least = (rank == rank.min()) & gate
        # Of pairs that overlap (x x x), every second one, from the left.
        for i in range(1, len(least)):
            least[i] &= ~least[i - 1]
        qualified = (rank < NO_MERGE) & gate
        qualified[1:] &= rank[1:] < left[:-1]
        qualified[:-1] &= rank[:-1] <= right[1:]
        chosen = qualified | least
        if not chosen.any():
            chosen[rank.argmin()] = True
        merged: list[int] = []
        i = 0
        while i < len(tokens):
            here = i < len(chosen) and bool(chosen[i])
            merged.append(int(result[i]) if here else tokens[i])
            i += 2 if here else 1
        tokens = merged
        passes += 1
    return tokens, passes
