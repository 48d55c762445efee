"""Who comes to the GPU route without naming it: tokenizers called with many texts, and vLLM's generate over a batch."""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import corpus
import pytest
from kernel_device import make_interpreter_faster, torch
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.encoder import gpu_policy as gpu_use
from lopt_plugin.engines.vllm import generate
from lopt_plugin.routes.gpu import route as gpu

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


@pytest.mark.parametrize(("gpu", "device"), [(False, None), (True, "cuda")])
def test_generate_uses_the_gpu_where_it_is_asked_to(
    original: PreTrainedTokenizerFast, gpu: bool, device: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, asked = lopt_plugin.accelerate(original), []
    encode = tokenizer.lopt.encode_batch_ids
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        tokenizer.lopt, "encode_batch_ids", lambda texts, device=None: asked.append(device) or encode(texts)
    )
    llm = SimpleNamespace(get_tokenizer=lambda: tokenizer, generate=lambda *_, **__: "outputs")
    assert generate(llm, TEXTS, gpu=gpu) == "outputs"
    assert asked == [device]


@pytest.mark.parametrize("options", [{}, {"truncation": True, "max_length": 5}, {"return_attention_mask": False}])
def test_tokenizer_called_with_a_list(original: PreTrainedTokenizerFast, options: dict[str, Any]) -> None:
    tokenizer = lopt_plugin.accelerate(original, route="gpu")
    assert tokenizer(TEXTS, **options).data == original(TEXTS, **options).data
    assert tokenizer.lopt._runner.gpu_calls == 1
    assert tokenizer("one text").data == original("one text").data
    assert tokenizer.lopt._runner.gpu_calls == 1


def test_large_batches_where_the_device_is_in_use(
    original: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_use, "device_in_use", lambda: True)
    monkeypatch.setattr(gpu_use, "interpreted", lambda: False)
    tokenizer = lopt_plugin.accelerate(original, gpu_min_bytes=30)
    runner = tokenizer.lopt._runner
    assert runner.gpu.route_on(runner.state.snapshot(), "cuda") is not None
    # A batch of one takes the way of a text, for which that is too short.
    one = "long enough for the GPU, it is"
    for texts, calls in ((["short"], 0), (TEXTS, 1), (["s", "t"], 1), ([one, ""], 2), ([one], 2)):
        assert tokenizer(texts).data == original(texts).data
        assert tokenizer.lopt._runner.gpu_calls == calls


def test_generate_over_a_batch(original: PreTrainedTokenizerFast) -> None:
    calls = []

    def fake(prompts: Any, sampling_params: Any, **arguments: Any) -> str:
        calls.append((prompts, sampling_params, arguments))
        return "outputs"

    for tokenizer in (original, lopt_plugin.accelerate(original)):
        llm = SimpleNamespace(get_tokenizer=lambda tokenizer=tokenizer: tokenizer, generate=fake)
        for options in ({}, {"gpu": True}):
            assert generate(llm, TEXTS, "parameters", use_tqdm=False, **options) == "outputs"
            prompts, *others = calls.pop()
            assert others == ["parameters", {"use_tqdm": False}]
            assert [prompt["prompt_token_ids"] for prompt in prompts] == original(TEXTS).input_ids
            assert [prompt["prompt"] for prompt in prompts] == TEXTS
        for wrong in ("one text", [{"prompt": "a"}], [[1, 2]]):
            with pytest.raises(TypeError):
                generate(llm, wrong)


def test_example_of_a_long_context_batch(
    original: PreTrainedTokenizerFast,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = []

    class FakeLLM:
        def __init__(self, model: str, **arguments: Any) -> None:
            asked.append((model, arguments))
            self._tokenizer = lopt_plugin.accelerate(original)

        def get_tokenizer(self) -> Any:
            return self._tokenizer

        def generate(self, prompts: Any, parameters: Any) -> Any:
            asked.append(prompts)
            output = [SimpleNamespace(text=" an answer ")]
            return [SimpleNamespace(prompt_token_ids=p["prompt_token_ids"], outputs=output) for p in prompts]

    vllm = ModuleType("vllm")
    vllm.__spec__ = ModuleSpec("vllm", None)  # the example asks whether it is installed
    vllm.LLM, vllm.SamplingParams = FakeLLM, SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    script = Path(__file__).parents[3] / "examples" / "long_context_batch" / "generate.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--model", "a model", "--folder", str(tmp_path), "--question", "Q?"])
    runpy.run_path(str(script), run_name="__main__")
    (model, arguments), prompts = asked
    assert (model, arguments["tokenizer_mode"]) == ("a model", "lopt")
    expected = original([f"{text}\n\nQ?\n" for text in TEXTS]).input_ids
    assert [prompt["prompt_token_ids"] for prompt in prompts] == expected
    printed = capsys.readouterr().out
    assert f"0.txt: {len(expected[0])} tokens\n    an answer" in printed
    assert "tokenized on the GPU: no" in printed
