"""Requests of the SGLang tests, which ask for the ids that the server worked with."""

from __future__ import annotations

from typing import Any


def completion(server: Any, prompt: Any, **request: Any) -> Any:
    """The answer of /v1/completions."""
    body = {"model": "tiny", "prompt": prompt, "max_tokens": 1, "temperature": 0, "return_token_ids": True} | request
    return _answer(server, "/v1/completions", body)


def generate(server: Any, text: Any, **request: Any) -> Any:
    """The answer of /generate, SGLang's own."""
    body = {
        "text": text,
        "sampling_params": {"max_new_tokens": 1, "temperature": 0},
        "return_prompt_token_ids": True,
    } | request
    return _answer(server, "/generate", body)


def chat(server: Any, messages: Any, **request: Any) -> Any:
    """The answer of /v1/chat/completions."""
    body = {
        "model": "tiny",
        "messages": list(messages),
        "max_tokens": 1,
        "temperature": 0,
        "return_prompt_token_ids": True,
    } | request
    return _answer(server, "/v1/chat/completions", body)


def chat_ids(oracle: Any, messages: Any) -> list[int]:
    """What the ids of a chat have to be."""
    text = oracle.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
    ids: list[int] = oracle(text, add_special_tokens=False)["input_ids"]
    return ids


def _answer(server: Any, path: str, body: dict[str, Any]) -> Any:
    status, answer = server.post(path, body)
    assert status == 200, answer
    return answer
