"""The examples run with the tiny model."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_texts import PARAGRAPH
from vllm_process import ENVIRONMENT

pytestmark = [pytest.mark.engine, pytest.mark.deep]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "vllm_long_context"
STARTED_WITHIN_S = 400.0


def run(name: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, arguments)],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of what serve.py serves where the named model cannot be had."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    log = tmp_path / "serve.log"
    named = [sys.executable, str(EXAMPLES / "serve.py"), "no/such-model", "--host", "127.0.0.1", "--port", port]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*named, "--max-model-len", "16384"],
            env=os.environ | ENVIRONMENT,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + STARTED_WITHIN_S
    try:
        while "Application startup complete" not in log.read_text(errors="replace"):
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_server_and_client(served: str, hf_server: Any, tmp_path: Path) -> None:
    documents = []
    for number in range(2):
        documents.append(tmp_path / f"document{number}.txt")
        documents[-1].write_text(f"{number} {PARAGRAPH * 25}", encoding="utf-8")
    printed = run("client.py", *documents, "--lopt", served, "--hf", f"http://127.0.0.1:{hf_server.port}")
    rows = [line.split() for line in printed.splitlines() if re.match(r"document\d|median", line)]
    assert [row[:2] for row in rows] == [
        ["document0.txt", "lopt"], ["document0.txt", "hf"], ["document1.txt", "lopt"], ["document1.txt", "hf"],
        ["median", "lopt"], ["median", "hf"],
    ]  # fmt: skip
    for row in rows:
        # Tokens, TTFT and the time before the engine; with lopt, also the tokenizer's and its share.
        assert len(row) == (7 if row[1] == "lopt" else 5)
        assert int(row[2].replace(",", "")) > 2000
        assert float(row[3]) > float(row[4]) > 0
    assert [row[2] for row in rows[::2]] == [row[2] for row in rows[1::2]]


def test_client_has_documents_of_its_own(server: Any) -> None:
    printed = run("client.py", "--lopt", f"http://127.0.0.1:{server.port}", "--documents", "2", "--characters", "3000")
    assert len([line for line in printed.splitlines() if line.startswith("part")]) == 2


def test_agent_loop(server: Any, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES.parent / "agent_loop"))
    import agent_loop

    loop = agent_loop.run(server, model, [f"{turn} {PARAGRAPH}" for turn in range(5)], 2)
    assert (len(loop.tokenize), len(loop.answer), loop.compared) == (5, 5, 3)
    assert 0 < loop.tokenizer < sum(loop.tokenize) + sum(loop.answer)


def test_offline_batch(oracle: Any, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    (folder / "deeper").mkdir(parents=True)
    texts = {"a.txt": PARAGRAPH, "b.txt": PARAGRAPH * 100, "deeper/c.txt": "", "deeper/d.txt": "naïve 東京"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "e.md").write_text("not one of them")
    printed = run(
        "offline_batch.py", folder, tmp_path / "answers.jsonl", "--max-model-len", "4096", "--max-tokens", "4",
        "--question", "What?",
    )  # fmt: skip
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    question = oracle("\n\nWhat?\n")["input_ids"]
    lengths = [min(len(oracle(text)["input_ids"]) + len(question), 4096 - 4) for text in texts.values()]
    assert [(answer["file"], answer["prompt_tokens"]) for answer in answers] == list(zip(texts, lengths, strict=True))
    assert "Processed prompts: 100%" in printed
    assert "4 answers" in printed
