"""An Encoder's observer is told of every call: by what route, how long, and why one was left to HF."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from interface_tokenizers import original

import lopt_plugin
from lopt_plugin.routes.request import PLAIN


@dataclass
class Told:
    routes: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    prefixes: Counter[str] = field(default_factory=Counter)

    def encoded(self, route: str, seconds: float) -> None:
        self.routes.append(route)
        self.seconds.append(seconds)

    def fell_back(self, reason: str) -> None:
        self.reasons.append(reason)

    def remembered(self, counts: Mapping[str, int]) -> None:
        self.prefixes.update(counts)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def tokenizer(told: Told) -> Any:
    accelerated = lopt_plugin.accelerate(original("qwen"))
    accelerated.lopt._runner.observer = told
    return accelerated


CALLS = {
    "call": lambda tokenizer: tokenizer("a text"),
    "batch": lambda tokenizer: tokenizer(["a text", "and another"]),
    "encode": lambda tokenizer: tokenizer.encode("a text", truncation=True, max_length=2),
    "pair": lambda tokenizer: tokenizer("a text", "and another"),
    "encode_ids": lambda tokenizer: tokenizer.lopt.encode_ids("a text"),
    "encode_list": lambda tokenizer: tokenizer.lopt.encode_list("a text"),
    "encode_batch_ids": lambda tokenizer: tokenizer.lopt.encode_batch_ids(["a text", "and another"]),
    "encode_with_offsets": lambda tokenizer: tokenizer.lopt.encode_with_offsets("a text"),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_counts_once(tokenizer: Any, told: Told, name: str) -> None:
    CALLS[name](tokenizer)
    assert told.routes == ["native"]
    assert told.reasons == []
    assert 0 < told.seconds[0] < 60


def test_calls_of_hf(tokenizer: Any, told: Told) -> None:
    tokenizer(("a", "text"), is_split_into_words=True)
    assert told.routes == ["hf"]
    assert told.reasons == list(tokenizer.lopt.explain()["hf_calls"])
    with pytest.raises(TypeError):
        tokenizer("a\ud800")
    assert len(told.reasons) == 2


@pytest.mark.parametrize("name", ["encode_ids", "encode_list", "encode_batch_ids", "encode_with_offsets"])
def test_a_tokenizer_that_goes_to_hf(told: Told, name: str) -> None:
    tokenizer = lopt_plugin.accelerate(original("qwen"), route="hf")
    tokenizer.lopt._runner.observer = told
    CALLS[name](tokenizer)
    assert told.routes == ["hf"]
    assert told.reasons == [f"{name}: route is set to 'hf'"]


def test_a_text_that_the_native_route_leaves_to_hf(told: Told) -> None:
    hf = original("bert")
    encoder = lopt_plugin.accelerate(hf).lopt
    encoder._runner.observer = told
    text = "the \u302e end"
    ids, offsets = encoder.encode_with_offsets(text)
    expected = hf._tokenizer.encode(text)
    assert (ids.tolist(), list(map(tuple, offsets.tolist()))) == (expected.ids, expected.offsets)
    assert told.routes == ["hf"]
    assert told.reasons == ["encode_with_offsets: characters may change places"]


def test_copies_are_observed_but_pickles_are_not(tokenizer: Any, told: Told) -> None:
    for copied in (copy.copy(tokenizer), copy.deepcopy(tokenizer)):
        before = len(told.routes)
        copied("a text")
        assert len(told.routes) == before + 1
    assert pickle.loads(pickle.dumps(tokenizer)).lopt._runner.observer is None


def test_a_replaced_backend_is_observed_too(tokenizer: Any, told: Told) -> None:
    tokenizer._tokenizer = copy.deepcopy(tokenizer._tokenizer)
    tokenizer("a text")
    assert told.routes == ["native"]


def test_bytes_counted_by_the_prefix_cache(tokenizer: Any, told: Told) -> None:
    text = "A text that comes again and again, a little longer each time. " * 400
    copied = copy.copy(tokenizer)
    for times, one in enumerate([tokenizer, copied, tokenizer, copied]):
        grown = text + "More. " * times
        assert one.lopt.encode_list(grown) == one.lopt._runner.hf.encode_list(grown, PLAIN[True][False])
    tokenizer("too short to be looked up")
    counters = tokenizer.lopt.explain()["core"]["prefix_cache"]
    assert told.prefixes["hits"] > 0
    assert {name: counters[name] for name in told.prefixes} == dict(told.prefixes)
