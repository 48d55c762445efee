"""What the core knows of CPython's private layouts: without it, everything comes out the same."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
import sys
import sysconfig
from collections.abc import Iterator

import numpy as np
import pytest
from test_offset_lists import (
    both,
    native as native,  # the fixture
    text_of,
)
from test_prefix_cache import ids_of, remembering

from lopt_plugin.routes.native import NativeRoute

_core = pytest.importorskip("lopt_plugin.native._core")


@pytest.fixture
def untrusted() -> Iterator[None]:
    before = _core._trust_layouts(False)
    yield
    _core._trust_layouts(before)


def test_versions() -> None:
    """The newest one is the newest that the layouts were compared with; to move it, compare them again."""
    assert _core._covers_layouts(0x030A0000)
    assert _core._covers_layouts(0x030E0FF0)
    assert not _core._covers_layouts(0x030F0000)
    assert not _core._covers_layouts(0x04000000)


def test_they_are_trusted_where_they_should_be() -> None:
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert _core._trust_layouts(True) == (_core._covers_layouts(sys.hexversion) and not free_threaded)


@pytest.mark.usefixtures("untrusted")
def test_lists_of_ids() -> None:
    core, tokenizer = remembering("tiny_qwen2", block=64)
    rng = random.Random(1)
    text = ""
    lists = []
    for _ in range(8):
        text += " ".join(rng.choices(["alpha", "beta", "gamma", "\u4e2d\u6587"], k=1500)) + "\n"
        for threads in (1, 2):
            ids = core.encode(text, threads)
            assert ids == ids_of(tokenizer, text)
            lists.append((ids, ids.copy()))
            lists[-1][0].append(7)
            lists[-1][1].append(7)
    assert all(found == right for found, right in lists)
    assert core.encode("") == []
    assert core.encode("", first_id=5) == [5]
    settled = core.settled_ids()
    core.settle_part(settled, text)
    assert settled.list_from([3], 0) == [3, *ids_of(tokenizer, text)]


@pytest.mark.usefixtures("untrusted")
def test_lists_of_offsets(native: NativeRoute) -> None:
    rng = random.Random(2)
    held = [both(native, text_of(rng, words)) for words in (0, 1, 30, 3000)]
    assert all(found == right for found, right in held)
    assert not any(gc.is_tracked(offset) for found, _ in held for offset in found)


def test_trusted_now_and_then() -> None:
    core, tokenizer = remembering("tiny_qwen2", block=64)
    words = ["".join(random.Random(3).choices("abcdefgh", k=5)) for _ in range(50)]
    text = " ".join(random.Random(3).choices(words, k=6000))
    expected = ids_of(tokenizer, text)
    for turn in range(12):
        _core._trust_layouts(turn % 3 == 0)
        assert core.encode(text) == expected


def test_rows_and_what_is_refused() -> None:
    core, _ = remembering("tiny_qwen2", block=64)
    ids = np.array([5, 6, 7], dtype=np.int32)
    assert core.lists_of(ids, np.array([0, 2, 2, 3])) == [[5, 6], [], [7]]
    assert core.lists_of(ids[:0], np.array([0])) == []
    for offsets in ([], [0], [1, 3], [0, 2], [0, 4], [0, 3, 2, 3], [0, -1, 3]):
        with pytest.raises(ValueError, match="offsets"):
            core.lists_of(ids, np.array(offsets, dtype=np.int64))
    for wrong in (-1, core.id_count()):
        with pytest.raises(ValueError, match="not an id"):
            core.lists_of(np.array([1, wrong], dtype=np.int32), np.array([0, 2]))


def test_ids_are_integers_like_others() -> None:
    """They lie in memory of our own and nobody counts references to them: whatever is done to a list, they stay."""
    core, _ = remembering("tiny_qwen2", block=64)
    count = core.id_count()
    assert count > 1000
    (ids,) = core.lists_of(np.arange(count, dtype=np.int32), np.array([0, count]))
    assert ids == list(range(count))
    assert all(type(one) is int for one in ids)
    assert [one + 1 for one in ids] == list(range(1, count + 1))
    assert [-one * one for one in ids] == [-one * one for one in range(count)]
    assert list(map(hash, ids)) == list(map(hash, range(count)))
    assert list(map(repr, ids)) == list(map(repr, range(count)))
    assert dict.fromkeys(ids).keys() == {*range(count)}
    assert pickle.loads(pickle.dumps(ids)) == copy.deepcopy(ids) == json.loads(json.dumps(ids)) == ids
    assert np.array(ids).tolist() == ids
    for _ in range(3000):
        kept = core.lists_of(np.array([257, 258, 300] * 7, dtype=np.int32), np.array([0, 21]))[0]
        kept.append(kept.pop(0))
        del kept[:5]
    assert ids == list(range(count))
    if _core._trust_layouts(True):
        assert all(sys.getrefcount(one) > 1 << 29 for one in ids)
