"""SGLang servers with `--tokenizer-backend lopt`, and the oracle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_fixtures import EXAMPLES, model, oracle  # noqa: F401
from required import skip_without

sys.path.insert(0, str(EXAMPLES / "sglang_demo"))

CONTEXT_LENGTH = 32_768


@pytest.fixture(scope="session", autouse=True)
def sglang_is_installed() -> None:
    """Skips these tests where there is no SGLang, unless LOPT_REQUIRE_SGLANG asks for it."""
    skip_without("sglang", "LOPT_REQUIRE_SGLANG")


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:  # noqa: F811
    """A running server with one tokenizer and metrics, that tokenizes lists of prompts as batches."""
    from lopt_plugin.cli.serving.sglang_server import SglangServer

    with SglangServer(
        model,
        tmp_path_factory.mktemp("lopt") / "server.log",
        "lopt",
        context_length=CONTEXT_LENGTH,
        arguments=("--enable-tokenizer-batch-encode", "--enable-metrics"),
    ) as running:
        yield running
