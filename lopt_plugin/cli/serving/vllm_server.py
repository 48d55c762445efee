"""The real vLLM server as a child process, in this Python's environment."""

from __future__ import annotations

import sys
from typing import ClassVar

from .server import Answer, EngineServer


class VllmServer(EngineServer):
    """`vllm serve MODEL`."""

    name, module = "vLLM", "vllm"
    options = ("--tokenizer-mode", "--tokenizer", "--max-model-len")
    own_mode = "hf"
    component: ClassVar[tuple[str, ...]] = ("serve",)

    def _start(self, model: str, context_length: int | None) -> tuple[list[str], dict[str, str]]:
        command = [sys.executable, "-m", "vllm.entrypoints.cli.main", *self.component, model, "--enforce-eager"]
        # 1 GiB holds four million tokens of the tiny model.
        return command, {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}

    def answer(self, prompt: str) -> Answer:
        request = {"model": "tiny", "prompt": prompt, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        before = self._to_engine_s()
        answer, whole_s = self.ask("/v1/completions", request)
        return Answer(answer["choices"][0]["prompt_token_ids"], self._to_engine_s() - before, whole_s)

    def _to_engine_s(self) -> float:
        # vLLM's first figure starts before tokenization, the others start when the engine receives the request.
        first, *later = (
            self.metric(f"vllm:{name}_seconds_sum")
            for name in ("time_to_first_token", "request_queue_time", "request_prefill_time")
        )
        return first - sum(later)


class RenderServer(VllmServer):
    """`vllm launch render MODEL`: prompts to ids, without an engine."""

    component = ("launch", "render")
