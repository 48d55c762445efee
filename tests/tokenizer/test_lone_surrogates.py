"""A lone surrogate gets the reference's TypeError in every call, and the tokenizer keeps its native route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import corpus
import pytest
from transformers import PreTrainedTokenizerFast

import lopt_plugin

BAD = ["\ud800", "a \ud800 b", "x" * 200 + "\udfff"]
CALLS: dict[str, Callable[[Any, str], Any]] = {
    "call": lambda tokenizer, bad: tokenizer(bad),
    "encode": lambda tokenizer, bad: tokenizer.encode(bad),
    "offsets": lambda tokenizer, bad: tokenizer(bad, return_offsets_mapping=True),
    "pair": lambda tokenizer, bad: tokenizer(bad, "b"),
    "batch": lambda tokenizer, bad: tokenizer(["a", bad]),
    "padding": lambda tokenizer, bad: tokenizer(["a", bad], padding=True),
    "tensors": lambda tokenizer, bad: tokenizer([bad, "b"], padding=True, return_tensors="np"),
    "words": lambda tokenizer, bad: tokenizer([bad, "b"], is_split_into_words=True),
    "truncation": lambda tokenizer, bad: tokenizer(bad + "b" * 900, truncation=True, max_length=3),
    "encode_ids": lambda tokenizer, bad: tokenizer.lopt.encode_ids(bad),
    "encode_list": lambda tokenizer, bad: tokenizer.lopt.encode_list(bad),
    "encode_batch_ids": lambda tokenizer, bad: tokenizer.lopt.encode_batch_ids(["a", bad]),
    "encode_with_offsets": lambda tokenizer, bad: tokenizer.lopt.encode_with_offsets(bad),
    "count": lambda tokenizer, bad: tokenizer.lopt.count(bad),
    "count_batch": lambda tokenizer, bad: tokenizer.lopt.count_batch(["a", bad]),
    "count_until": lambda tokenizer, bad: tokenizer.lopt.count_until(bad, 1000),
    "cut": lambda tokenizer, bad: tokenizer.lopt.cut(bad, 1000),
    "intervals": lambda tokenizer, bad: tokenizer.lopt.intervals(bad),
    "incremental": lambda tokenizer, bad: tokenizer.lopt.incremental().append(bad),
}


@pytest.fixture(scope="module", params=["tiny_qwen2", "tiny_llama2", "wordpiece_cased", "tiny_clip", "tiny_gemma"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    backend = corpus.load_tokenizer(request.param)
    return lopt_plugin.accelerate(
        PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]"), threads=2, parallel_min_chars=100
    )


@pytest.mark.every_parameter
@pytest.mark.parametrize("call", CALLS)
def test_every_call(tokenizer: Any, call: str) -> None:
    for bad in BAD:
        with pytest.raises(TypeError):
            CALLS[call](tokenizer, bad)
        assert tokenizer.lopt.explain()["route"] == "native", tokenizer.lopt.explain()["reason"]
