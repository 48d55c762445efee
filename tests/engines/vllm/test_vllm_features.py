"""LoRA, tool calls, reasoning, metrics and vLLM's own benchmark, against the same servers as the other tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_texts import PARAGRAPH, PROMPTS
from events import stream
from vllm_process import run_vllm

pytestmark = pytest.mark.engine

TOOL = {
    "type": "function",
    "function": {
        "name": "weather_in",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
THOUGHT = "\nhm, naïve 東京 👩‍👩‍👧\n"
ARGUMENTS = '{"city": "東京 \\"é\\""}'
CALL = f'<tool_call>\n{{"name": "weather_in", "arguments": {ARGUMENTS}}}\n</tool_call>'
ANSWERS = {
    "thought and answer": f"<think>{THOUGHT}</think>\n\nIt is 42.",
    "thought and call": f"<think>{THOUGHT}</think>\n\n{CALL}",
    "two calls": f"<think>{THOUGHT}</think>\n\n{CALL}\n{CALL}",
}


def request_for(answer: str) -> dict[str, Any]:
    # The grammar lets the random model write this one text.
    return {
        "model": "tiny",
        "messages": [{"role": "user", "content": PARAGRAPH}],
        "tools": [TOOL],
        "tool_choice": "auto",
        "max_tokens": 300,
        "temperature": 0,
        "structured_outputs": {"regex": re.escape(answer).replace("\\\n", "\n").replace("\\ ", " ")},
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", ANSWERS)
def test_tool_calls_and_reasoning(server: Any, hf_server: Any, name: str) -> None:
    said = []
    for each in (server, hf_server):
        status, answer = each.post("/v1/chat/completions", request_for(ANSWERS[name]))
        assert status == 200, answer
        said.append(without_ids(answer["choices"][0]["message"]))
    ours, theirs = said
    assert ours == theirs
    assert ours["reasoning"].strip() == THOUGHT.strip()
    calls = [json.loads(call["function"]["arguments"]) for call in ours.get("tool_calls") or []]
    assert calls == [json.loads(ARGUMENTS)] * ANSWERS[name].count("<tool_call>")


@pytest.mark.deep
@pytest.mark.parametrize("name", ANSWERS)
def test_streamed_tool_calls_and_reasoning(server: Any, hf_server: Any, name: str) -> None:
    ours, theirs = (
        whole(stream(each, "/v1/chat/completions", request_for(ANSWERS[name]) | {"stream": True}))
        for each in (server, hf_server)
    )
    assert ours == theirs
    assert THOUGHT.strip() in ours["reasoning"]


@pytest.mark.deep
def test_adapter_has_the_ids_of_the_base_model(server: Any, hf_server: Any, oracle: Any) -> None:
    # vLLM no longer uses an adapter's own tokenizer.
    for prompt in PROMPTS:
        request = {"model": "own", "prompt": prompt, "max_tokens": 3, "temperature": 0, "return_token_ids": True}
        (status, ours), (_, theirs) = (
            server.post("/v1/completions", request),
            hf_server.post("/v1/completions", request),
        )
        assert status == 200, ours
        assert ours["choices"][0]["prompt_token_ids"] == oracle(prompt)["input_ids"]
        assert ours["choices"][0]["token_ids"] == theirs["choices"][0]["token_ids"]


@pytest.mark.deep
def test_benchmark_of_vllm(server: Any, model: Path, tmp_path: Path) -> None:
    printed = run_vllm(
        tmp_path, "bench", "serve", "--model", "tiny", "--tokenizer", model, "--tokenizer-mode", "lopt",
        "--base-url", f"http://127.0.0.1:{server.port}", "--dataset-name", "random", "--random-input-len", "40",
        "--random-output-len", "2", "--num-prompts", "4", "--temperature", "0",
    )  # fmt: skip
    assert "takes the native route" in printed
    assert re.search(r"Successful requests:\s+4\s", printed)
    assert re.search(r"Total input tokens:\s+160\s", printed)


def test_metrics(server: Any, oracle: Any) -> None:
    before = server.metric("lopt_tokenization_seconds_count")
    for number in range(20):
        status, _ = server.post("/tokenize", {"model": "tiny", "prompt": f"{number} {PARAGRAPH}"})
        assert status == 200
    shown = server.get("/metrics")
    # All processes are added up, whichever answers.
    assert server.metric("lopt_tokenization_seconds_count") == before + 20
    assert 0 < server.metric("lopt_tokenization_seconds_sum") < 600
    assert 'lopt_tokenization_seconds_bucket{le="0.001",route="native"}' in shown
    fallbacks = server.metric("lopt_fallbacks_total")
    status, _ = server.post("/v1/completions", b'{"model": "tiny", "prompt": "a\\ud800b", "max_tokens": 1}')
    assert status != 200
    assert server.metric("lopt_fallbacks_total") == fallbacks + 1
    # Two server processes answer: each has to see the text twice before it knows it.
    for number in range(8):
        server.post("/tokenize", {"model": "tiny", "prompt": PARAGRAPH * 80 + f" {number}"})
    assert server.metric("lopt_prefix_cache_hits_total") > 0
    assert server.metric("lopt_prefix_cache_saved_bytes_total") > 0


@pytest.mark.deep
def test_no_metrics_without_lopt(hf_server: Any) -> None:
    assert "lopt_" not in hf_server.get("/metrics")


def whole(events: Iterator[Any]) -> dict[str, str]:
    """The text of all events together; how it is divided depends on the load of the server."""
    said = {"reasoning": "", "content": "", "tool_calls": ""}
    for event in events:
        for choice in event["choices"]:
            delta = choice["delta"]
            said["reasoning"] += delta.get("reasoning") or ""
            said["content"] += delta.get("content") or ""
            for call in delta.get("tool_calls") or []:
                said["tool_calls"] += (call["function"].get("name") or "") + (call["function"].get("arguments") or "")
    return said


def without_ids(answer: Any) -> Any:
    """The answer without what is random in it."""
    if isinstance(answer, dict):
        return {key: without_ids(value) for key, value in answer.items() if key != "id"}
    return [without_ids(each) for each in answer] if isinstance(answer, list) else answer
