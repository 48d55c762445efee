"""The real SGLang server as a child process, in this Python's environment, on a GPU or on a CPU."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .server import EngineServer, free_port

# The options that SGLang needs without a GPU. --sleep-on-idle: an idle scheduler must not occupy a core.
ON_CPU = (
    "--device", "cpu", "--attention-backend", "torch_native", "--disable-cuda-graph", "--disable-overlap-schedule",
    "--mem-fraction-static", "0.5", "--sleep-on-idle",
)  # fmt: skip
ENVIRONMENT_ON_CPU = {"SGLANG_USE_CPU_ENGINE": "1", "SGLANG_UVICORN_WORKER_HEALTHCHECK_TIMEOUT": "120"}


class SglangServer(EngineServer):
    """`sglang serve MODEL` on a free port. The model's name in requests is "tiny".

    `tokenizer` is a folder or a name on the hub; by default the model's own tokenizer is used.
    """

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
        port = free_port()
        command = [
            str(Path(sys.executable).with_name("sglang")), "serve", "--model-path", str(model),
            "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port),
            "--tokenizer-backend", tokenizer_backend, *arguments,
        ]  # fmt: skip
        for_sglang: dict[str, str] = {}
        if tokenizer is not None:
            command += ["--tokenizer-path", tokenizer]
        if context_length is not None:
            command += ["--context-length", str(context_length)]
        if is_for_cpu():
            command += ON_CPU
            if context_length is not None:
                command += ["--max-total-tokens", str(context_length)]
            for_sglang |= ENVIRONMENT_ON_CPU
        if Path(model).exists() and (tokenizer is None or Path(tokenizer).exists()):
            for_sglang["HF_HUB_OFFLINE"] = "1"
        super().__init__(command, port, log, for_sglang | (environment or {}))


def is_for_cpu() -> bool:
    """Whether SGLang runs without a GPU in this environment."""
    return shutil.which("nvidia-smi") is None or "sglang_on_cpu" in sys.modules
