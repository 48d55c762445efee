"""Two tokenizer workers: through our application module, and with patches/sglang."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engine_texts import CHAT, PARAGRAPH, PROMPTS
from patched_sglang import PATCHES, patched_sglang, path_with
from requests_to_sglang import chat, chat_ids, completion, generate

pytestmark = [pytest.mark.engine, pytest.mark.deep]

STARTED_WITHIN_S = 900.0
SGLANG_APP = "sglang.srt.entrypoints.http_server:app"


@pytest.fixture(scope="module", params=["application module", "patch"])
def workers(
    request: pytest.FixtureRequest, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, str]]:
    """A running server with two tokenizer workers, and how they load lopt."""
    from lopt_plugin.cli.serving.sglang_server import SglangServer

    folder = tmp_path_factory.mktemp("workers")
    environment = {}
    if request.param == "patch":
        patched = patched_sglang(folder / "patched", *sorted(PATCHES.glob("*.patch")))
        # Before the installed package on the path; and the workers start as SGLang starts them.
        environment = {"PYTHONPATH": path_with(patched), "SGLANG_HTTP_SERVER_APP_PATH": SGLANG_APP}
    with SglangServer(
        model,
        folder / "server.log",
        "lopt",
        context_length=4096,
        arguments=("--tokenizer-worker-num", "2", "--enable-dynamic-batch-tokenizer"),
        environment=environment,
    ) as running:
        # The first worker answers while the second may still be starting.
        deadline = time.monotonic() + STARTED_WITHIN_S
        while len(running.log_lines("Application startup complete")) < 2:
            assert time.monotonic() < deadline, running.log_lines("")[-40:]
            time.sleep(0.5)
        yield running, request.param


def test_every_worker_uses_lopt(workers: tuple[Any, str]) -> None:
    server = workers[0]
    log = "\n".join(server.log_lines(""))
    started = set(re.findall(r"Start multi-tokenizer worker process (\d+)", log))
    active = re.findall(r"in process (\d+) takes the native route", log)
    assert len(started) == 2
    assert started <= set(active)
    assert len(active) == len(set(active))
    # With the patch, also an application that is not ours loads the plugins.
    assert "the tokenizer workers use lopt only if" not in log


def test_ids(workers: tuple[Any, str], oracle: Any) -> None:
    server = workers[0]
    expected = oracle(list(PROMPTS))["input_ids"]
    assert [c["prompt_token_ids"] for c in completion(server, list(PROMPTS))["choices"]] == expected
    texts = [f"{number} {PARAGRAPH[number:]}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: generate(server, text)["prompt_token_ids"], texts))
    assert answers == [oracle(text)["input_ids"] for text in texts]
    assert chat(server, CHAT)["choices"][0]["prompt_token_ids"] == chat_ids(oracle, CHAT)
