"""Batches of ids as arrays, with those of a post-processor: == to rows put together one id at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lopt_plugin.native._core import with_added_ids


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
    ids = np.arange(3, dtype=np.int32)
    for wrong in ([], [0], [0, 4], [1, 3], [0, 2, 1, 3], [0, 2]):
        with pytest.raises(ValueError, match="row offsets"):
            with_added_ids(ids, np.array(wrong, np.int64), [1], [])
    for wrong_id in (1 << 31, -(1 << 31) - 1):
        with pytest.raises(OverflowError, match="2\\^31 - 1"):
            with_added_ids(ids, np.array([0, 3]), [1], [wrong_id])
