"""The real vLLM server as a child process, in this Python's environment."""

from __future__ import annotations

import sys
from pathlib import Path

from .server import Answer, EngineServer
from .tiny_model import MAX_MODEL_LEN


class VllmServer(EngineServer):
    """`vllm serve MODEL`. `tokenizer` is a folder or a name on the hub; by default it is the model's own."""

    name, module = "vLLM", "vllm"
    lopt_option, own_option = "vllm serve --tokenizer-mode lopt", "vllm serve --tokenizer-mode hf"

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
        command = [
            sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model.resolve()), "--enforce-eager",
            "--max-model-len", str(max_model_len), "--tokenizer-mode", tokenizer_mode, *arguments,
        ]  # fmt: skip
        if tokenizer is not None:
            command += ["--tokenizer", tokenizer]
        for_vllm = {"VLLM_CPU_KVCACHE_SPACE": str(kv_cache_gib), "VLLM_NO_USAGE_STATS": "1"}
        offline = tokenizer is None or Path(tokenizer).exists()
        super().__init__(command, log, for_vllm | (environment or {}), offline)

    @classmethod
    def for_prompts(cls, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> VllmServer:
        mode = "lopt" if lopt else "hf"
        return cls(model, log, tokenizer_mode=mode, max_model_len=MAX_MODEL_LEN, tokenizer=tokenizer, kv_cache_gib=2)

    def answer(self, prompt: str) -> Answer:
        request = {"model": "tiny", "prompt": prompt, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        before = self._to_engine_s()
        answer, whole_s = self.ask("/v1/completions", request)
        return Answer(answer["choices"][0]["prompt_token_ids"], self._to_engine_s() - before, whole_s)

    def _to_engine_s(self) -> float:
        # vLLM's first figure starts before tokenization, the others when the engine receives the request.
        first, *later = (
            self.metric(f"vllm:{name}_seconds_sum")
            for name in ("time_to_first_token", "request_queue_time", "request_prefill_time")
        )
        return first - sum(later)
