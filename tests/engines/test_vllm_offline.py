"""LLM.generate and LLM.chat in mode lopt, with structured output by guidance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from texts import CHAT, PROMPTS

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def result(model: Path) -> Any:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    script = Path(__file__).with_name("offline_generate.py")
    done = subprocess.run(
        [sys.executable, str(script), str(model)], env=environment, capture_output=True, text=True, timeout=300
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("RESULT "))


def test_native_route(result: Any) -> None:
    assert result["route"] == "native"
    assert result["calls"]["native"] >= len(PROMPTS)


def test_generate(result: Any, oracle: Any) -> None:
    assert result["generate"] == oracle(list(PROMPTS))["input_ids"]


def test_chat(result: Any, oracle: Any) -> None:
    text = oracle.apply_chat_template(list(CHAT), tokenize=False, add_generation_prompt=True)
    assert result["chat"] == oracle(text, add_special_tokens=False)["input_ids"]


def test_structured_output_by_guidance(result: Any) -> None:
    assert int(result["guidance"]) % 7 == 0
