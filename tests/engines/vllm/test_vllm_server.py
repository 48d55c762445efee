"""The ids that the real vLLM server works with in mode lopt are Hugging Face's, whatever the request."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from engine_texts import CHAT, PARAGRAPH, PROMPTS
from events import stream
from tokenizers.decoders import DecodeStream
from vllm_process import API_SERVERS

pytestmark = pytest.mark.engine

# Else what a model writes is taken for its thoughts.
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


def completion(server: Any, **request: Any) -> Any:
    body = {"model": "tiny", "max_tokens": 1, "temperature": 0, "return_token_ids": True} | request
    status, answer = server.post("/v1/completions", body)
    assert status == 200, answer
    return answer


def test_log_says_what_is_active(server: Any) -> None:
    lines = server.log_lines("takes the native route")
    in_api_servers = [line for line in lines if "apiserver" in line.lower()]
    assert len(in_api_servers) == API_SERVERS, lines
    for line in in_api_servers:
        assert "tokenizers " in line
        assert "vLLM 0." in line


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_one_prompt(server: Any, oracle: Any, prompt: str) -> None:
    answer = completion(server, prompt=prompt)
    assert answer["choices"][0]["prompt_token_ids"] == oracle(prompt)["input_ids"]


def test_list_of_prompts(server: Any, oracle: Any) -> None:
    answer = completion(server, prompt=list(PROMPTS))
    assert [c["prompt_token_ids"] for c in answer["choices"]] == oracle(list(PROMPTS))["input_ids"]


def test_token_ids_as_prompt(server: Any, oracle: Any) -> None:
    ids = oracle(PARAGRAPH)["input_ids"]
    assert completion(server, prompt=ids)["choices"][0]["prompt_token_ids"] == ids
    answer = completion(server, prompt=[ids, ids[:3]])
    assert [c["prompt_token_ids"] for c in answer["choices"]] == [ids, ids[:3]]


def test_add_special_tokens(server: Any, oracle: Any) -> None:
    for add in (True, False):
        answer = completion(server, prompt=PARAGRAPH, add_special_tokens=add)
        expected = oracle(PARAGRAPH, add_special_tokens=add)["input_ids"]
        assert answer["choices"][0]["prompt_token_ids"] == expected


def test_echo_and_logprobs(server: Any, oracle: Any) -> None:
    prompt = "The quick brown fox, 東京"
    # With return_token_ids, vLLM does not echo.
    choice = completion(server, prompt=prompt, echo=True, logprobs=1, return_token_ids=False)["choices"][0]
    ids = oracle(prompt)["input_ids"]
    assert choice["text"].startswith(prompt)
    tokens = choice["logprobs"]["tokens"]
    assert len(tokens) == len(ids) + 1
    assert "".join(tokens[:-1]) == prompt
    choice = completion(server, prompt=prompt, prompt_logprobs=0)["choices"][0]
    assert [int(next(iter(p))) for p in choice["prompt_logprobs"][1:]] == ids[1:]


def test_chat(server: Any, oracle: Any) -> None:
    request = {"model": "tiny", "messages": list(CHAT), "max_tokens": 1, "temperature": 0, "return_token_ids": True}
    status, answer = server.post("/v1/chat/completions", request)
    assert status == 200, answer
    text = oracle.apply_chat_template(list(CHAT), tokenize=False, add_generation_prompt=True)
    assert answer["prompt_token_ids"] == oracle(text, add_special_tokens=False)["input_ids"]


def test_streaming(server: Any, oracle: Any) -> None:
    request = {"model": "tiny", "prompt": PARAGRAPH, "max_tokens": 40, "temperature": 1, "seed": 4}
    request |= {"return_token_ids": True}
    whole = completion(server, **request)["choices"][0]
    events = list(stream(server, "/v1/completions", request | {"stream": True}))
    assert "".join(event["choices"][0]["text"] for event in events) == whole["text"]
    assert events[0]["choices"][0]["prompt_token_ids"] == oracle(PARAGRAPH)["input_ids"]
    assert [i for event in events for i in event["choices"][0]["token_ids"]] == whole["token_ids"]
    decoder = DecodeStream(ids=events[0]["choices"][0]["prompt_token_ids"], skip_special_tokens=True)
    for choice in (event["choices"][0] for event in events):
        parts = [decoder.step(oracle.backend_tokenizer, i) or "" for i in choice["token_ids"]]
        assert "".join(parts) == choice["text"]
    request = {"model": "tiny", "messages": list(CHAT), "max_tokens": 8, "temperature": 0, "stream": True} | NO_THINKING
    events = list(stream(server, "/v1/chat/completions", request))
    assert any(event["choices"][0]["delta"].get("content") for event in events)


@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_tokenize_and_detokenize(server: Any, oracle: Any, add_special_tokens: bool) -> None:
    for prompt in PROMPTS:
        request = {
            "model": "tiny",
            "prompt": prompt,
            "add_special_tokens": add_special_tokens,
            "return_token_strs": True,
        }
        status, answer = server.post("/tokenize", request)
        assert status == 200, answer
        expected = oracle(prompt, add_special_tokens=add_special_tokens)["input_ids"]
        assert answer["tokens"] == expected
        assert answer["count"] == len(expected)
        assert answer["token_strs"] == oracle.convert_ids_to_tokens(expected)
        status, answer = server.post("/detokenize", {"model": "tiny", "tokens": expected})
        assert status == 200, answer
        assert answer["prompt"] == oracle.decode(expected)


def test_tokenize_chat(server: Any, oracle: Any) -> None:
    status, answer = server.post("/tokenize", {"model": "tiny", "messages": list(CHAT)})
    assert status == 200, answer
    text = oracle.apply_chat_template(list(CHAT), tokenize=False, add_generation_prompt=True)
    assert answer["tokens"] == oracle(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("side", [None, "left", "right"])
@pytest.mark.parametrize("limit", [1, 7, 50, 4000])
def test_truncation(server: Any, oracle: Any, side: str | None, limit: int) -> None:
    prompt = PARAGRAPH * 3
    answer = completion(server, prompt=prompt, truncate_prompt_tokens=limit, truncation_side=side)
    ids = oracle(prompt)["input_ids"]
    # vLLM loads the tokenizers of generating models with truncation_side="left".
    expected = ids[:limit] if side == "right" else ids[-limit:]
    assert answer["choices"][0]["prompt_token_ids"] == expected


def test_truncation_to_the_model(server: Any, oracle: Any) -> None:
    prompt = PARAGRAPH * 60
    answer = completion(server, prompt=prompt, truncate_prompt_tokens=-1)
    given = answer["choices"][0]["prompt_token_ids"]
    ids = oracle(prompt)["input_ids"]
    assert 1000 < len(given) < len(ids)
    assert given == ids[-len(given) :]


def test_stop_strings_and_bad_words(server: Any, oracle: Any) -> None:
    # At temperature 0 the random model repeats one token.
    sampling = {"prompt": PARAGRAPH, "max_tokens": 12, "temperature": 1, "seed": 3}
    choice = completion(server, **sampling)["choices"][0]
    free = choice["text"]
    stop = free[len(free) // 2 :][:3]
    stopped = completion(server, **sampling, stop=[stop])["choices"][0]
    assert stopped["text"] == free[: free.index(stop)]
    # A word is banned for certain only where it is one token without a space before it.
    banned = next(i for i in choice["token_ids"] if oracle.decode([i]).isalpha())
    others = completion(server, **sampling, bad_words=[oracle.decode([banned])])["choices"][0]
    assert banned not in others["token_ids"]


def test_structured_output_by_xgrammar(server: Any) -> None:
    choices = ["Tolstoy", "Kutúzov 1812", "東京"]
    request = {"prompt": PARAGRAPH, "max_tokens": 30, "structured_outputs": {"choice": choices}}
    assert completion(server, **request)["choices"][0]["text"] in choices
    schema = {
        "type": "object",
        "properties": {"name": {"enum": choices}, "ok": {"type": "boolean"}},
        "required": ["name", "ok"],
        "additionalProperties": False,
    }
    request = {
        "model": "tiny",
        "messages": list(CHAT),
        "max_tokens": 60,
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    } | NO_THINKING
    status, answer = server.post("/v1/chat/completions", request)
    assert status == 200, answer
    parsed = json.loads(answer["choices"][0]["message"]["content"])
    assert parsed["name"] in choices
    assert parsed["ok"] in (True, False)


def test_concurrent_requests_with_changing_truncation(server: Any, oracle: Any) -> None:
    rng = random.Random(5)
    # Short ones are tokenized on the event loop, longer ones in threads.
    ends = ("", PARAGRAPH * 15, "")
    texts = ["".join(rng.choices(PARAGRAPH, k=rng.randint(20, 600))) + ends[k % 3] for k in range(120)]
    expected = [oracle(text)["input_ids"] for text in texts]
    stop = threading.Event()
    truncated: list[bool] = []

    def keep_truncating() -> None:
        limit = 0
        while not stop.is_set():
            limit = limit % 40 + 1
            answer = completion(server, prompt=PARAGRAPH, truncate_prompt_tokens=limit)
            ids = oracle_ids[-limit:]
            truncated.append(answer["choices"][0]["prompt_token_ids"] == ids)

    def tokenize(text: str) -> list[int]:
        status, answer = server.post("/tokenize", {"model": "tiny", "prompt": text})
        assert status == 200, answer
        return list(answer["tokens"])

    def complete(text: str) -> list[int]:
        return list(completion(server, prompt=text)["choices"][0]["prompt_token_ids"])

    oracle_ids = oracle(PARAGRAPH)["input_ids"]
    changing = threading.Thread(target=keep_truncating)
    changing.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            tokenized = list(pool.map(tokenize, texts))
            completed = list(pool.map(complete, texts))
    finally:
        stop.set()
        changing.join()
    assert tokenized == expected
    assert completed == expected
    assert truncated
    assert all(truncated)


def test_nothing_fell_back(server: Any) -> None:
    # The last test, so that it covers all requests above.
    said = server.log_lines("lopt_plugin")
    assert said
    assert not [line for line in said if "ERROR" in line or "WARNING" in line]
