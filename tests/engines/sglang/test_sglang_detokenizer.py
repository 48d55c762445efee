"""SGLang's detokenizer with an accelerated tokenizer and with Hugging Face's: the same texts, part by part."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from required import skip_without
from transformers import PreTrainedTokenizerFast

import lopt_plugin

skip_without("sglang", "LOPT_REQUIRE_SGLANG")

STREAMS, STEPS = 12, 40


def manager(tokenizer: Any, *, in_batches: bool) -> Any:
    from sglang.srt.managers.detokenizer_manager import DetokenizerManager, LimitedCapacityDict

    made = DetokenizerManager.__new__(DetokenizerManager)
    made.tokenizer, made.vocab_size = tokenizer, len(tokenizer)
    made.decode_status = LimitedCapacityDict(capacity=100)
    made.disable_tokenizer_batch_decode = not in_batches
    made.is_tool_call_parser_gpt_oss, made.tool_close_token_ids = False, frozenset()
    return made


def output(streams: list[list[int]], prompts: list[list[int]], step: int, skips: bool) -> Any:
    """What the scheduler sends at one step: at first with ids of the prompt, then one id for each stream."""
    last = step == STEPS - 1
    return SimpleNamespace(
        rids=[f"{number}" for number in range(STREAMS)],
        decoded_texts=[""] * STREAMS,
        decode_ids=[
            [*prompt, ids[0]] if step == 0 else [ids[step]] for prompt, ids in zip(prompts, streams, strict=True)
        ],
        read_offsets=list(map(len, prompts)),
        finished_reasons=[{"type": "stop", "matched": "e"} if last else None] * STREAMS,
        no_stop_trim=[number % 2 == 0 for number in range(STREAMS)],
        skip_special_tokens=[skips or number % 3 == 0 for number in range(STREAMS)],
        spaces_between_special_tokens=[number % 4 != 0 for number in range(STREAMS)],
    )


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2", "bert_base_uncased"])
@pytest.mark.parametrize("in_batches", [True, False])
def test_streams(name: str, in_batches: bool) -> None:
    original = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(name))
    accelerated = lopt_plugin.accelerate(original, threads=1)
    chance, added = random.Random(3), list(original.added_tokens_decoder)
    real = original.encode("".join(corpus.texts("multi", 8000)), add_special_tokens=False)
    for skips in (True, False):
        managers = [manager(tokenizer, in_batches=in_batches) for tokenizer in (original, accelerated)]
        streams = [
            real[number * 20 :][:STEPS]
            if number % 2
            else [chance.choice([chance.randrange(len(original)), *added]) for _ in range(STEPS)]
            for number in range(STREAMS)
        ]
        prompts = [real[number : 2 * number] for number in range(STREAMS)]
        for step in range(STEPS):
            expected, found = (
                one._decode_batch_token_id_output(output(streams, prompts, step, skips)) for one in managers
            )
            assert found == expected
    assert accelerated.lopt.explain()["decoding"]["route"] == "native"
    assert accelerated.lopt.explain()["hf_calls"] == {}
