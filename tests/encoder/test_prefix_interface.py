"""What texts begin with is kept by the Encoder's settings, and under the transformers interface."""

from __future__ import annotations

import copy

import corpus
import interface_tokenizers
import pytest

import lopt_plugin
from lopt_plugin.encoder.encoder import Encoder


@pytest.mark.parametrize("changes", [{}, {"threads": 2, "parallel_min_chars": 20_000}], ids=["one thread", "two"])
def test_a_conversation_in_the_transformers_interface(changes: dict[str, int]) -> None:
    """Templates and truncation on either side, as servers ask for them."""
    original = interface_tokenizers.original("qwen")
    tokenizer = lopt_plugin.accelerate(original, **changes)
    assert tokenizer.lopt.explain()["route"] == "native"
    turns = ["What is the meaning of this line?\n" * 40, "It means that\u2026 \u4e2d\u6587, perhaps. " * 60]
    text = ""
    for number in range(12):
        role = ("user", "assistant")[number % 2]
        text += f"<|start|>{role}\n{turns[number % 2]}{number}<|end|>\n"
        for side in ("left", "right"):
            tokenizer.truncation_side = original.truncation_side = side
            options = {"truncation": True, "max_length": 3000, "add_special_tokens": False}
            assert tokenizer(text, **options)["input_ids"] == original(text, **options)["input_ids"]
        assert tokenizer.encode(text) == original.encode(text)
        assert tokenizer.lopt.encode_ids(text).tolist() == original.encode(text)
    counters = tokenizer.lopt.explain()["core"]["prefix_cache"]
    assert counters["hits"] > 10
    assert counters["bytes_saved"] > 5 * len(text)


def test_a_tokenizer_with_other_tokens_has_its_own_prefix_cache() -> None:
    original = interface_tokenizers.original("qwen")
    tokenizer = lopt_plugin.accelerate(copy.deepcopy(original))
    text = "a word, another word and a new_word " * 600
    for _ in range(3):
        assert tokenizer.encode(text) == original.encode(text)
    assert tokenizer.lopt.explain()["core"]["prefix_cache"]["hits"] == 2
    tokenizer.add_tokens(["new_word", " another"])
    changed = copy.deepcopy(original)
    changed.add_tokens(["new_word", " another"])
    assert changed.encode(text) != original.encode(text)
    for _ in range(3):
        assert tokenizer.encode(text) == changed.encode(text)
    assert tokenizer.lopt.explain()["core"]["prefix_cache"]["hits"] == 2


def test_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOPT_PREFIX_CACHE_MB", "0")
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"))
    encoder.encode_list("some words " * 3000)
    assert encoder.explain()["core"]["prefix_cache"] is None
    monkeypatch.setenv("LOPT_PREFIX_CACHE_MB", "3")
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"))
    encoder.encode_list("short")
    assert encoder.explain()["core"]["prefix_cache"]["limit_bytes"] == 3 << 20
    assert encoder.explain()["core"]["prefix_cache"]["lookups"] == 0
