"""LLM.generate and LLM.chat in mode lopt; structured output by each of vLLM's backends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from engine_texts import CHAT, CHOICES, MANY_PROMPTS, PROMPTS, REGEX, SCHEMA
from vllm_process import run_script

pytestmark = [pytest.mark.engine, pytest.mark.deep]


@pytest.fixture(scope="module")
def result(model: Path) -> Any:
    return run_script("offline_generate.py", model)


def test_native_route(result: Any) -> None:
    assert result["route"] == "native"
    assert result["renderer"] == "LoptRenderer"
    assert result["calls"]["native"] >= len(PROMPTS)


def test_generate(result: Any, oracle: Any) -> None:
    expected = oracle(list(PROMPTS))["input_ids"]
    assert result["generate"] == expected
    assert result["params of each"] == expected
    assert result["truncated"] == [ids[-3:] for ids in expected]
    assert result["mixed"] == [expected[0], expected[8], [5, 6, 7], expected[1]]
    assert result["many"] == oracle(list(MANY_PROMPTS))["input_ids"]
    assert result["batch"] == result["many"]


def test_chat(result: Any, oracle: Any) -> None:
    text = oracle.apply_chat_template(list(CHAT), tokenize=False, add_generation_prompt=True)
    assert result["chat"] == oracle(text, add_special_tokens=False)["input_ids"]


def test_an_invalid_prompt_in_a_list(result: Any) -> None:
    assert "maximum context length is 4096 tokens" in result["refused"]
    assert "600000 characters" in result["refused"]
    # The first prompt that is at fault, though all were tokenized together.
    assert "4097 input tokens" in result["refused later"]
    assert result["lone surrogate"].startswith("TypeError")
    assert result["not a prompt"].startswith("TypeError")


def test_structured_output_by_guidance(result: Any) -> None:
    assert int(result["multiple of seven"]) % 7 == 0


@pytest.mark.parametrize("backend", ["guidance", "xgrammar", "outlines"])
def test_structured_output(result: Any, backend: str) -> None:
    by_regex, by_choice, by_schema = result["structured"][backend]
    assert re.fullmatch(REGEX, by_regex)
    assert by_choice in CHOICES
    parsed = json.loads(by_schema)
    assert parsed["name"] in SCHEMA["properties"]["name"]["enum"]  # type: ignore[index]
    assert parsed["ok"] in (True, False)


def test_structured_output_by_lm_format_enforcer(result: Any) -> None:
    assert result["lm-format-enforcer reads the same"] is True
    # It also allows the ids that pad the model's vocabulary, which are no text, with any tokenizer mode.
    by_regex, by_choice, by_schema = result["structured"]["lm-format-enforcer"]
    assert re.fullmatch("[0-9]{1,3}(-.*)?", by_regex)
    assert any(choice.startswith(by_choice) for choice in CHOICES)
    assert by_schema.lstrip().startswith("{")
