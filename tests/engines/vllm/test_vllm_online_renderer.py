"""OnlineRenderer in the process of a router, such as Ray Serve's ingress: ids and errors are those of the mode hf."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import hard_texts
import pytest
import tier
from engine_texts import CHAT, PARAGRAPH, PROMPTS
from required import skip_without

skip_without("vllm", "LOPT_REQUIRE_VLLM")

from vllm_process import renders  # noqa: E402  (asks which vLLM is installed)

pytestmark = [pytest.mark.engine, pytest.mark.skipif(not renders(), reason="this vLLM has no OnlineRenderer")]

HARD_TEXTS = [
    text
    for family in hard_texts.families()
    for text in itertools.islice(hard_texts.texts(family), tier.pick(20, hard_texts.COUNT))
]
TEXTS = [*PROMPTS, *HARD_TEXTS, PARAGRAPH * 60, "a\ud800b"]
CHATS = [list(CHAT), *([{"role": "user", "content": text}] for text in TEXTS)]


@pytest.fixture(scope="module")
def renderers(model: Path) -> list[Any]:
    """That of the mode lopt, and that of the mode hf."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.renderers import renderer_from_config
    from vllm.renderers.online_renderer import OnlineRenderer

    def renderer(mode: str) -> Any:
        config = AsyncEngineArgs(model=str(model), max_model_len=4096, tokenizer_mode=mode).create_engine_config()
        return OnlineRenderer(
            config.model_config,
            renderer_from_config(config),
            request_logger=None,
            chat_template=None,
            chat_template_content_format="auto",
        )

    return [renderer("lopt"), renderer("hf")]


def rendered(calls: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The ids that each call gives, or its error; all run at once."""

    async def gathered() -> list[Any]:
        return await asyncio.gather(*calls, return_exceptions=True)

    def outcome(found: Any) -> Any:
        if isinstance(found, Exception):
            return type(found), str(found)
        return [one["prompt_token_ids"] for one in found]

    return [outcome(found) for found in asyncio.run(gathered())]


def test_completions(renderers: list[Any], oracle: Any) -> None:
    from vllm.entrypoints.serve.tokenize.protocol import TokenizeCompletionRequest

    def calls(renderer: Any) -> list[Coroutine[Any, Any, Any]]:
        requests = [TokenizeCompletionRequest.model_construct(prompt=text) for text in TEXTS]
        return [renderer.preprocess_completion(one, one.prompt, None, skip_mm_cache=True) for one in requests]

    ours, theirs = (rendered(calls(renderer)) for renderer in renderers)
    assert ours == theirs
    assert ours[: len(PROMPTS)] == [[ids] for ids in oracle(list(PROMPTS))["input_ids"]]
    assert [isinstance(found, tuple) for found in ours].index(True) == len(TEXTS) - 1


def test_chats(renderers: list[Any]) -> None:
    from vllm.entrypoints.serve.tokenize.protocol import TokenizeChatRequest

    async def chat(renderer: Any, messages: list[Any]) -> Any:
        request = TokenizeChatRequest.model_construct(messages=messages)
        return (await renderer.preprocess_chat(request, messages, None, "auto", None, skip_mm_cache=True))[1]

    ours, theirs = (rendered([chat(renderer, messages) for messages in CHATS]) for renderer in renderers)
    assert ours == theirs
    assert [isinstance(found, tuple) for found in ours].index(True) == len(CHATS) - 1


def test_the_renderer_is_ours(renderers: list[Any]) -> None:
    names = [type(renderer.renderer).__name__ for renderer in renderers]
    assert names == ["LoptRenderer", "HfRenderer"]
    assert renderers[0].renderer.tokenizer.lopt._runner.native_calls >= 2 * len(PROMPTS)
