"""The engines that `lopt demo` knows: how to start their servers, and how to ask them for a prompt's ids and times."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from .server import EngineServer
from .sglang_server import SglangServer
from .tiny_model import MAX_MODEL_LEN
from .vllm_server import VllmServer


class Answer(NamedTuple):
    """The ids of the prompt as the server reports them; seconds from its arrival to the engine, and in all."""

    prompt_ids: list[int]
    to_engine_s: float
    whole_s: float


class Vllm:
    """vLLM through its completions API. `module` is what Python imports; the options are for its command line."""

    name = "vLLM"
    module = "vllm"
    lopt_option = "vllm serve --tokenizer-mode lopt"
    own_option = "vllm serve --tokenizer-mode hf"

    def server(self, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> EngineServer:
        """Its server, not started. `tokenizer`: folder or name on the hub, if it is not in the model's folder."""
        mode = "lopt" if lopt else "hf"
        return VllmServer(
            model, log, tokenizer_mode=mode, max_model_len=MAX_MODEL_LEN, tokenizer=tokenizer, kv_cache_gib=2
        )

    def ask(self, server: EngineServer, text: str) -> Answer:
        """Generates one token for the prompt. Raises ServerError."""
        request = {"model": "tiny", "prompt": text, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        before = self._to_engine_s(server)
        answer, whole_s = server.ask("/v1/completions", request)
        return Answer(answer["choices"][0]["prompt_token_ids"], self._to_engine_s(server) - before, whole_s)

    def _to_engine_s(self, server: EngineServer) -> float:
        # vLLM's first figure starts before tokenization, the others when the engine receives the request.
        return (
            server.metric("vllm:time_to_first_token_seconds_sum")
            - server.metric("vllm:request_queue_time_seconds_sum")
            - server.metric("vllm:request_prefill_time_seconds_sum")
        )


class Sglang:
    """The same for SGLang, through its own API."""

    name = "SGLang"
    module = "sglang"
    lopt_option = "sglang serve --tokenizer-backend lopt"
    own_option = "sglang serve --tokenizer-backend huggingface"

    def server(self, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> EngineServer:
        """As for vLLM."""
        return SglangServer(
            model,
            log,
            tokenizer_backend="lopt" if lopt else "huggingface",
            tokenizer=tokenizer,
            context_length=MAX_MODEL_LEN,
            arguments=("--enable-metrics",),
        )

    def ask(self, server: EngineServer, text: str) -> Answer:
        """As for vLLM."""
        sampling = {"max_new_tokens": 1, "temperature": 0}
        request = {"text": text, "sampling_params": sampling, "return_prompt_token_ids": True}
        answer, whole_s = server.ask("/generate", request)
        times = answer["meta_info"]
        to_engine_s = times["api_server_dispatch_finish_ts"] - times["request_received_ts"]
        return Answer(answer["prompt_token_ids"], to_engine_s, whole_s)


Engine = Vllm | Sglang
ENGINES: dict[str, Engine] = {"vllm": Vllm(), "sglang": Sglang()}


def installed(engine: Engine) -> bool:
    """Whether the engine can be imported; it is not imported."""
    spec = importlib.util.find_spec(engine.module)
    # A folder of that name in the working directory has no origin.
    return spec is not None and spec.origin is not None
