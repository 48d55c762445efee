"""Texts that come again get the ids that they had; only the same text does."""

from __future__ import annotations

import gc
import random
import sys
from typing import Any

import pytest
from test_prefix_store import ids_of, remembering
from tokenizers import Tokenizer

LEAST = 100


def with_recent_texts(limit: int = 1 << 20) -> tuple[Any, Tokenizer]:
    core, tokenizer = remembering("tiny_qwen2", limit=1 << 20, piece=1 << 20)  # pieces so long that no text has two
    core.remember_texts(limit, LEAST)
    return core, tokenizer


def text_of(rng: random.Random, words: int, odd: str = "") -> str:
    return " ".join(rng.choices(["other", "words", "abacus", odd or "more"], k=words))


@pytest.mark.parametrize("odd", ["", "\xe9t\xe9", "\u4e2d\u6587", "\U0001f600"])
@pytest.mark.parametrize("threads", [1, 2])
def test_all_ways_to_ids(odd: str, threads: int) -> None:
    core, tokenizer = with_recent_texts()
    rng = random.Random(threads)
    for _ in range(30):
        text = text_of(rng, 300, odd)
        for again in range(3):
            same = text if again == 1 else "".join(text)
            expected = ids_of(tokenizer, text)
            assert core.encode(same, threads, 500) == expected
            assert core.encode(same, threads, 500, first_id=3) == [3, *expected]
            assert core.encode_array(same, threads, 500).tolist() == expected
            core.encode(same).clear()
    assert core.prefix_counters()["hits"] == 30 * 11


def test_texts_that_differ_in_one_place() -> None:
    """The key is of a few places only, so most of these have the same one."""
    core, tokenizer = with_recent_texts()
    text = text_of(random.Random(1), 200)
    for place in range(0, len(text), 7):
        changed = text[:place] + "x" + text[place + 1 :]
        for _ in range(2):
            assert core.encode(changed) == ids_of(tokenizer, changed)
    assert core.prefix_counters()["hits"] > 0


def test_special_tokens_as_text_are_apart() -> None:
    core, tokenizer = with_recent_texts()
    text = "<|start|>user\nhello there<|end|>\n" * 10
    expected = [ids_of(tokenizer, text)]
    tokenizer.encode_special_tokens = True
    expected.append(ids_of(tokenizer, text))
    assert expected[0] != expected[1]
    for _ in range(3):
        assert core.encode(text) == expected[0]
        assert core.encode(text, split_special_tokens=True) == expected[1]
    assert core.prefix_counters()["hits"] == 4


def test_the_limit_and_what_is_held() -> None:
    core, tokenizer = with_recent_texts(limit=200_000)
    rng = random.Random(2)
    texts = [text_of(rng, 500) for _ in range(40)]

    def references() -> list[int]:
        return [sys.getrefcount(texts[i]) for i in range(len(texts))]

    before = references()
    for text in texts:
        assert core.encode(text) == ids_of(tokenizer, text)
        assert core.prefix_counters()["bytes"] <= 200_000
    del text
    held = [now - then for now, then in zip(references(), before, strict=True)]
    assert held[-1] == 1
    assert held[0] == 0
    assert 3 < sum(held) < 40
    core.encode(texts[-5])  # is used, so others go first
    for _ in range(sum(held) - 1):
        core.encode(text_of(rng, 500))
    assert references()[-5] == before[-5] + 1
    huge = text_of(rng, 30_000)
    assert core.encode(huge) == core.encode(huge) == ids_of(tokenizer, huge)
    del core
    gc.collect()
    assert references() == before


def test_what_is_not_kept() -> None:
    class Text(str):
        pass

    core, tokenizer = with_recent_texts()
    short, own = "a few words", Text(text_of(random.Random(3), 200))
    for text in (short, own):
        assert core.encode(text) == core.encode(text) == ids_of(tokenizer, text)
    assert core.prefix_counters()["hits"] == 0
    off, _ = with_recent_texts(limit=0)
    text = text_of(random.Random(4), 200)
    assert off.encode(text) == off.encode(text)
    assert off.prefix_counters()["hits"] == 0
    with pytest.raises(ValueError):  # noqa: PT011 (a class of the core's)
        core.encode(text + "\ud800")
    with pytest.raises(ValueError):  # noqa: PT011
        core.encode(text + "\ud800")
