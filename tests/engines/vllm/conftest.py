"""One server with `--tokenizer-mode lopt` for all engine tests, the same without lopt, and the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_fixtures import model, oracle  # noqa: F401
from required import skip_without
from vllm_process import API_SERVERS, renders, skip_without_engine

MAX_MODEL_LEN = 4096
# Several threads that render, so that requests do meet in the tokenizer. The grammar holds while the model thinks as
# well: a random one would never come to an end.
STRUCTURED_OUTPUTS = '{"backend": "xgrammar", "disable_any_whitespace": true, "enable_in_reasoning": true}'
ARGUMENTS = (
    "--renderer-num-workers", "4", "--max-num-seqs", "16", "--structured-outputs-config", STRUCTURED_OUTPUTS,
    "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3",
    "--enable-lora", "--max-lora-rank", "8",
)  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def vllm_is_installed() -> None:
    """Skips the engine tests where there is no vLLM, unless LOPT_REQUIRE_VLLM asks for it."""
    skip_without("vllm", "LOPT_REQUIRE_VLLM")


@pytest.fixture(scope="session")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter for the tiny model, with a tokenizer of its own."""
    from small_models import lora_adapter

    from lopt_plugin.cli.serving.tiny_model import HIDDEN, LAYERS

    return lora_adapter(tmp_path_factory.mktemp("adapter") / "own", HIDDEN, LAYERS)


@pytest.fixture(scope="session")
def server(model: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:  # noqa: F811
    """A running server in mode lopt, of several processes."""
    skip_without_engine()
    from lopt_plugin.cli.serving.vllm_server import VllmServer

    log = tmp_path_factory.mktemp("lopt") / "server.log"
    arguments = (*ARGUMENTS, "--lora-modules", f"own={adapter}", "--api-server-count", str(API_SERVERS))
    if renders():
        arguments += ("--enable-scale-out",)
    with VllmServer(model, log, "lopt", context_length=MAX_MODEL_LEN, arguments=arguments) as running:
        yield running


@pytest.fixture(scope="session")
def hf_server(model: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:  # noqa: F811
    """A running server in mode hf, of one process."""
    skip_without_engine()
    from lopt_plugin.cli.serving.vllm_server import VllmServer

    log = tmp_path_factory.mktemp("hf") / "server.log"
    environment = {"LOPT_ACCELERATE": "0"}
    arguments = (*ARGUMENTS, "--lora-modules", f"own={adapter}")
    with VllmServer(
        model, log, "hf", context_length=MAX_MODEL_LEN, arguments=arguments, environment=environment
    ) as running:
        yield running
