"""The ids that the real SGLang server works with are Hugging Face's, whatever the request."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from engine_texts import CHAT, PARAGRAPH, PROMPTS
from events import stream
from requests_to_sglang import chat, chat_ids, completion, generate

pytestmark = pytest.mark.engine

# From 32,768 characters on, SGLang takes the Rust tokenizer of a chat into its own hands where it can.
LONG = "".join(f"{n}. The prince had been in Austerlitz for {n * n} days.\n" for n in range(620)) + PARAGRAPH


def test_log_says_what_is_active(server: Any) -> None:
    lines = server.log_lines("takes the native route")
    processes = [line.split("in process ")[1].split()[0] for line in lines]
    # The server's own process, the scheduler and the detokenizer.
    assert len(processes) == len(set(processes)) == 3, lines
    assert all("SGLang 0." in line for line in lines)
    # As our lines begin; the name alone may be part of a path.
    said = [line for line in server.log_lines("lopt_plugin") if re.search(r"lopt_plugin( \d[\w.]*)?: ", line)]
    assert said == lines


def test_ids_go_to_the_scheduler_as_arrays(server: Any) -> None:
    # Where SGLang's own functions are not as they were, our hooks would leave them alone.
    hooks = [line for line in server.log_lines("TokenizerManager._") if "Applied" in line]
    for name in ("_tokenize_texts", "_create_tokenized_object"):
        assert any(f"TokenizerManager.{name} " in line for line in hooks), hooks
    assert not server.log_lines("as SGLang does")


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_one_prompt(server: Any, oracle: Any, prompt: str) -> None:
    expected = oracle(prompt)["input_ids"]
    assert completion(server, prompt)["choices"][0]["prompt_token_ids"] == expected
    assert generate(server, prompt)["prompt_token_ids"] == expected


def test_list_of_prompts(server: Any, oracle: Any) -> None:
    expected = oracle(list(PROMPTS))["input_ids"]
    assert [c["prompt_token_ids"] for c in completion(server, list(PROMPTS))["choices"]] == expected
    assert [answer["prompt_token_ids"] for answer in generate(server, list(PROMPTS))] == expected


def test_long_prompt(server: Any, oracle: Any) -> None:
    assert len(LONG) > 32_768
    assert completion(server, LONG)["choices"][0]["prompt_token_ids"] == oracle(LONG)["input_ids"]


@pytest.mark.parametrize("messages", [CHAT, [*CHAT[:3], {"role": "user", "content": LONG}]], ids=["short", "long"])
def test_chat(server: Any, oracle: Any, messages: Any) -> None:
    assert chat(server, messages)["choices"][0]["prompt_token_ids"] == chat_ids(oracle, messages)


def test_streaming(server: Any, oracle: Any) -> None:
    whole = completion(server, PARAGRAPH, max_tokens=8)["choices"][0]
    request = {"model": "tiny", "prompt": PARAGRAPH, "max_tokens": 8, "temperature": 0, "return_token_ids": True}
    events = list(stream(server, "/v1/completions", request | {"stream": True}))
    choices = [event["choices"][0] for event in events if event["choices"]]
    assert "".join(choice["text"] for choice in choices) == whole["text"]
    assert len(choices) > 3
    assert choices[0]["prompt_token_ids"] == oracle(PARAGRAPH)["input_ids"]
    request = {"model": "tiny", "messages": list(CHAT), "max_tokens": 8, "temperature": 0, "stream": True}
    events = list(stream(server, "/v1/chat/completions", request))
    assert any(choice["delta"].get("content") for event in events for choice in event["choices"])


@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_tokenize_and_detokenize(server: Any, oracle: Any, add_special_tokens: bool) -> None:
    for prompt in PROMPTS:
        request = {"model": "tiny", "prompt": prompt, "add_special_tokens": add_special_tokens}
        status, answer = server.post("/v1/tokenize", request)
        assert status == 200, answer
        expected = oracle(prompt, add_special_tokens=add_special_tokens)["input_ids"]
        assert answer["tokens"] == expected
        status, answer = server.post("/v1/detokenize", {"model": "tiny", "tokens": expected})
        assert status == 200, answer
        assert answer["text"] == oracle.decode(expected, skip_special_tokens=True)


def test_stop_string(server: Any) -> None:
    free = completion(server, PARAGRAPH, max_tokens=12)["choices"][0]["text"]
    # SGLang looks at as many of the last tokens as the string has by itself: one character is in one of them.
    stop = free[len(free) // 2]
    stopped = completion(server, PARAGRAPH, max_tokens=12, stop=[stop])["choices"][0]
    assert stopped["text"] == free[: free.index(stop)]


def test_requests_at_the_same_time(server: Any, oracle: Any) -> None:
    texts = [f"{number} {PARAGRAPH[number:]}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: generate(server, text)["prompt_token_ids"], texts))
    assert answers == [oracle(text)["input_ids"] for text in texts]


def test_metrics(server: Any) -> None:
    before = server.metric("lopt_tokenization_seconds_count")
    for _ in range(3):
        generate(server, PARAGRAPH)
    assert server.metric("lopt_tokenization_seconds_count") >= before + 3
    assert 'lopt_tokenization_seconds_bucket{le="0.0002",route="native"}' in server.get("/metrics")
    assert server.metric("lopt_fallbacks_total") == 0
