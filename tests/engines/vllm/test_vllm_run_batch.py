"""`vllm run-batch --tokenizer-mode lopt`: a file of requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_texts import CHAT, PROMPTS
from vllm_process import run_vllm

pytestmark = [pytest.mark.engine, pytest.mark.deep]


def test_ids(model: Path, oracle: Any, tmp_path: Path) -> None:
    # Of vLLM's endpoints for text, batches have chats only.
    chats = [*([{"role": "user", "content": prompt}] for prompt in PROMPTS), list(CHAT)]
    requests = [
        {
            "custom_id": str(number),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": str(model), "messages": chat, "max_tokens": 1, "return_token_ids": True},
        }
        for number, chat in enumerate(chats)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, requests)))
    printed = run_vllm(
        tmp_path, "run-batch", "-i", "in.jsonl", "-o", "out.jsonl", "--model", model, "--tokenizer-mode", "lopt",
        "--max-model-len", "4096", "--enforce-eager",
    )  # fmt: skip
    assert "takes the native route" in printed
    answers = {}
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        answer = json.loads(line)
        assert answer["response"]["status_code"] == 200, answer
        answers[int(answer["custom_id"])] = answer["response"]["body"]
    for number, chat in enumerate(chats):
        text = oracle.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        assert answers[number]["prompt_token_ids"] == oracle(text, add_special_tokens=False)["input_ids"]
