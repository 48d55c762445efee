"""The comparison of the deep tier runs, tries every way to ids, and notes what differs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from exhaustive import Comparison
from short_texts import SHORT_TEXTS


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2", "wordpiece_uncased"])
def test_every_way_is_compared(name: str, tmp_path: Path) -> None:
    comparison = Comparison(name, tmp_path / "differences.jsonl", 1)
    texts = [text for text in SHORT_TEXTS if "\ud800" not in text][:40]
    comparison.texts([*texts, "two words " * 40], random.Random(name), documents=False)
    assert comparison.different.total() == 0
    for way in ("list", "batch", "native chunks", "known", "appended", "count", "cut", "interval"):
        assert comparison.counts[way] >= len(texts), way


def test_a_difference_is_noted(tmp_path: Path) -> None:
    comparison = Comparison("tiny_qwen2", tmp_path / "differences.jsonl", 1)
    comparison._same("list", "text", [1], [2], "detail")
    assert comparison.different["list"] == 1
    assert json.loads((tmp_path / "differences.jsonl").read_text())["way"] == "list"
