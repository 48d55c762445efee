"""Who comes to the GPU route without naming it: tokenizers called with many texts, and vLLM's generate over a batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from kernel_device import make_interpreter_faster
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin import gpu_use
from lopt_plugin.engines.vllm_batches import generate
from lopt_plugin.routes import gpu

TEXTS = ["Hello world", "isn't it?", "é中文 and some more", "x"]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)
    monkeypatch.setattr(gpu, "hard_texts", lambda _: ["a b", "isn't it"])


@pytest.fixture(scope="module")
def original() -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_o200k"))
    tokenizer.add_special_tokens({"eos_token": "<|end|>", "pad_token": "<|pad|>"})
    return tokenizer


@pytest.mark.parametrize("options", [{}, {"truncation": True, "max_length": 3}, {"return_attention_mask": False}])
def test_tokenizer_called_with_a_list(original: PreTrainedTokenizerFast, options: dict[str, Any]) -> None:
    tokenizer = lopt_plugin.accelerate(original, route="gpu")
    assert tokenizer(TEXTS, **options).data == original(TEXTS, **options).data
    assert tokenizer.lopt.gpu_calls == 1
    assert tokenizer("one text").data == original("one text").data
    assert tokenizer.lopt.gpu_calls == 1


def test_large_batches_where_the_device_is_in_use(
    original: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_use, "device_in_use", lambda: True)
    monkeypatch.setattr(gpu_use, "interpreted", lambda: False)
    tokenizer = lopt_plugin.accelerate(original, gpu_min_bytes=30)
    for texts, calls in ((["short"], 0), (TEXTS, 1), (["s", "t"], 1), (["long enough for the GPU, it is"], 2)):
        assert tokenizer(texts).data == original(texts).data
        assert tokenizer.lopt.gpu_calls == calls


def test_generate_over_a_batch(original: PreTrainedTokenizerFast) -> None:
    calls = []

    def fake(prompts: Any, sampling_params: Any, **arguments: Any) -> str:
        calls.append((prompts, sampling_params, arguments))
        return "outputs"

    for tokenizer in (original, lopt_plugin.accelerate(original)):
        llm = SimpleNamespace(get_tokenizer=lambda tokenizer=tokenizer: tokenizer, generate=fake)
        assert generate(llm, TEXTS, "parameters", use_tqdm=False) == "outputs"
        prompts, *others = calls.pop()
        assert others == ["parameters", {"use_tqdm": False}]
        assert [prompt["prompt_token_ids"] for prompt in prompts] == original(TEXTS).input_ids
        assert [prompt["prompt"] for prompt in prompts] == TEXTS
        for wrong in ("one text", [{"prompt": "a"}], [[1, 2]]):
            with pytest.raises(TypeError):
                generate(llm, wrong)
