"""Bad input gets the same HTTP answer with and without lopt."""

from __future__ import annotations

from typing import Any

import pytest
from engine_texts import PARAGRAPH

pytestmark = [pytest.mark.engine, pytest.mark.deep]

BAD_REQUESTS: dict[str, tuple[str, Any]] = {
    "not JSON": ("/v1/completions", b'{"model": "tiny", "prompt": '),
    "lone surrogate": ("/v1/completions", b'{"model": "tiny", "prompt": "a\\ud800b", "max_tokens": 1}'),
    "lone surrogate in a list": ("/v1/completions", b'{"model": "tiny", "prompt": ["a", "\\udfff"], "max_tokens": 1}'),
    "lone surrogate in a chat": (
        "/v1/chat/completions",
        b'{"model": "tiny", "messages": [{"role": "user", "content": "\\ud83d"}], "max_tokens": 1}',
    ),
    "lone surrogate to /tokenize": ("/tokenize", b'{"model": "tiny", "prompt": "\\udc00"}'),
    "not UTF-8": ("/tokenize", b'{"model": "tiny", "prompt": "\xff\xfe"}'),
    "no prompt": ("/v1/completions", {"prompt": None}),
    "empty prompt": ("/v1/completions", {"prompt": ""}),
    "empty list": ("/v1/completions", {"prompt": []}),
    "a number": ("/v1/completions", {"prompt": 5}),
    "an object": ("/v1/completions", {"prompt": {"a": 1}}),
    "a mixed list": ("/v1/completions", {"prompt": ["a", 1]}),
    "an id beyond the vocabulary": ("/v1/completions", {"prompt": [1, 2, 10_000_000]}),
    "a negative id": ("/v1/completions", {"prompt": [1, -2]}),
    "too many tokens": ("/v1/completions", {"prompt": PARAGRAPH * 60}),
    "too many characters": ("/v1/completions", {"prompt": "ab " * 600_000}),
    "too much to generate": ("/v1/completions", {"prompt": "a", "max_tokens": 5000}),
    "truncation beyond the model": ("/v1/completions", {"prompt": "a", "truncate_prompt_tokens": 5000}),
    "negative truncation": ("/v1/completions", {"prompt": "a", "truncate_prompt_tokens": -2}),
    "truncation to nothing": ("/v1/completions", {"prompt": "a", "truncate_prompt_tokens": 0}),
    "unknown truncation side": ("/v1/completions", {"prompt": "a", "truncation_side": "top"}),
    "no messages": ("/v1/chat/completions", {"messages": []}),
    "message without a role": ("/v1/chat/completions", {"messages": [{"content": "a"}]}),
    "broken chat template": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "a"}], "chat_template": "{% for %}"},
    ),
    "too long a chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": PARAGRAPH * 60}]}),
    "nothing to tokenize": ("/tokenize", {}),
    "a number to tokenize": ("/tokenize", {"prompt": 5}),
    "an unknown id to detokenize": ("/detokenize", {"tokens": [10_000_000]}),
    "a negative id to detokenize": ("/detokenize", {"tokens": [-1]}),
    "text to detokenize": ("/detokenize", {"tokens": "a"}),
    "unknown model": ("/v1/completions", {"model": "huge", "prompt": "a"}),
}
# vLLM accepts some of these; the answers must be equal.
ANSWERED = {"empty prompt"}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_same_answer(server: Any, hf_server: Any, name: str) -> None:
    path, body = BAD_REQUESTS[name]
    if isinstance(body, dict):
        body = {"model": "tiny"} | ({"max_tokens": 1} if path.startswith("/v1/") else {}) | body
    ours, theirs = server.post(path, body), hf_server.post(path, body)
    assert ours[0] == theirs[0], (ours, theirs)
    if theirs[0] == 200:
        assert _without_identity(ours[1]) == _without_identity(theirs[1])
    else:
        assert ours[1] == theirs[1]


def test_server_is_alive_afterwards(server: Any, oracle: Any) -> None:
    status, answer = server.post("/tokenize", {"model": "tiny", "prompt": PARAGRAPH})
    assert status == 200
    assert answer["tokens"] == oracle(PARAGRAPH)["input_ids"]


def _without_identity(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: value for key, value in answer.items() if key not in ("id", "created")}
    return answer
