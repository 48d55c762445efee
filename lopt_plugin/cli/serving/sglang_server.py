"""The real SGLang server as a child process, in this Python's environment, on a GPU or on a CPU."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .server import Answer, EngineServer
from .tiny_model import MAX_MODEL_LEN

# The options that SGLang needs without a GPU. --sleep-on-idle: an idle scheduler must not occupy a core.
ON_CPU = (
    "--device", "cpu", "--attention-backend", "torch_native", "--disable-cuda-graph", "--disable-overlap-schedule",
    "--mem-fraction-static", "0.5", "--sleep-on-idle",
)  # fmt: skip
ENVIRONMENT_ON_CPU = {"SGLANG_USE_CPU_ENGINE": "1", "SGLANG_UVICORN_WORKER_HEALTHCHECK_TIMEOUT": "120"}


class SglangServer(EngineServer):
    """`sglang serve MODEL`. `tokenizer` is a folder or a name on the hub; by default it is the model's own."""

    name, module = "SGLang", "sglang"
    lopt_option = "sglang serve --tokenizer-backend lopt"
    own_option = "sglang serve --tokenizer-backend huggingface"

    def __init__(
        self,
        model: str | Path,
        log: Path,
        *,
        tokenizer_backend: str,
        tokenizer: str | None = None,
        context_length: int | None = None,
        arguments: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        command = [
            str(Path(sys.executable).with_name("sglang")), "serve", "--model-path", str(model),
            "--tokenizer-backend", tokenizer_backend, *arguments,
        ]  # fmt: skip
        if tokenizer is not None:
            command += ["--tokenizer-path", tokenizer]
        if context_length is not None:
            command += ["--context-length", str(context_length)]
        for_sglang: dict[str, str] = {}
        if is_for_cpu():
            command += ON_CPU
            for_sglang = ENVIRONMENT_ON_CPU
            if context_length is not None:
                command += ["--max-total-tokens", str(context_length)]
        offline = Path(model).exists() and (tokenizer is None or Path(tokenizer).exists())
        super().__init__(command, log, for_sglang | (environment or {}), offline)

    @classmethod
    def for_prompts(cls, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> SglangServer:
        return cls(
            model,
            log,
            tokenizer_backend="lopt" if lopt else "huggingface",
            tokenizer=tokenizer,
            context_length=MAX_MODEL_LEN,
            arguments=("--enable-metrics",),
        )

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
