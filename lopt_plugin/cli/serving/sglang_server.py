"""The real SGLang server as a child process, in this Python's environment, on a GPU or on a CPU."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .server import Answer, EngineServer

# The options that SGLang needs without a GPU. With --sleep-on-idle, an idle scheduler does not occupy a core.
ON_CPU = (
    "--device", "cpu", "--attention-backend", "torch_native", "--disable-cuda-graph", "--disable-overlap-schedule",
    "--mem-fraction-static", "0.5", "--sleep-on-idle",
)  # fmt: skip
ENVIRONMENT_ON_CPU = {"SGLANG_USE_CPU_ENGINE": "1", "SGLANG_UVICORN_WORKER_HEALTHCHECK_TIMEOUT": "120"}


class SglangServer(EngineServer):
    """`sglang serve MODEL`."""

    name, module = "SGLang", "sglang"
    options = ("--tokenizer-backend", "--tokenizer-path", "--context-length")
    own_mode = "huggingface"
    for_times = ("--enable-metrics",)

    def _start(self, model: str, context_length: int | None) -> tuple[list[str], dict[str, str]]:
        command = [str(Path(sys.executable).with_name("sglang")), "serve", "--model-path", model]
        if not is_for_cpu():
            return command, {}
        room = [] if context_length is None else ["--max-total-tokens", str(context_length)]
        return [*command, *ON_CPU, *room], ENVIRONMENT_ON_CPU

    def answer(self, prompt: str) -> Answer:
        sampling = {"max_new_tokens": 1, "temperature": 0}
        request = {"text": prompt, "sampling_params": sampling, "return_prompt_token_ids": True}
        answer, whole_s = self.ask("/generate", request)
        times = answer["meta_info"]
        to_engine_s = times["api_server_dispatch_finish_ts"] - times["request_received_ts"]
        return Answer(answer["prompt_token_ids"], to_engine_s, whole_s)


def is_for_cpu() -> bool:
    """Whether SGLang runs without a GPU in this environment."""
    return shutil.which("nvidia-smi") is None or "sglang_on_cpu" in sys.modules
