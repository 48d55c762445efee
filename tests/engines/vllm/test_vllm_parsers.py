"""Every tool-call and reasoning parser of vLLM makes the same of a text over our tokenizer and over vLLM's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine

CALL = '{"name": "weather_in", "arguments": {"city": "東京 \\"é\\""}}'
OUTPUTS = (
    f"<think>\nhm, naïve\n</think>\n\n<tool_call>\n{CALL}\n</tool_call>",
    f"<tool_call>{CALL}</tool_call> and <tool_call>{CALL}</tool_call>",
    f"[TOOL_CALLS][{CALL}]",
    f"<|python_tag|>{CALL}",
    '[weather_in(city="Paris")]',
    "no call</think> at all",
)
TOOL = {"type": "function", "function": {"name": "weather_in", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module")
def tokenizers(model: Path) -> tuple[Any, Any]:
    from vllm.tokenizers import get_tokenizer

    from lopt_plugin.engines.vllm import plugin as engine

    engine.register()
    return get_tokenizer(model, tokenizer_mode="lopt"), get_tokenizer(model, tokenizer_mode="hf")


def request() -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="tiny", messages=[{"role": "user", "content": "a"}], tools=[TOOL])


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def tool_calls(parser_class: Any, tokenizer: Any, output: str) -> Any:
    parser = parser_class(tokenizer, request().tools)
    found = parser.extract_tool_calls(output, request())
    calls = [(call.function.name, call.function.arguments) for call in found.tool_calls]
    return found.tools_called, found.content, calls


def test_tool_parsers(tokenizers: tuple[Any, Any]) -> None:
    from vllm.tool_parsers import ToolParserManager

    called = 0
    for name in ToolParserManager.list_registered():
        parser_class = ToolParserManager.get_tool_parser(name)
        for output in OUTPUTS:
            ours, theirs = (
                outcome(lambda t=each, p=parser_class, o=output: tool_calls(p, t, o)) for each in tokenizers
            )
            assert ours == theirs, name
            called += isinstance(theirs[0], bool) and theirs[0]
    assert called > 5


def test_reasoning_parsers(tokenizers: tuple[Any, Any]) -> None:
    from vllm.reasoning import ReasoningParserManager

    found = 0
    for name in ReasoningParserManager.list_registered():
        parser_class = ReasoningParserManager.get_reasoning_parser(name)
        for output in OUTPUTS:
            ours, theirs = (
                outcome(lambda t=each, p=parser_class, o=output: list(p(t).extract_reasoning(o, request())))
                for each in tokenizers
            )
            assert ours == theirs, name
            ids = tokenizers[1].encode(output)
            ours, theirs = (
                outcome(lambda t=each, p=parser_class, i=ids: p(t).extract_content_ids(i)) for each in tokenizers
            )
            assert ours == theirs, name
            found += isinstance(theirs, list)
    assert found > 5
