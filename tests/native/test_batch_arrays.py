"""Batches as arrays: == to rows put together one id at a time; wrong arguments are refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from lopt_plugin.native._core import padded_rows, with_added_ids

Typed = tuple[int, int]


def one_by_one(
    texts: list[list[int]], room: int, keeps_end: bool, before: list[Typed], after: list[Typed], kind: int, width: int
) -> list[list[tuple[int, int, int, int]]]:
    """For each row: id, type id, special and attention of each place, without padding."""
    rows = []
    for text in texts:
        kept = text if len(text) <= room else text[len(text) - room :] if keeps_end else text[:room]
        special = [[(number, own, 1, 1) for number, own in added] for added in (before, after)]
        rows.append([*special[0], *((number, kind, 0, 1) for number in kept), *special[1]])
        assert len(rows[-1]) <= width
    return rows


def call(texts: list[list[int]], *given: Any) -> list[Any]:
    ids = np.array([number for text in texts for number in text], np.int32)
    return [column.tolist() for column in padded_rows(ids, np.cumsum([0, *map(len, texts)], dtype=np.int64), *given)]


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("keeps_end", [True, False])
def test_random_rows(keeps_end: bool, right: bool) -> None:
    rng = random.Random(f"{keeps_end} {right}")
    for _ in range(200):
        texts = [rng.choices(range(1 << 20), k=rng.choice([0, 1, 3, 30])) for _ in range(rng.choice([0, 1, 2, 7]))]
        before, after = ([(rng.randrange(9), rng.randrange(3)) for _ in range(rng.choice([0, 1, 2]))] for _ in range(2))
        room = rng.choice([0, 1, 5, 100])
        longest = max((min(len(text), room) for text in texts), default=0)
        width = longest + len(before) + len(after) + rng.choice([0, 3])
        rows = one_by_one(texts, room, keeps_end, before, after, 4, width)
        padding = [[(-7, 5, 1, 0)] * (width - len(row)) for row in rows]
        whole = [row + pad if right else pad + row for row, pad in zip(rows, padding, strict=True)]
        found = call(texts, room, keeps_end, before, after, 4, width, (-7, 5), right)
        assert found == [[[place[column] for place in row] for row in whole] for column in range(4)]


def test_added_ids() -> None:
    rng = random.Random(4)
    for _ in range(200):
        texts = [rng.choices(range(1 << 20), k=rng.choice([0, 1, 3, 30])) for _ in range(rng.choice([0, 1, 2, 7]))]
        before, after = (rng.choices(range(1 << 31), k=rng.choice([0, 1, 2])) for _ in range(2))
        ids = np.array([number for text in texts for number in text], np.int32)
        found, row_offsets = with_added_ids(ids, np.cumsum([0, *map(len, texts)], dtype=np.int64), before, after)
        assert (found.dtype, row_offsets.dtype) == (np.int32, np.int64)
        assert [row.tolist() for row in np.split(found, row_offsets)[1:-1]] == [[*before, *x, *after] for x in texts]
        assert row_offsets[0] == 0
        assert row_offsets[-1] == len(found)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="longer than the width"):
        call([[1], [1, 2]], 9, False, [(1, 0)], [], 0, 2, (0, 0), True)
    with pytest.raises(ValueError, match="longer than the width"):
        call([[]], 9, False, [(1, 0)], [(1, 0)], 0, 1, (0, 0), True)
    ids = np.arange(3, dtype=np.int32)
    for wrong in ([], [0], [0, 4], [1, 3], [0, 2, 1, 3], [0, 2]):
        with pytest.raises(ValueError, match="row offsets"):
            padded_rows(ids, np.array(wrong, np.int64), 9, False, [], [], 0, 9, (0, 0), True)
        with pytest.raises(ValueError, match="row offsets"):
            with_added_ids(ids, np.array(wrong, np.int64), [1], [])
    with pytest.raises(MemoryError):
        call([[1]], 9, False, [], [], 0, 1 << 62, (0, 0), True)
    for wrong_id in (1 << 31, -(1 << 31) - 1):
        with pytest.raises(OverflowError, match="2\\^31 - 1"):
            with_added_ids(ids, np.array([0, 3]), [1], [wrong_id])
