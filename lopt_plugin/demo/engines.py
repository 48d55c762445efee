"""What is asked of an engine's server, and what it answers."""

from __future__ import annotations

import http.client
import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .server import EngineServer, ServerError
from .sglang_server import SglangServer
from .tiny_model import MAX_MODEL_LEN
from .vllm_server import VllmServer


@dataclass(frozen=True)
class Answer:
    """The prompt's ids as the server reports them; seconds from its arrival to the engine, and of the whole answer."""

    prompt_ids: list[int]
    to_engine_s: float
    whole_s: float


class Engine(Protocol):
    """An engine by its `name`, which `module` it is, and what chooses lopt or its own tokenizer on its command line."""

    name: str
    module: str
    lopt_option: str
    own_option: str

    def server(self, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> EngineServer:
        """Its server, not started. `tokenizer`: folder or name on the hub, if it does not lie beside the model."""

    def ask(self, server: EngineServer, text: str) -> Answer:
        """One token for that prompt. Raises ServerError."""


class Vllm:
    """vLLM by its completions."""

    name = "vLLM"
    module = "vllm"
    lopt_option = "vllm serve --tokenizer-mode lopt"
    own_option = "vllm serve --tokenizer-mode hf"

    def server(self, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> EngineServer:
        """See Engine."""
        mode = "lopt" if lopt else "hf"
        return VllmServer(
            model, log, tokenizer_mode=mode, max_model_len=MAX_MODEL_LEN, tokenizer=tokenizer, kv_cache_gib=2
        )

    def ask(self, server: EngineServer, text: str) -> Answer:
        """See Engine."""
        request = {"model": "tiny", "prompt": text, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        before = _vllm_to_engine_s(server)
        answer, whole_s = post(server, "/v1/completions", request)
        return Answer(answer["choices"][0]["prompt_token_ids"], _vllm_to_engine_s(server) - before, whole_s)


class Sglang:
    """SGLang by its own interface."""

    name = "SGLang"
    module = "sglang"
    lopt_option = "sglang serve --tokenizer-backend lopt"
    own_option = "sglang serve --tokenizer-backend huggingface"

    def server(self, model: Path, tokenizer: str | None, log: Path, lopt: bool) -> EngineServer:
        """See Engine."""
        return SglangServer(
            model,
            log,
            tokenizer_backend="lopt" if lopt else "huggingface",
            tokenizer=tokenizer,
            context_length=MAX_MODEL_LEN,
            arguments=("--enable-metrics",),
        )

    def ask(self, server: EngineServer, text: str) -> Answer:
        """See Engine."""
        sampling = {"max_new_tokens": 1, "temperature": 0}
        request = {"text": text, "sampling_params": sampling, "return_prompt_token_ids": True}
        answer, whole_s = post(server, "/generate", request)
        times = answer["meta_info"]
        to_engine_s = times["api_server_dispatch_finish_ts"] - times["request_received_ts"]
        return Answer(answer["prompt_token_ids"], to_engine_s, whole_s)


ENGINES: dict[str, Engine] = {"vllm": Vllm(), "sglang": Sglang()}


def installed(engine: Engine) -> bool:
    """Whether it can be imported here; it is not."""
    spec = importlib.util.find_spec(engine.module)
    # A folder of that name in the working directory has no origin.
    return spec is not None and spec.origin is not None


def post(server: EngineServer, path: str, request: dict[str, Any]) -> tuple[Any, float]:
    """The server's answer to a request, and its seconds. Raises ServerError for anything but HTTP 200."""
    start = time.perf_counter()
    try:
        status, answer = server.post(path, request)
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"the server did not answer ({error!r}); its log is {server.log}") from error
    seconds = time.perf_counter() - start
    if status != 200:
        raise ServerError(f"HTTP {status}: {answer}; the server's log is {server.log}")
    return answer, seconds


def _vllm_to_engine_s(server: EngineServer) -> float:
    # vLLM counts the first from before tokenization, the others from the engine's receipt of the request.
    return (
        server.metric("vllm:time_to_first_token_seconds_sum")
        - server.metric("vllm:request_queue_time_seconds_sum")
        - server.metric("vllm:request_prefill_time_seconds_sum")
    )
