"""SGLang servers with `--tokenizer-backend lopt`, and the oracle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from required import skip_without

REPOSITORY = Path(__file__).resolve().parents[2]
for folder in ("examples/vllm_demo", "examples/sglang_demo", "tests/engines"):
    sys.path.insert(0, str(REPOSITORY / folder))

CONTEXT_LENGTH = 32_768


@pytest.fixture(scope="session", autouse=True)
def sglang_is_installed() -> None:
    """Skips these tests where there is no SGLang, unless LOPT_REQUIRE_SGLANG asks for it."""
    skip_without("sglang", "LOPT_REQUIRE_SGLANG")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model."""
    from tiny_model import build

    return build(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def oracle(model: Path) -> Any:
    """The Hugging Face tokenizer itself."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running server with one tokenizer, that tokenizes lists of prompts as batches."""
    from lopt_plugin.demo.sglang_server import SglangServer

    with SglangServer(
        model,
        tmp_path_factory.mktemp("lopt") / "server.log",
        tokenizer_backend="lopt",
        context_length=CONTEXT_LENGTH,
        arguments=("--enable-tokenizer-batch-encode",),
    ) as running:
        yield running
