"""LoptRenderer renders what vLLM's own renderer does over the Hugging Face tokenizer, errors included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_texts import CHAT, MANY_PROMPTS, PARAGRAPH, PROMPTS
from packaging.version import Version

pytestmark = pytest.mark.engine

LONG = PARAGRAPH * 20
LISTS: dict[str, list[Any]] = {
    "one": [LONG],
    "prompts": list(PROMPTS),
    "many": list(MANY_PROMPTS),
    "one twice": [PARAGRAPH, PARAGRAPH],
    "none": [],
    "empty texts": ["", "a", ""],
    "dicts": [{"prompt": "a b"}, {"prompt": "c", "cache_salt": "x"}, {"prompt_token_ids": [1, 2]}, "d"],
    "ids": [[1, 2, 3], [4]],
    "too many tokens after others": ["a", PARAGRAPH * 60, "b"],
    "too many characters after others": ["a", "ab " * 200_000, PARAGRAPH * 60],
    "lone surrogate after others": ["a", "\ud800", PARAGRAPH * 60],
    "a number": ["a", 5, "b"],
    "a number as text": ["a", {"prompt": 5}, "b"],
}
PARAMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without special tokens": {"add_special_tokens": False},
    "truncated": {"truncate_prompt_tokens": 3},
    "truncated left": {"truncate_prompt_tokens": 3, "truncation_side": "left"},
    "truncated right": {"truncate_prompt_tokens": 3, "truncation_side": "right"},
    "truncated to the model": {"truncate_prompt_tokens": -1},
    "truncated to nothing": {"truncate_prompt_tokens": 0},
    "padded": {"pad_prompt_tokens": 30},
    "lower case": {"do_lower_case": True},
    "offsets": {"return_token_offsets": True},
}


@pytest.fixture(scope="module")
def renderers(model: Path) -> tuple[Any, Any]:
    """Ours, and vLLM's over the tokenizer of its mode hf."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.renderers.hf import HfRenderer
    from vllm.tokenizers import get_tokenizer

    from lopt_plugin.engines.vllm import plugin
    from lopt_plugin.engines.vllm.renderer import LoptRenderer

    plugin.register()
    config = EngineArgs(model=str(model), max_model_len=4096, tokenizer_mode="lopt").create_engine_config()
    ours = LoptRenderer(config, get_tokenizer(model, tokenizer_mode="lopt"))
    return ours, HfRenderer(config, get_tokenizer(model, tokenizer_mode="hf"))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    return [{key: value for key, value in one.items() if key != "arrival_time"} for one in found]


def rendered(renderer: Any, prompts: list[Any], given: dict[str, Any], mode: str) -> Any:
    from vllm.renderers.inputs.preprocess import parse_model_prompt

    def call() -> Any:
        params = replace(renderer.default_cmpl_tok_params, **given)
        copies = [dict(prompt) if isinstance(prompt, dict) else prompt for prompt in prompts]
        parsed = [parse_model_prompt(renderer.model_config, prompt) for prompt in copies]
        if mode == "async":
            return asyncio.run(renderer.render_cmpl_async(parsed, params))
        return renderer.render_cmpl(parsed, params)

    return outcome(call)


def known(given: dict[str, Any]) -> bool:
    """Whether this vLLM has these parameters."""
    from vllm.renderers.params import TokenizeParams

    return given.keys() <= {field.name for field in fields(TokenizeParams)}


def skip_before_032(reason: str) -> None:
    """Later versions must not lose in silence what is compared here."""
    import vllm

    if Version(vllm.__version__) >= Version("0.32"):
        pytest.fail(f"this vLLM {reason}")
    pytest.skip(f"this vLLM {reason}")


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("name", LISTS)
def test_completions(renderers: tuple[Any, Any], name: str, params: str, mode: str) -> None:
    if not known(PARAMS[params]):
        skip_before_032("has no such parameter")
    ours, theirs = (rendered(renderer, LISTS[name], PARAMS[params], mode) for renderer in renderers)
    assert ours == theirs
    assert isinstance(theirs, list) or name not in ("one", "prompts", "many")


def test_a_callers_dicts_stay_as_they_are(renderers: tuple[Any, Any]) -> None:
    ours, _ = renderers
    prompts = [{"prompt": text} for text in PROMPTS]
    ours.render_cmpl(prompts)
    assert prompts == [{"prompt": text} for text in PROMPTS]


def test_chat(renderers: tuple[Any, Any]) -> None:
    from vllm.renderers.params import ChatParams

    said = []
    for renderer in renderers:
        _, prompts = renderer.render_chat([list(CHAT), list(CHAT)[:1]], ChatParams())
        said.append(outcome(lambda prompts=prompts: prompts))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [0],
        [1, 151_679],
        [1, 151_680],
        [-1, 5],
        [5, 1 << 70],
        [-(1 << 70)],
        [True, 2],
        (1, 2),
        (1, -2),
        [1.0],
        [1.5],
    ],
    ids=repr,
)
def test_validation_of_ids(renderers: tuple[Any, Any], ids: Any) -> None:
    if not hasattr(renderers[1], "validate_token_ids"):
        skip_before_032("validates no ids")
    ours, theirs = (outcome(lambda r=renderer: r.validate_token_ids(ids) or []) for renderer in renderers)
    assert ours == theirs


def test_the_path_of_llm_generate(renderers: tuple[Any, Any], oracle: Any) -> None:
    from lopt_plugin.engines.vllm.renderer import with_prefetcher

    ours, _ = renderers
    prompts = [*MANY_PROMPTS, {"prompt": PARAGRAPH}, [3, 4], "x" * 300_000, *PROMPTS]
    prefetched, _ = with_prefetcher(prompts)
    assert len(prefetched) == len(prompts)
    assert prefetched[3]["prompt"] == prompts[3]
    assert with_prefetcher([3, 4]) == ([3, 4], None)
    before = ours.tokenizer.lopt._runner.native_calls
    found = []
    for prompt in prefetched:
        parsed = {"prompt_token_ids": prompt} if isinstance(prompt, list) else prompt
        if len(parsed.get("prompt", "")) < 300_000:
            found.append(ours.render_cmpl([parsed])[0]["prompt_token_ids"])
    texts = [*MANY_PROMPTS, PARAGRAPH, *PROMPTS]
    expected = oracle(texts)["input_ids"]
    assert found == [*expected[: len(MANY_PROMPTS) + 1], [3, 4], *expected[len(MANY_PROMPTS) + 1 :]]
    # Each text once, and the one that is too long not at all.
    assert ours.tokenizer.lopt._runner.native_calls == before + len(texts)


def test_prompts_skipped_or_requested_with_other_arguments(renderers: tuple[Any, Any], oracle: Any) -> None:
    from lopt_plugin.engines.prefetch import TextPrefetcher

    ours, _ = renderers
    tokenizer = ours.tokenizer
    texts = list(MANY_PROMPTS)
    expected = oracle(texts)["input_ids"]
    prefetched = TextPrefetcher(texts)
    limit = {"truncation": True, "max_length": 4097}
    # Some are left out. Then the arguments change, after the next batch was started.
    for index in (0, 1, 17, 85):
        assert prefetched.take(index, texts[index], tokenizer, limit) == expected[index]
        assert prefetched.take(index, texts[index], tokenizer, limit) is None
    prefetched = TextPrefetcher(texts)
    assert prefetched.take(0, texts[0], tokenizer, limit) == expected[0]
    cut = {"truncation": True, "max_length": 2}
    assert prefetched.take(1, texts[1], tokenizer, cut) is None
    # Without a limit, and so with a warning for a long text, they are one batch.
    prefetched = TextPrefetcher(texts)
    assert prefetched.take(0, texts[0], tokenizer, {}) == expected[0]


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_batches(renderers: tuple[Any, Any], oracle: Any, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    from lopt_plugin.engines import prefetch

    monkeypatch.setattr(prefetch, "BATCH_TEXTS", batch)
    tokenizer = renderers[0].tokenizer
    texts = [*MANY_PROMPTS[:40], "x" * 300_000, *MANY_PROMPTS[40:60]]
    expected = oracle(texts)["input_ids"]
    limit = {"truncation": True, "max_length": 4097}
    prefetched = prefetch.TextPrefetcher(texts)
    for index in (0, 1, 3, 20, 22, 39, 40, 41, 50, 60):
        ids = prefetched.take(index, texts[index], tokenizer, limit)
        assert ids in (expected[index], None)
        # Alone in its batch, or too long to go with the others.
        assert ids is not None or batch == 1 or index in (40, 60)
    # The arguments change after a batch was started with others.
    prefetched = prefetch.TextPrefetcher(texts)
    assert prefetched.take(0, texts[0], tokenizer, limit) in (expected[0], None)
    cut = {"truncation": True, "max_length": 2}
    assert prefetched.take(batch, texts[batch], tokenizer, cut) in (expected[batch][-2:], None)
    assert prefetched.take(50, texts[50], tokenizer, cut) in (expected[50][-2:], None)


def test_a_short_text_waits_for_no_thread(renderers: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _ = renderers
    asked: list[str] = []
    in_pool = ours._tokenize_prompt_in_pool

    def noted(prompt: Any, params: Any) -> Any:
        asked.append(prompt["prompt"])
        return in_pool(prompt, params)

    monkeypatch.setattr(ours, "_tokenize_prompt_in_pool", noted)
    for prompt in (PARAGRAPH, PARAGRAPH * 60, "a\ud800"):
        for params in PARAMS:
            found, expected = (rendered(renderer, [prompt], PARAMS[params], "async") for renderer in renderers)
            assert found == expected
    # Where offsets are asked for, or no ids at all; the long one; the one that is Hugging Face's to refuse.
    assert asked.count(PARAGRAPH) == 1 + known(PARAMS["offsets"])
    assert PARAGRAPH * 60 in asked
    assert "a\ud800" in asked


def test_a_processor_that_adds_tokens_changes_no_short_text(renderers: tuple[Any, Any]) -> None:
    import copy

    from lopt_plugin.engines.vllm.renderer import LoptRenderer
    from lopt_plugin.engines.vllm.tokenizer import freeze_calls

    ours, theirs = renderers
    changed = copy.deepcopy(ours.tokenizer)
    freeze_calls(changed)
    changed.add_tokens(["speaker", "July"])
    renderer = LoptRenderer(ours.config, changed)
    assert renderer._ids_on_event_loop(PARAGRAPH, renderer.default_cmpl_tok_params) is not None
    assert rendered(renderer, [PARAGRAPH], {}, "async") == rendered(theirs, [PARAGRAPH], {}, "async")


def test_an_unknown_renderer_is_left_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from lopt_plugin.engines.vllm import plugin
    from lopt_plugin.engines.vllm.ledger import TOKENIZE_PROMPT

    later = TOKENIZE_PROMPT._replace(parameters=("self", "something_else"))
    monkeypatch.setattr(plugin.ledger, "RENDERER_METHODS", (later,))
    monkeypatch.setattr(plugin.logger, "propagate", True)
    with caplog.at_level("WARNING"):
        assert plugin._our_renderer(pytest.fail, None, SimpleNamespace(lopt=None)) is None
    assert "_tokenize_prompt has the parameters" in caplog.text


@pytest.mark.parametrize("fault", ["another prompt", "an error"])
def test_a_later_renderer_of_vllm_is_used_itself(
    renderers: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    from vllm.renderers.base import BaseRenderer
    from vllm.renderers.registry import RENDERER_REGISTRY

    from lopt_plugin.engines.vllm import plugin

    ours, _ = renderers
    tokenize = BaseRenderer._tokenize_prompt

    def with_more(self: Any, prompt: Any, params: Any) -> Any:
        if fault == "an error":
            raise RuntimeError(fault)
        return {**tokenize(self, prompt, params), "of a later version": 1}

    monkeypatch.setattr(BaseRenderer, "_tokenize_prompt", with_more)
    monkeypatch.setattr(plugin.logger, "propagate", True)
    with caplog.at_level("WARNING"):
        renderer = RENDERER_REGISTRY.load_renderer("lopt", ours.config, ours.tokenizer)
    assert type(renderer).__name__ == "HfRenderer"
    assert "using vLLM's own renderer" in caplog.text


def test_a_class_with_a_call_of_its_own(renderers: tuple[Any, Any], model: Path) -> None:
    from vllm.renderers.hf import HfRenderer
    from vllm.tokenizers import get_tokenizer

    from lopt_plugin import accelerate
    from lopt_plugin.engines.vllm.renderer import LoptRenderer

    ours, _ = renderers
    theirs = get_tokenizer(model, tokenizer_mode="hf")

    class Shouting(type(theirs)):  # type: ignore[misc]
        def __call__(self, text: Any, **kwargs: Any) -> Any:
            return super().__call__(text.upper() if isinstance(text, str) else text, **kwargs)

    theirs.__class__ = Shouting
    both = LoptRenderer(ours.config, accelerate(theirs)), HfRenderer(ours.config, theirs)
    for mode in ("sync", "async"):
        for prompts in (["a text"], list(PROMPTS)):
            found, expected = (rendered(renderer, prompts, {}, mode) for renderer in both)
            assert found == expected


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_renderer_is_an_option(renderers: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    from vllm.renderers.registry import RENDERER_REGISTRY

    ours, _ = renderers
    monkeypatch.setenv("LOPT_RENDERER", value)
    renderer = RENDERER_REGISTRY.load_renderer("lopt", ours.config, ours.tokenizer)
    assert type(renderer).__name__ == ("LoptRenderer" if value == "1" else "HfRenderer")
