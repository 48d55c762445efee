"""What the core knows of CPython's private layouts: without it, everything comes out the same."""

from __future__ import annotations

import collections
import gc
import random
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

import pytest
from test_offset_lists import both, text_of
from test_offset_lists import native as native  # the fixture
from test_prefix_store import ids_of, remembering
from tokenizers import Tokenizer
from tokenizers.models import BPE

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
    core, tokenizer = remembering("tiny_qwen2", piece=64)
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


@pytest.mark.usefixtures("untrusted")
def test_words_of_objects_are_not_told() -> None:
    models: list[Any] = [Tokenizer(BPE()).model, Tokenizer(BPE()).model]
    assert {_core.word_of(model, object.__basicsize__) for model in models} == {0}


def test_trusted_now_and_then() -> None:
    """References that were counted for lists which are then made by other means are given back."""
    core, tokenizer = remembering("tiny_qwen2", piece=64)
    words = ["".join(random.Random(3).choices("abcdefgh", k=5)) for _ in range(50)]
    text = " ".join(random.Random(3).choices(words, k=6000))
    expected = ids_of(tokenizer, text)
    kept = core.encode(text)
    for turn in range(12):
        _core._trust_layouts(turn % 3 == 0)
        assert core.encode(text) == expected
    _core._trust_layouts(True)
    del core
    gc.collect()
    times = collections.Counter(kept)
    for one in {number: number for number in kept}.values():
        if one > 256:  # smaller ones are everybody's
            # Others: keys and values of the dict and the counter, this loop, and the call.
            assert sys.getrefcount(one) - times[one] <= 5, one
