"""`vllm launch render --tokenizer-mode lopt` answers as the same server with the Hugging Face tokenizer does."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hard_texts
import pytest
import tier
from engine_texts import CHAT, PARAGRAPH, PROMPTS
from required import skip_without

skip_without("vllm", "LOPT_REQUIRE_VLLM")

from vllm_process import renders  # noqa: E402  (asks which vLLM is installed)

pytestmark = [pytest.mark.engine, pytest.mark.skipif(not renders(), reason="this vLLM has no render server")]

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "render_tier"
MAX_MODEL_LEN = 4096
COMPLETIONS, CHATS = "/v1/completions/render", "/v1/chat/completions/render"
# More than this is too long for the model.
LONGEST_CHARS = 2_000
HARD_TEXTS = [
    text[:LONGEST_CHARS]
    for family in hard_texts.families()
    for text in itertools.islice(hard_texts.texts(family), tier.pick(20, hard_texts.COUNT))
    if text
]
TOOL = {
    "type": "function",
    "function": {"name": "naïve_東京", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
REQUESTS: dict[str, tuple[str, Any]] = {
    "a list": (COMPLETIONS, {"prompt": list(PROMPTS)}),
    "ids": (COMPLETIONS, {"prompt": [1, 2, 3]}),
    "lists of ids": (COMPLETIONS, {"prompt": [[1, 2, 3], [4]]}),
    "without special tokens": (COMPLETIONS, {"prompt": PARAGRAPH, "add_special_tokens": False}),
    "truncated": (COMPLETIONS, {"prompt": [PARAGRAPH, "a"], "truncate_prompt_tokens": 7}),
    "truncated right": (COMPLETIONS, {"prompt": PARAGRAPH, "truncate_prompt_tokens": 7, "truncation_side": "right"}),
    "truncated to the model": (COMPLETIONS, {"prompt": PARAGRAPH * 60, "truncate_prompt_tokens": -1}),
    "offsets": (COMPLETIONS, {"prompt": PARAGRAPH, "return_token_offsets": True}),
    "a chat": (CHATS, {"messages": list(CHAT)}),
    "a chat with tools": (CHATS, {"messages": list(CHAT), "tools": [TOOL], "tool_choice": "none"}),
    "a chat to continue": (
        CHATS,
        {"messages": list(CHAT)[:3], "add_generation_prompt": False, "continue_final_message": True},
    ),
    "offsets of a chat": (CHATS, {"messages": list(CHAT), "return_token_offsets": True}),
    "a response": ("/v1/responses/render", {"input": PARAGRAPH}),
    "messages": ("/v1/messages/render", {"messages": [{"role": "user", "content": PARAGRAPH}], "max_tokens": 3}),
    "a chat to tokenize": ("/tokenize", {"messages": list(CHAT), "return_token_strs": True}),
}
BAD_REQUESTS: dict[str, tuple[str, Any]] = {
    "not JSON": (COMPLETIONS, b'{"model": "tiny", "prompt": '),
    "lone surrogate": (COMPLETIONS, b'{"model": "tiny", "prompt": "a\\ud800b"}'),
    "lone surrogate in a list": (COMPLETIONS, b'{"model": "tiny", "prompt": ["a", "\\udfff"]}'),
    "lone surrogate in a chat": (CHATS, b'{"model": "tiny", "messages": [{"role": "user", "content": "\\ud83d"}]}'),
    "empty prompt": (COMPLETIONS, {"prompt": ""}),
    "empty list": (COMPLETIONS, {"prompt": []}),
    "a number": (COMPLETIONS, {"prompt": 5}),
    "a negative id": (COMPLETIONS, {"prompt": [1, -2]}),
    "an id beyond the vocabulary": (COMPLETIONS, {"prompt": [1, 10_000_000]}),
    "too many tokens after others": (COMPLETIONS, {"prompt": ["a", PARAGRAPH * 60, "b"]}),
    "too many characters": (COMPLETIONS, {"prompt": "ab " * 600_000}),
    "truncation beyond the model": (COMPLETIONS, {"prompt": "a", "truncate_prompt_tokens": 5000}),
    "no messages": (CHATS, {"messages": []}),
    "broken chat template": (CHATS, {"messages": list(CHAT), "chat_template": "{% for %}"}),
    "too long a chat": (CHATS, {"messages": [{"role": "user", "content": PARAGRAPH * 60}]}),
    "unknown model": (COMPLETIONS, {"model": "huge", "prompt": "a"}),
    "an unknown id to detokenize": ("/detokenize", {"tokens": [10_000_000]}),
}


@pytest.fixture(scope="module")
def render_server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running render server in mode lopt."""
    from lopt_plugin.cli.serving.vllm_server import RenderServer

    log = tmp_path_factory.mktemp("render") / "server.log"
    with RenderServer(model, log, "lopt", context_length=MAX_MODEL_LEN) as running:
        yield running


@pytest.fixture(scope="module")
def hf_app(model: Path) -> Any:
    """The same in mode hf, in this process."""
    from render_app import RenderApp

    return RenderApp(model, "hf", MAX_MODEL_LEN)


def post(server: Any, path: str, body: Any) -> tuple[int, Any]:
    status, answer = server.post(path, {"model": "tiny"} | body if isinstance(body, dict) else body)
    return status, without_identity(answer)


def without_identity(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: without_identity(value) for key, value in answer.items() if key != "request_id"}
    return [without_identity(one) for one in answer] if isinstance(answer, list) else answer


def ids_of(server: Any, path: str, body: dict[str, Any]) -> list[list[int]]:
    status, answer = post(server, path, body)
    assert status == 200, answer
    rows = answer if isinstance(answer, list) else [answer]
    return [row["tokens" if path == "/tokenize" else "token_ids"] for row in rows]


def test_hard_texts(render_server: Any, oracle: Any) -> None:
    texts = [*PROMPTS, *HARD_TEXTS]
    expected = oracle(texts)["input_ids"]
    assert [ids_of(render_server, COMPLETIONS, {"prompt": text})[0] for text in texts] == expected
    # As one list they are a batch.
    assert ids_of(render_server, COMPLETIONS, {"prompt": texts}) == expected


def test_hard_texts_in_chats(render_server: Any, oracle: Any) -> None:
    for text in [*PROMPTS, *HARD_TEXTS[:: tier.pick(5, 1)]]:
        messages = [{"role": "user", "content": text}]
        rendered = oracle.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        expected = oracle(rendered, add_special_tokens=False)["input_ids"]
        assert ids_of(render_server, CHATS, {"messages": messages}) == [expected]


@pytest.mark.parametrize("name", REQUESTS)
def test_same_answer(render_server: Any, hf_app: Any, name: str) -> None:
    ours, theirs = (post(server, *REQUESTS[name]) for server in (render_server, hf_app))
    assert theirs[0] == 200, theirs
    assert ours == theirs


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_same_error(render_server: Any, hf_app: Any, name: str) -> None:
    ours, theirs = (post(server, *BAD_REQUESTS[name]) for server in (render_server, hf_app))
    assert ours == theirs


def test_tokenize_and_detokenize(render_server: Any, oracle: Any) -> None:
    for prompt in PROMPTS:
        expected = oracle(prompt)["input_ids"]
        status, answer = render_server.post("/tokenize", {"model": "tiny", "prompt": prompt, "return_token_strs": True})
        assert (status, answer["tokens"]) == (200, expected)
        assert answer["token_strs"] == oracle.convert_ids_to_tokens(expected)
        status, answer = render_server.post("/detokenize", {"model": "tiny", "tokens": expected})
        assert (status, answer["prompt"]) == (200, oracle.decode(expected))


def test_requests_at_once(render_server: Any, oracle: Any) -> None:
    rng = random.Random(7)
    # Short ones are tokenized on the event loop, longer ones in threads.
    texts = ["".join(rng.choices(PARAGRAPH, k=rng.randint(20, 600))) + PARAGRAPH * (k % 3 * 8) for k in range(60)]
    limits = [rng.choice([None, 5, 50]) for _ in texts]

    def rendered(text: str, limit: int | None) -> list[int]:
        return ids_of(render_server, COMPLETIONS, {"prompt": text, "truncate_prompt_tokens": limit})[0]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(rendered, texts, limits))
    expected = oracle(texts)["input_ids"]
    # vLLM truncates the prompts of generating models on the left.
    assert found == [ids if limit is None else ids[-limit:] for ids, limit in zip(expected, limits, strict=True)]


def test_a_rendered_prompt_can_be_generated(render_server: Any, server: Any) -> None:
    request = {"model": "tiny", "prompt": list(PROMPTS[:3]), "max_tokens": 12, "temperature": 0}
    status, rendered = render_server.post(COMPLETIONS, request)
    assert status == 200, rendered
    generated = []
    for one in rendered:
        status, answer = server.post("/inference/v1/generate", one)
        assert status == 200, answer
        generated.append(answer)
    prompts = [one["token_ids"] for one in rendered]
    body = {"model": "tiny", "generate_responses": generated, "prompt_token_ids": prompts}
    status, derendered = render_server.post("/v1/completions/derender", body)
    assert status == 200, derendered
    status, expected = server.post("/v1/completions", {**request, "return_token_ids": True})
    assert status == 200, expected
    assert prompts == [choice["prompt_token_ids"] for choice in expected["choices"]]
    for choice, whole, answer in zip(derendered["choices"], expected["choices"], generated, strict=True):
        assert answer["choices"][0]["token_ids"] == whole["token_ids"]
        assert choice["text"] == whole["text"]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_server_with_an_engine_renders_as_well(server: Any, hf_app: Any, name: str) -> None:
    # Its other options change what would be generated, not the ids.
    assert ids_of(server, *REQUESTS[name]) == ids_of(hf_app, *REQUESTS[name])


def test_the_arguments_of_the_example_are_vllms() -> None:
    import yaml
    from vllm.entrypoints.cli.launch import LaunchSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    entry_point = re.findall(r"^ENTRYPOINT (.+)$", (EXAMPLE / "Dockerfile").read_text(), re.MULTILINE)[0]
    deployment = next(yaml.safe_load_all((EXAMPLE / "render.yaml").read_text()))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    program, *arguments = json.loads(entry_point) + container["args"]
    parser = FlexibleArgumentParser()
    LaunchSubcommand().subparser_init(parser.add_subparsers())
    parsed = parser.parse_args(arguments)
    assert (program, parsed.tokenizer_mode, parsed.port) == ("vllm", "lopt", 8100)
    assert parsed.model_tag == container["args"][0]


def test_metrics(render_server: Any) -> None:
    before = render_server.metric("lopt_tokenization_seconds_count")
    ids_of(render_server, COMPLETIONS, {"prompt": "a text that comes once"})
    assert render_server.metric("lopt_tokenization_seconds_count") == before + 1


def test_log_says_what_is_active(render_server: Any) -> None:
    said = render_server.log_lines("lopt_plugin")
    assert [line for line in said if "takes the native route" in line]
    assert not [line for line in said if "ERROR" in line or "WARNING" in line]
