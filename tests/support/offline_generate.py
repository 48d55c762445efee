"""Run by test_vllm_offline in a process of its own: prints, as JSON, what LLM.generate and LLM.chat did.

python offline_generate.py MODEL_FOLDER
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from types import ModuleType
from typing import Any

from engine_texts import CHAT, CHOICES, MANY_PROMPTS, PARAGRAPH, PROMPTS, REGEX, SCHEMA

# The engine in this process: its backend for structured output can then be changed from one request to the next.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
BACKENDS = ("guidance", "xgrammar", "outlines", "lm-format-enforcer")


def main() -> None:
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    from lopt_plugin.engines.vllm import generate

    llm = LLM(
        sys.argv[1],
        tokenizer_mode="lopt",
        max_model_len=4096,
        enforce_eager=True,
        structured_outputs_config={"backend": "guidance", "disable_any_whitespace": True},
    )
    one = SamplingParams(max_tokens=1, temperature=0)
    tokenizer = llm.get_tokenizer()

    def prompt_ids(prompts: Any, params: Any = one, **arguments: Any) -> list[list[int]]:
        outputs = llm.generate(prompts, params, use_tqdm=False, **arguments)
        return [output.prompt_token_ids for output in outputs]

    def structured(backend: str, **what: Any) -> str:
        _use_backend(llm, backend)
        params = SamplingParams(max_tokens=40, temperature=0, structured_outputs=StructuredOutputsParams(**what))
        text: str = llm.generate(PARAGRAPH, params, use_tqdm=False)[0].outputs[0].text
        return text

    mixed = [PROMPTS[0], {"prompt": PROMPTS[8]}, {"prompt_token_ids": [5, 6, 7]}, PROMPTS[1]]
    multiple_of_seven = {"type": "integer", "multipleOf": 7, "minimum": 7, "maximum": 70}
    result = {
        "route": tokenizer.lopt.explain()["route"],
        "renderer": type(llm.llm_engine.renderer).__name__,
        "generate": prompt_ids(list(PROMPTS)),
        "mixed": prompt_ids(mixed),
        "params of each": prompt_ids(list(PROMPTS), [one] * len(PROMPTS)),
        "truncated": prompt_ids(list(PROMPTS), tokenization_kwargs={"truncate_prompt_tokens": 3}),
        "chat": llm.chat(list(CHAT), one, use_tqdm=False)[0].prompt_token_ids,
        "refused": _refusal(lambda: prompt_ids([PROMPTS[0], "ab " * 200_000, PROMPTS[1]])),
        "refused later": _refusal(lambda: prompt_ids([PROMPTS[0], PARAGRAPH * 60, "a\ud800"])),
        "lone surrogate": _refusal(lambda: prompt_ids([PROMPTS[0], "a\ud800"])),
        "not a prompt": _refusal(lambda: prompt_ids([PROMPTS[0], 5, PROMPTS[1]])),
        "many": prompt_ids(list(MANY_PROMPTS)),
        "batch": [output.prompt_token_ids for output in generate(llm, MANY_PROMPTS, one, use_tqdm=False)],
        "calls": tokenizer.lopt.explain()["calls"],
        "multiple of seven": structured("guidance", json=multiple_of_seven),
        "lm-format-enforcer reads the same": _lm_format_enforcer_reads_the_same(tokenizer, sys.argv[1]),
        "structured": {
            backend: [
                structured(backend, regex=REGEX),
                structured(backend, choice=list(CHOICES)),
                structured(backend, json=SCHEMA),
            ]
            for backend in BACKENDS
        },
    }
    print("RESULT " + json.dumps(result))


def _use_backend(llm: Any, name: str) -> None:
    llm.llm_engine.input_processor.structured_outputs_config.backend = name
    llm.llm_engine.engine_core.engine_core.structured_output_manager.backend = None


def _lm_format_enforcer_reads_the_same(tokenizer: Any, model: str) -> bool:
    from transformers import AutoTokenizer
    from vllm.tokenizers.mistral import MistralTokenizer

    try:
        importlib.import_module("lmformatenforcer.integrations.vllm")
    except ImportError:
        # lm-format-enforcer 0.11.3 looks for two names where vLLM and transformers had them earlier.
        from transformers import PreTrainedTokenizerBase

        _provide("vllm.transformers_utils.tokenizer", MistralTokenizer)
        _provide("transformers.tokenization_utils", PreTrainedTokenizerBase)
    read = importlib.import_module("lmformatenforcer.integrations.transformers").build_token_enforcer_tokenizer_data
    ours, theirs = (read(each, True, len(each)) for each in (tokenizer, AutoTokenizer.from_pretrained(model)))
    return bool(ours.regular_tokens == theirs.regular_tokens and ours.eos_token_id == theirs.eos_token_id)


def _provide(module_name: str, value: type) -> None:
    module = ModuleType(module_name)
    setattr(module, value.__name__, value)
    sys.modules[module_name] = module


def _refusal(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


if __name__ == "__main__":
    main()
