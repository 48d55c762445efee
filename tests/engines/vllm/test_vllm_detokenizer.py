"""vLLM's detokenizer with native streams against its own, part by part; no engine runs."""

from __future__ import annotations

import copy
import random
from types import SimpleNamespace
from typing import Any

import corpus
import numpy as np
import pytest
import tier
from required import skip_without
from transformers import PreTrainedTokenizerFast

import lopt_plugin

skip_without("vllm", "LOPT_REQUIRE_VLLM")

NAMES = ["tiny_qwen2", "tiny_llama2", "roberta_base", *tier.pick([], ["llama3", "gemma3", "llama2", "t5_small"])]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"skip_special_tokens": False},
    {"skip_special_tokens": False, "spaces_between_special_tokens": False},
    {"stop": ["e", "is "]},
    {"stop": ["the"], "include_stop_str_in_output": True, "min_tokens": 5},
]


def detokenizer(tokenizer: Any, ids: list[int] | None, options: dict[str, Any], init: Any) -> Any:
    from vllm import SamplingParams
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    params = SamplingParams(**options)
    made = FastIncrementalDetokenizer.__new__(FastIncrementalDetokenizer)
    init(made, tokenizer, SimpleNamespace(request_id="one", prompt_token_ids=ids, sampling_params=params))
    return made


def steps(made: Any, ids: list[int]) -> list[tuple[str | None, str]]:
    """The stop string and the new text after each id, up to a stop string."""
    found = []
    for number in ids:
        stop = made.update([number], False)
        found.append((stop, made.get_next_output_text(stop is not None, True)))
        if stop is not None:
            break
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_streams(name: str, options: dict[str, Any]) -> None:
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    from lopt_plugin.engines.vllm import detokenizer as native

    original = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(name))
    accelerated = lopt_plugin.accelerate(original, threads=1)
    own = getattr(FastIncrementalDetokenizer.__init__, "_lopt_wrapped", FastIncrementalDetokenizer.__init__)
    natively = native.decode_natively(own)
    chance = random.Random(7)
    text = "".join(corpus.texts("multi", 2000))
    added = list(original.added_tokens_decoder)
    real = original.encode(text)
    rows = [real, *([chance.choice([chance.randrange(len(original)), *added]) for _ in range(60)] for _ in range(30))]
    for number, row in enumerate(rows):
        before = (None, [], row[:1], row[:20])[number % 4]
        expected = steps(detokenizer(original, before, options, own), row)
        made = detokenizer(accelerated, before, options, natively)
        assert isinstance(made.stream, native._Stream)
        assert steps(made, row) == expected


@pytest.mark.parametrize("name", NAMES)
def test_candidates_of_logprobs(name: str) -> None:
    """Each is decoded alone, and again after others where its text is the end of a character."""
    original = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(name))
    accelerated = lopt_plugin.accelerate(original, threads=1)
    chance = random.Random(5)
    real = original.encode("\u2603 \U0001f600 e\u0301" + "".join(corpus.texts("multi", 2000)), add_special_tokens=False)
    rows = [[number, *(chance.randrange(len(original)) for _ in range(20))] for number in real]
    expected, found = (decoded_candidates(tokenizer, rows) for tokenizer in (original, accelerated))
    assert found == expected
    assert accelerated.lopt.explain()["decoding"]["route"] == "native"
    assert accelerated.lopt.explain()["hf_calls"] == {}


def decoded_candidates(tokenizer: Any, rows: list[list[int]]) -> list[list[str]]:
    """The texts of the candidates for each token of a request, the sampled one first."""
    from vllm import SamplingParams
    from vllm.v1.engine.logprobs import LogprobsProcessor
    from vllm.v1.outputs import LogprobsLists

    params = SamplingParams(logprobs=len(rows[0]) - 1)
    made = LogprobsProcessor.from_new_request(tokenizer, SimpleNamespace(sampling_params=params))
    scores, ranks = np.zeros((1, len(rows[0])), np.float32), np.ones(1, np.int32)
    for row in rows:
        made._update_sample_logprobs(LogprobsLists(np.array([row]), scores, ranks, None))
    return [[entry[number].decoded_token for number in row] for row, entry in zip(rows, made.logprobs, strict=True)]


@pytest.mark.parametrize("bad", [-1, 1 << 40, None, "a"])
def test_ids_that_are_none(bad: Any) -> None:
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    from lopt_plugin.engines.vllm.detokenizer import decode_natively

    original = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"))
    accelerated = lopt_plugin.accelerate(original, threads=1)
    own = getattr(FastIncrementalDetokenizer.__init__, "_lopt_wrapped", FastIncrementalDetokenizer.__init__)
    expected = steps(detokenizer(original, [5], {}, own), [500, bad, 501])
    assert steps(detokenizer(accelerated, [5], {}, decode_natively(own)), [500, bad, 501]) == expected


def test_switched_off_and_other_backends() -> None:
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    from lopt_plugin.engines.vllm import detokenizer as native

    original = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"))
    own = getattr(FastIncrementalDetokenizer.__init__, "_lopt_wrapped", FastIncrementalDetokenizer.__init__)
    natively = native.decode_natively(own)
    off = lopt_plugin.accelerate(original, decode=False)
    other = lopt_plugin.accelerate(original)
    other._tokenizer = copy.deepcopy(original._tokenizer)
    for tokenizer in (original, off, other):
        assert not isinstance(detokenizer(tokenizer, [5], {}, natively).stream, native._Stream)


def test_this_release_begins_with_the_prompt() -> None:
    from lopt_plugin.engines.vllm.detokenizer import begins_with_prompt

    assert begins_with_prompt()
