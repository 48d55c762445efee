"""The real vLLM server as a child process, in this Python's environment."""

from __future__ import annotations

import sys
from pathlib import Path

from .server import EngineServer, free_port


class VllmServer(EngineServer):
    """`vllm serve MODEL` on a free port. The model's name in requests is "tiny".

    `tokenizer` is a folder or a name on the hub; by default the model's own tokenizer is used.
    """

    def __init__(
        self,
        model: Path,
        log: Path,
        *,
        tokenizer_mode: str,
        max_model_len: int,
        tokenizer: str | None = None,
        arguments: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        kv_cache_gib: int = 1,
    ) -> None:
        port = free_port()
        command = [
            sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model.resolve()),
            "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port),
            "--max-model-len", str(max_model_len), "--tokenizer-mode", tokenizer_mode, "--enforce-eager", *arguments,
        ]  # fmt: skip
        for_vllm = {"VLLM_CPU_KVCACHE_SPACE": str(kv_cache_gib), "VLLM_NO_USAGE_STATS": "1"}
        if tokenizer is not None:
            command += ["--tokenizer", tokenizer]
        if tokenizer is None or Path(tokenizer).exists():
            for_vllm["HF_HUB_OFFLINE"] = "1"
        super().__init__(command, port, log, for_vllm | (environment or {}))
