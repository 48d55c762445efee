"""Registration with SGLang: what is accelerated, what is left alone, and that every fallback is logged."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import corpus
import pytest
import tier
from required import module_or_skip

from lopt_plugin.cli.serving import tiny_model
from lopt_plugin.engines.sglang import ledger, plugin, prefetch, request_ids, tokenizer as sglang_tokenizer
from lopt_plugin.engines.sglang.prefetch import PromptPrefetcher
from lopt_plugin.engines.sglang.request_ids import create_tokenized_with_array
from lopt_plugin.settings import Settings

TEXT = "It's 12,345.67 — naïve, 東京 <|im_start|>user\n\n  x"
ON_CPU = {"SGLANG_USE_CPU_ENGINE": "1"}


def run_python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # In a folder of its own: the working directory is on the path, and this one has the source tree.
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=900, cwd=folder, env=os.environ | ON_CPU | environment,
    )  # fmt: skip


def test_import_is_light(tmp_path: Path) -> None:
    done = run_python("import sys, lopt_plugin.engines.sglang.plugin; print(*sys.modules)", tmp_path)
    assert not {"torch", "sglang", "transformers", "tokenizers", "numpy"} & set(done.stdout.split())


def test_a_broken_host_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "sglang", ModuleType("sglang"))
    for name in [name for name in sys.modules if name.startswith("sglang.")]:
        monkeypatch.delitem(sys.modules, name)
    with caplog.at_level(logging.ERROR, plugin.logger.name):
        plugin.register()
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == ["register_check"]


@pytest.fixture(scope="module")
def sglang() -> Any:
    """The module, with its plugins loaded."""
    os.environ.update(ON_CPU)
    module = module_or_skip("sglang", "LOPT_REQUIRE_SGLANG")
    assert plugin.tokenizer_backend() == "lopt"
    return module


@pytest.fixture(scope="module")
def model(sglang: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    # A small tokenizer in the quick tier: it is loaded many times here, and the server's tests have a real one.
    tokenizer = json.loads(corpus.tokenizer_json(tier.pick("tiny_qwen2", "qwen3")))
    # Like Qwen's real tokenizers, it has no added tokens with flags: SGLang's handling of long chats needs that.
    flags = ("lstrip", "rstrip", "single_word", "normalized")
    tokenizer["added_tokens"] = [token for token in tokenizer["added_tokens"] if not any(map(token.get, flags))]
    return str(tiny_model.build(tmp_path_factory.mktemp("tiny"), tokenizer))


def load(model: str, backend: str, **arguments: Any) -> Any:
    from sglang.srt.utils.hf_transformers.tokenizer import get_tokenizer

    return get_tokenizer(model, tokenizer_backend=backend, **arguments)


@pytest.fixture(scope="module")
def theirs(model: str) -> Any:
    return load(model, "huggingface")


@pytest.fixture(scope="module")
def ours(model: str) -> Any:
    return load(model, "lopt")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.LogCaptureFixture]:
    """What the plugin logs, whatever SGLang has made of its loggers."""
    monkeypatch.setattr(sglang_tokenizer.acceleration, "_logged", set())
    monkeypatch.setattr(plugin.logger, "propagate", False)
    plugin.logger.addHandler(caplog.handler)
    with caplog.at_level(logging.INFO, plugin.logger.name):
        yield caplog
    plugin.logger.removeHandler(caplog.handler)


def test_entry_point_is_installed(sglang: Any) -> None:
    from importlib.metadata import entry_points

    points = entry_points(group="sglang.srt.plugins", name="lopt")
    assert [point.load() for point in points] == [plugin.register]


def test_register_is_idempotent(sglang: Any, log: pytest.LogCaptureFixture) -> None:
    from sglang.srt.plugins.hook_registry import HookRegistry

    plugin.register()
    assert {len(HookRegistry._hooks[touched.name.replace(":", ".")]) for touched in plugin._hooked} == {1}
    assert not log.records


def test_command_line_knows_the_backend(sglang: Any) -> None:
    import argparse

    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    action = next(a for a in parser._actions if "--tokenizer-backend" in a.option_strings)
    assert list(action.choices or ()).count("lopt") == 1


def test_tokenizer_is_sglang_s(ours: Any, theirs: Any) -> None:
    assert ours.lopt.explain()["route"] == "native"
    assert not hasattr(theirs, "lopt")
    assert isinstance(ours, type(theirs))
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(type(ours), attribute) == getattr(type(theirs), attribute)
    assert type(ours._tokenizer) is type(theirs._tokenizer)
    for text in (TEXT, "", " "):
        expected = theirs(text)["input_ids"]
        assert ours([text])["input_ids"] == [expected]
        assert ours.encode(text, add_special_tokens=False) == theirs.encode(text, add_special_tokens=False)
        assert type(ours([text])["input_ids"][0]) is list
    for name in ("all_special_ids", "vocab_size", "chat_template", "is_fast", "model_max_length", "init_kwargs"):
        assert getattr(ours, name) == getattr(theirs, name), name
    ids = theirs(TEXT)["input_ids"]
    arguments = {"skip_special_tokens": True, "spaces_between_special_tokens": True}
    assert ours.batch_decode([ids, ids[:3]], **arguments) == theirs.batch_decode([ids, ids[:3]], **arguments)


def test_pairs_of_cross_encoders(ours: Any, theirs: Any) -> None:
    pairs = [["What is it?", TEXT], ["", "x"]]
    got, expected = (dict(t(pairs, return_token_type_ids=True)) for t in (ours, theirs))
    assert got == expected


def test_copies_stay_accelerated(ours: Any, theirs: Any) -> None:
    expected = theirs(TEXT)["input_ids"]
    for copied in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert copied is not ours
        assert type(copied) is type(ours)
        assert copied(TEXT)["input_ids"] == expected
        assert copied.lopt.explain()["route"] == "native"


def test_tokens_added_after_loading(model: str, theirs: Any) -> None:
    changed, expected = load(model, "lopt"), copy.deepcopy(theirs)
    for tokenizer in (changed, expected):
        tokenizer.add_tokens(["naïve"])
    assert changed(TEXT)["input_ids"] == expected(TEXT)["input_ids"] != theirs(TEXT)["input_ids"]
    assert changed.lopt.explain()["route"] == "native"


def _encode_in_child(queue: Any, tokenizer: Any, text: str) -> None:
    queue.put(tokenizer([text])["input_ids"][0])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(ours: Any, theirs: Any, method: str) -> None:
    text = TEXT * 3000
    expected = theirs(text)["input_ids"]
    # With threads of ours running in this process.
    assert ours(text)["input_ids"] == expected
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_encode_in_child, args=(queue, ours, text))
    child.start()
    assert queue.get(timeout=600) == expected
    child.join(300)
    assert child.exitcode == 0


def test_one_line_says_what_is_active(model: str, log: pytest.LogCaptureFixture) -> None:
    load(model, "lopt")
    load(model, "lopt")
    load(model, "huggingface")
    messages = [record.getMessage() for record in log.records]
    assert len(messages) == 1
    for part in (model, "native route", "threads", f"process {os.getpid()}", "tokenizers ", "SGLang 0."):
        assert part in messages[0]


@pytest.mark.parametrize(
    ("name", "value", "said"), [("LOPT_ROUTE", "hf", "route is set"), ("LOPT_THREADS", "no", "LOPT_THREADS")]
)
def test_a_tokenizer_that_is_not_accelerated_stays_as_sglang_made_it(
    model: str,
    theirs: Any,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(name, value)
    tokenizer = load(model, "lopt")
    assert not hasattr(tokenizer, "lopt")
    assert type(tokenizer) is type(theirs)
    assert tokenizer.__dict__.keys() == theirs.__dict__.keys()
    assert tokenizer(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
    assert any(said in record.getMessage() and record.levelno >= logging.WARNING for record in log.records)


def test_an_engine_unlike_the_ledger_is_reported_in_one_line(
    model: str, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(model, "lopt")
    assert "differs from the versions" not in log.text
    entries = (
        ledger.GET_TOKENIZER._replace(parameters=("name", "...")),
        ledger.GET_TOKENIZER._replace(name="os:no_such"),
    )
    monkeypatch.setattr(sglang_tokenizer.acceleration, "_ledger", entries)
    load(model, "lopt")
    load(model, "lopt")
    (line,) = [record.getMessage() for record in log.records if "differs from the versions" in record.getMessage()]
    assert "get_tokenizer has the parameters ('tokenizer_name',), not ('name',)" in line
    assert "no_such" in line


def test_a_strange_tokenizer_is_left_alone(log: pytest.LogCaptureFixture) -> None:
    class Strange:
        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

        @property
        def name_or_path(self) -> str:
            raise RuntimeError("no name")

    tokenizer = Strange()
    assert sglang_tokenizer.accelerated(tokenizer) is tokenizer
    assert "Strange does not run on the tokenizers library" in log.text


def test_tokenizers_that_are_not_fast_pass(log: pytest.LogCaptureFixture) -> None:
    tokenizer = type("TiktokenTokenizer", (), {})()
    assert plugin._get_accelerated(lambda *a, **k: tokenizer, "x.json", tokenizer_backend="lopt") is tokenizer
    assert "TiktokenTokenizer does not run on the tokenizers library" in log.text
    assert plugin._get_accelerated(lambda *a, **k: None, "x", tokenizer_backend="lopt") is None


def test_processor_keeps_its_tokenizer_object(model: str, theirs: Any) -> None:
    given: list[Any] = []

    def get_processor(*args: Any, **kwargs: Any) -> Any:
        given.append(kwargs["tokenizer_backend"])
        return processor

    loaded = load(model, "huggingface")
    processor = SimpleNamespace(tokenizer=loaded)
    assert plugin._get_processor_with_accelerated(get_processor, model, tokenizer_backend="huggingface") is processor
    assert not hasattr(loaded, "lopt")
    assert plugin._get_processor_with_accelerated(get_processor, model, tokenizer_backend="lopt") is processor
    assert given == ["huggingface", "huggingface"]
    assert processor.tokenizer is loaded
    assert loaded.lopt.explain()["route"] == "native"
    assert loaded(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]


def test_real_processor(model: str, theirs: Any) -> None:
    from sglang.srt.utils.hf_transformers.processor import get_processor

    # A text model's processor is its tokenizer.
    processor = get_processor(model, tokenizer_backend="lopt")
    assert processor.lopt.explain()["route"] == "native"
    assert processor(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]


def test_long_chats_stay_with_us(ours: Any, theirs: Any) -> None:
    from sglang.srt.entrypoints.openai import parallel_prompt_encode as module

    text = f"{TEXT}\n" * 2000
    assert len(text) > 32_768
    # SGLang would encode parts of it with the Rust tokenizer of the second.
    assert module._build_plan(theirs) is not None
    assert module._build_plan(ours) is None
    # Since 0.5.23.
    in_segments = getattr(module, "encode_prompt_segments", None)
    calls = ours.lopt.explain()["calls"]["native"]
    for arguments in ({}, {"add_special_tokens": False}):
        expected = theirs.encode(text, **arguments)
        assert module.parallel_prompt_encode(ours, text, arguments) == expected
        if in_segments is not None:
            assert in_segments(ours, [text[:99], text[99:]], arguments) == expected
    assert ours.lopt.explain()["calls"]["native"] == calls + 2 + 2 * (in_segments is not None)


def manager_of(tokenizer: Any, **attributes: Any) -> Any:
    """As much of a TokenizerManager as tokenizes."""
    from sglang.srt.managers.tokenizer_manager import TokenizerManager

    manager: Any = TokenizerManager.__new__(TokenizerManager)
    manager.tokenizer = tokenizer
    manager.async_dynamic_batch_tokenizer = None
    manager.mm_processor = None
    manager.model_config = SimpleNamespace(is_embedding_gemma=False)
    manager.__dict__.update(attributes)
    return manager


def tokenized(manager: Any, texts: Any) -> Any:
    ids, type_ids = asyncio.run(manager._tokenize_texts(texts))
    assert type_ids is None
    return ids


def test_lists_of_prompts_are_one_batch(ours: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []
    encode_batch_ids = type(ours.lopt).encode_batch_ids

    def counting(self: Any, texts: Any) -> Any:
        batches.append(len(texts))
        return encode_batch_ids(self, texts)

    monkeypatch.setattr(type(ours.lopt), "encode_batch_ids", counting)
    manager = manager_of(ours)
    texts = [*(f"{number} {TEXT}" for number in range(50)), "", TEXT * 100, ""]
    ids = tokenized(manager, texts)
    assert [type(row) for row in ids] == [array] * len(texts)
    assert [row.tolist() for row in ids] == theirs(texts)["input_ids"]
    assert list(tokenized(manager, TEXT)) == theirs(TEXT)["input_ids"]
    assert [list(row) for row in tokenized(manager, [TEXT])] == theirs([TEXT])["input_ids"]
    assert batches == [len(texts)]
    # Each is memory of its own.
    del ids[0][1:]
    assert ids[1].tolist() == theirs(texts[1])["input_ids"]


def answers(manager: Any, obj: Any, **attributes: Any) -> list[Any]:
    """What a request with several prompts comes to: as `answer`, of the method's last step, gives it."""

    async def handled() -> list[Any]:
        return [one async for one in type(manager)._handle_batch_request(manager, obj, None, {})]

    manager.__dict__.update(attributes)
    return asyncio.run(handled())


class Prompts:
    """As much of a request with several prompts as is looked at before one of them is tokenized."""

    parallel_sample_num = 1
    stream = False
    return_prompt_token_ids = False
    rid = "rid"

    def __init__(self, text: Any, **attributes: Any) -> None:
        self.text = text
        self.batch_size = len(text)
        self.__dict__.update(attributes)

    def __getitem__(self, place: int) -> Any:
        return Prompts(self.text[place]) if self.batch_size else None


@pytest.fixture
def batches(ours: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Sends a list of prompts through SGLang's own `_handle_batch_request`; gives ids, by the tokenizer."""
    sent: list[Any] = []

    def send(tokenizer: Any, texts: Any, **attributes: Any) -> list[Any]:
        sent.clear()
        manager = manager_of(tokenizer, **attributes)
        manager._should_use_batch_tokenization = lambda *_: False
        manager.rid_to_state = {"rid": None}

        async def tokenize_one(obj: Any) -> Any:
            ids, _ = await manager._tokenize_texts(obj.text)
            return ids

        async def note(ids: Any) -> None:
            sent.append(ids)

        async def answer(generators: Any) -> list[Any]:
            return [row.tolist() if type(row) is array else row for row in sent]

        manager._tokenize_one_request = tokenize_one
        manager._send_one_request = note
        manager._wait_one_response = lambda *_: None
        manager._collect_batch_responses = answer
        (ids,) = answers(manager, Prompts(texts))
        return ids

    send.sent = sent  # type: ignore[attr-defined]
    yield send
    # Nothing remains in the context of the next request.
    assert prefetch._of_this_request.get() is None


def test_prompts_of_a_list_are_prefetched(
    batches: Any, ours: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    encode = type(ours)._lopt_prefetch

    def counting(self: Any, texts: Any, **kwargs: Any) -> Any:
        rows.append(len(texts))
        return encode(self, texts, **kwargs)

    monkeypatch.setattr(type(ours), "_lopt_prefetch", counting)
    same = f"{TEXT} again"
    texts = [*(f"{number} {TEXT}" for number in range(700)), "", same, same, TEXT * 100, ""]
    assert batches(ours, texts) == theirs(texts)["input_ids"]
    assert {type(ids) for ids in batches.sent} == {array}
    assert rows == [512, len(texts) - 512]
    rows.clear()
    # Nothing is prefetched for one prompt, for an empty list, or with Hugging Face's tokenizer.
    for few in ([TEXT], [TEXT], []):
        assert batches(ours, few) == [ids for text in few for ids in theirs([text])["input_ids"]]
    assert batches(theirs, texts[:9]) == theirs(texts[:9])["input_ids"]
    assert rows == []
    # A text that takes all threads goes by itself.
    texts = ["a", "b", f"{TEXT} " * 9_000, "c"]
    assert batches(ours, texts) == theirs(texts)["input_ids"]
    assert rows == [3]


def test_errors_in_a_list_of_prompts_are_the_engines_own(batches: Any, ours: Any, theirs: Any) -> None:
    for texts in (["a", "b\ud800", "c"], ["a\udfff"] * 2, ["a", None], ["a", 5]):
        said = []
        for tokenizer in (ours, theirs):
            with pytest.raises(Exception) as raised:  # noqa: PT011
                batches(tokenizer, texts)
            said.append((type(raised.value), str(raised.value), [list(ids) for ids in batches.sent]))
        assert said[0] == said[1]


def test_prompts_requested_out_of_order(ours: Any, theirs: Any) -> None:
    texts = [f"{number} {TEXT}" for number in range(20)]
    expected = theirs(texts)["input_ids"]
    prefetcher = PromptPrefetcher(texts)
    assert [prefetcher.take(text, ours) for text in texts[:3]] == expected[:3]
    # Another text, even one that is equal, is not the next one; then nothing more is given.
    assert prefetcher.take(str(texts[3].encode(), "utf-8"), ours) is None
    assert prefetcher.take(texts[3], ours) is None
    prefetcher = PromptPrefetcher(texts)
    assert prefetcher.take(texts[1], ours) is None
    prefetcher = PromptPrefetcher(texts)
    assert [prefetcher.take(text, ours) for text in texts] == expected
    assert prefetcher.take(texts[0], ours) is None
    # A tokenizer that changes between them.
    changing = copy.deepcopy(ours)
    prefetcher = PromptPrefetcher(texts)
    assert prefetcher.take(texts[0], changing) == expected[0]
    failing = PromptPrefetcher(texts)
    assert failing.take(texts[0], object()) is None
    assert failing.take(texts[1], ours) is None


def test_prompts_of_a_request_that_ended_are_dropped(ours: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def noted(texts: Any) -> Any:
        made.append(PromptPrefetcher(texts))
        return made[-1]

    monkeypatch.setattr(prefetch, "PromptPrefetcher", noted)
    texts = [f"{number} {TEXT}" for number in range(20)]

    async def refused(manager: Any, obj: Any) -> Any:
        await manager._tokenize_texts(obj.text[0])
        yield await then()

    async def given_up() -> None:
        await asyncio.sleep(60)

    async def wrong() -> None:
        raise ValueError("too long")

    async def answer() -> str:
        return "answer"

    async def run() -> None:
        nonlocal then
        manager = manager_of(ours)
        then = given_up
        task = asyncio.ensure_future(anext(prefetch.handle_batch_with_prefetch(refused, manager, Prompts(texts))))
        await asyncio.sleep(0.05)
        assert made[-1]._prefetcher._texts == tuple(texts)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert made[-1]._prefetcher._texts == ()
        then = wrong
        with pytest.raises(ValueError, match="too long"):
            await anext(prefetch.handle_batch_with_prefetch(refused, manager, Prompts(texts)))
        assert made[-1]._prefetcher._texts == ()
        then = answer
        responses = prefetch.handle_batch_with_prefetch(refused, manager, Prompts(texts))
        assert await anext(responses) == "answer"
        assert made[-1]._prefetcher._texts == ()
        await responses.aclose()
        never = prefetch.handle_batch_with_prefetch(refused, manager, Prompts(texts))
        await never.aclose()
        assert prefetch._of_this_request.get() is None

    then: Any = None
    asyncio.run(run())
    assert len(made) == 4


def test_verified_prompts_of_a_list_are_encoded_one_by_one(ours: Any) -> None:
    verifying = copy.deepcopy(ours)
    verifying.__dict__["_lopt_settings"] = Settings.read(verify=0.5)
    verifying.__dict__["_lopt_encoder"] = None
    assert prefetch._texts_one_by_one(manager_of(verifying), Prompts(["a", "b"])) is None
    assert prefetch._texts_one_by_one(manager_of(ours), Prompts(["a", "b"])) == ["a", "b"]
    with_ids = Prompts(["a", "b"], input_ids=[[1], [2]])
    assert prefetch._texts_one_by_one(manager_of(ours), with_ids) is None


def test_an_unknown_list_method_is_left_alone(
    sglang: Any, model: str, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sglang.srt.managers.tokenizer_manager import TokenizerManager
    from sglang.srt.plugins.hook_registry import HookRegistry

    async def another(self: Any, request: Any) -> None:
        pass

    monkeypatch.setattr(TokenizerManager, "_handle_batch_request", another)
    monkeypatch.setattr(plugin, "_hooked", set())
    monkeypatch.setattr(HookRegistry, "register", lambda *_: None)
    load(model, "lopt")
    assert ledger.HANDLE_BATCH not in plugin._hooked
    assert ledger.CREATE_TOKENIZED in plugin._hooked
    assert "prompts of a list one by one" in log.text


@pytest.mark.parametrize("text", [TEXT, "", " ", f"{TEXT}\n" * 9000], ids=["short", "empty", "space", "long"])
def test_one_text_becomes_an_array(ours: Any, theirs: Any, text: str) -> None:
    expected = theirs([text])["input_ids"][0]
    calls = ours.lopt.explain()["calls"]["native"]
    ids = tokenized(manager_of(ours), text)
    assert (type(ids), ids.typecode, list(ids)) == (array, "q", expected)
    assert ours.lopt.explain()["calls"]["native"] == calls + 1
    # As SGLang cuts it.
    del ids[3:]
    assert list(ids) == expected[:3]
    # And nothing of it for others, with a truncation of an earlier call or without.
    assert ours([text], truncation=True, max_length=2)["input_ids"] == [expected[:2]]
    assert list(tokenized(manager_of(ours), text)) == expected
    assert ours._tokenizer.truncation is None
    assert dict(ours([text])) == dict(theirs([text]))


def test_other_callers_get_lists(ours: Any, theirs: Any) -> None:
    expected = theirs([TEXT])["input_ids"]
    manager = manager_of(ours)

    async def both() -> list[Any]:
        async def other() -> Any:
            return ours([TEXT])["input_ids"]

        (ids, _), others = await asyncio.gather(manager._tokenize_texts(TEXT), other())
        return [type(ids), list(ids), type(others[0]), others, type(ours([TEXT])["input_ids"][0])]

    assert asyncio.run(both()) == [array, expected[0], list, expected, list]
    # A multimodal model's processor looks at them, and a tokenizer of the embedding Gemma's gets its last id.
    ids = tokenized(manager_of(ours, mm_processor=object()), TEXT)
    assert (type(ids), ids) == (list, expected[0])
    gemma = manager_of(ours, model_config=SimpleNamespace(is_embedding_gemma=True))
    eos = ours.eos_token_id
    assert list(tokenized(gemma, TEXT)) == [*expected[0], eos]
    assert tokenized(manager_of(theirs), TEXT) == expected[0]
    pairs = [["What is it?", TEXT]]
    assert asyncio.run(manager._tokenize_texts(pairs, True)) == asyncio.run(
        manager_of(theirs)._tokenize_texts(pairs, True)
    )


@pytest.mark.parametrize("text", ["\ud800", "a\udfff" * 5000, ["a", "\ud800"]], ids=["short", "long", "list"])
def test_errors_are_theirs(ours: Any, theirs: Any, text: Any) -> None:
    said = []
    for tokenizer in (ours, theirs):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            tokenized(manager_of(tokenizer), text)
        said.append((type(raised.value), str(raised.value)))
    assert said[0] == said[1]


def test_requests_are_sglang_s(ours: Any, theirs: Any) -> None:
    from sglang.srt.managers.tokenizer_manager import TokenizerManager

    create = TokenizerManager._create_tokenized_object
    assert create.__wrapped__ is not create
    given: list[Any] = []

    def note(manager: Any, obj: Any, text: Any, input_ids: Any, *rest: Any) -> Any:
        given.append(input_ids)
        return array("q", input_ids)

    expected = theirs(TEXT)["input_ids"]
    for ids in (expected, array("q", expected), [], [True, 5], [2**63 - 1, -(2**63), 0], tuple(expected)):
        made = create_tokenized_with_array(note, None, None, "", ids, 1, 2)
        assert made == array("q", ids)
        assert type(given[-1]) is array or given[-1] is ids
    assert [type(ids) for ids in given] == [array, array, array, list, array, tuple]
    for wrong in ([2**63], [1.5], ["1"], [[1]], [None]):
        with pytest.raises((TypeError, OverflowError)) as raised:
            create_tokenized_with_array(note, None, None, "", wrong)
        with pytest.raises(type(raised.value), match=re.escape(str(raised.value))):
            array("q", wrong)
    assert create_tokenized_with_array(lambda *given: given, None, None, "", None)[3] is None


def test_requests_of_lists_stay_lists(
    sglang: Any, model: str, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sglang.srt.managers import tokenizer_manager

    assert request_ids.requests_have_arrays()
    # As in SGLang before 0.5.14.
    older = type("TokenizedGenerateReqInput", (), {"__annotations__": {"input_ids": "List[int]"}})
    monkeypatch.setattr(tokenizer_manager, "TokenizedGenerateReqInput", older)
    assert not request_ids.requests_have_arrays()
    monkeypatch.setattr(plugin, "_hooked", set())
    load(model, "lopt")
    assert plugin._hooked == set()
    monkeypatch.delattr(tokenizer_manager, "TokenizedGenerateReqInput")
    assert load(model, "lopt").lopt.explain()["route"] == "native"
    assert plugin._hooked == set()
    assert "as SGLang does" in log.text


def test_dynamic_batches(ours: Any, theirs: Any) -> None:
    from sglang.srt.managers.async_dynamic_batch_tokenizer import AsyncDynamicbatchTokenizer

    texts = [f"{number} {TEXT}" for number in range(100)]

    async def encode() -> list[Any]:
        batcher = AsyncDynamicbatchTokenizer(ours, max_batch_size=32, batch_wait_timeout_s=0.01)
        one = await batcher.encode(texts[0])
        return [one, *await asyncio.gather(*map(batcher.encode, texts[1:]))]

    expected = [theirs(text) for text in texts]
    for got, wanted in zip(asyncio.run(encode()), expected, strict=True):
        assert dict(got) == dict(wanted)


def test_server_starts_only_with_hooks(sglang: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    arguments = SimpleNamespace(tokenizer_backend="lopt", tokenizer_worker_num=1, log_level="info")
    plugin._refuse_to_start_without_hooks(checked.append, arguments)
    assert checked == [arguments]
    from sglang.srt.managers import tokenizer_manager

    # A name that the hooks did not reach.
    monkeypatch.setattr(tokenizer_manager, "get_tokenizer", tokenizer_manager.get_tokenizer.__wrapped__)
    with pytest.raises(RuntimeError, match=r"not active with SGLang 0.*tokenizer_manager:get_tokenizer"):
        plugin._refuse_to_start_without_hooks(checked.append, arguments)
    arguments.tokenizer_backend = "huggingface"
    plugin._refuse_to_start_without_hooks(checked.append, arguments)


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Arguments of a server with two tokenizer workers, in a process that has imported the server."""
    from uvicorn.config import LOGGING_CONFIG

    monkeypatch.setitem(LOGGING_CONFIG, "loggers", dict(LOGGING_CONFIG["loggers"]))
    monkeypatch.setitem(sys.modules, ledger.HTTP_SERVER.name, ModuleType(ledger.HTTP_SERVER.name))
    # Set, so that it is as it was afterwards.
    monkeypatch.setenv(plugin.APP_VARIABLE, "")
    monkeypatch.delenv(plugin.APP_VARIABLE)
    return SimpleNamespace(tokenizer_backend="lopt", tokenizer_worker_num=2, log_level="info")


@pytest.mark.parametrize("app", [None, "my_application:app"])
@pytest.mark.parametrize("loads_plugins", [False, True])
def test_workers_get_our_application(
    sglang: Any,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    two_workers: SimpleNamespace,
    app: str | None,
    loads_plugins: bool,
) -> None:
    from sglang.srt.environ import Envs
    from uvicorn.config import LOGGING_CONFIG

    monkeypatch.setattr(Envs, plugin.APP_VARIABLE, "known to newer ones", raising=False)
    if loads_plugins:
        # As with patches/sglang.
        monkeypatch.setattr(sys.modules[ledger.HTTP_SERVER.name], "load_plugins", print, raising=False)
    if app is not None:
        monkeypatch.setenv(plugin.APP_VARIABLE, app)
    plugin._refuse_to_start_without_hooks(lambda _: None, two_workers)
    assert os.environ[plugin.APP_VARIABLE] == (app or "lopt_plugin.engines.sglang.app:app")
    assert [record.levelname for record in log.records] == (["WARNING"] if app and not loads_plugins else [])
    assert LOGGING_CONFIG["loggers"]["sglang.lopt_plugin"]["level"] == "INFO"


def test_workers_that_cannot_be_reached(
    sglang: Any, monkeypatch: pytest.MonkeyPatch, two_workers: SimpleNamespace
) -> None:
    from sglang.srt.environ import Envs

    # SGLang up to 0.5.22 runs its own application in the workers, and ignores the variable.
    monkeypatch.delattr(Envs, plugin.APP_VARIABLE, raising=False)
    with pytest.raises(RuntimeError, match="load no plugins"):
        plugin._refuse_to_start_without_hooks(lambda _: None, two_workers)
    two_workers.tokenizer_worker_num = 1
    plugin._refuse_to_start_without_hooks(lambda _: None, two_workers)
    # An Engine without a server has no workers of its own.
    two_workers.tokenizer_worker_num = 2
    monkeypatch.delitem(sys.modules, ledger.HTTP_SERVER.name)
    plugin._refuse_to_start_without_hooks(lambda _: None, two_workers)


def test_rust_server_is_logged(sglang: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_RUST_SERVER", "1")
    arguments = SimpleNamespace(tokenizer_backend="lopt", tokenizer_worker_num=1, log_level="info")
    plugin._refuse_to_start_without_hooks(lambda _: None, arguments)
    assert "SGLANG_RUST_SERVER is set" in log.text


def test_plugin_that_is_not_allowed(sglang: Any, tmp_path: Path) -> None:
    code = """
from lopt_plugin.engines.sglang import tokenizer_backend
try:
    tokenizer_backend()
except RuntimeError as error:
    print(error)
from sglang.srt.server_args import prepare_server_args
prepare_server_args(["--model-path", "x", "--tokenizer-backend", "lopt"])
"""
    done = run_python(code, tmp_path, SGLANG_PLUGINS="other")
    assert "SGLANG_PLUGINS=other leaves out 'lopt'" in done.stdout
    assert done.returncode == 2
    assert "invalid choice: 'lopt'" in done.stderr


FAILING = {
    "not applied": """
from sglang.srt.plugins.hook_registry import HookRegistry
apply_target = HookRegistry._apply_target.__func__
def failing(cls, target, hooks):
    if target.endswith("get_tokenizer"):
        raise RuntimeError("as if it had moved")
    apply_target(cls, target, hooks)
HookRegistry._apply_target = classmethod(failing)
""",
    "not found": """
import sglang.srt.managers.tokenizer_manager
from sglang.srt.utils.hf_transformers import processor
processor.renamed = processor.get_processor
del processor.get_processor
""",
}


@pytest.mark.deep
@pytest.mark.parametrize("failing", FAILING.values(), ids=FAILING)
def test_engine_with_hooks_that_failed(sglang: Any, model: str, tmp_path: Path, failing: str) -> None:
    code = f"""{failing}
from sglang import Engine
if __name__ == "__main__":
    Engine(model_path={model!r}, tokenizer_backend="lopt", device="cpu", attention_backend="torch_native")
"""
    done = run_python(code, tmp_path)
    assert done.returncode != 0
    assert "tokenizer_backend 'lopt' is not active" in done.stderr


def test_metrics_where_the_server_shows_some(
    model: str, theirs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lopt_plugin.engines import metrics

    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    assert load(model, "lopt").lopt._runner.observer is None
    seen = Seen()
    monkeypatch.setattr(metrics, "observer", lambda: seen)
    # As `--enable-metrics` does.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    observed = load(model, "lopt")
    assert observed([TEXT])["input_ids"] == theirs([TEXT])["input_ids"]
    assert seen.routes == ["native"]
    monkeypatch.setenv("LOPT_ROUTE", "hf")
    load(model, "lopt")
    assert [reason for reason in seen.reasons if "route is set" in reason]


class Seen:
    """An observer that keeps its calls."""

    def __init__(self) -> None:
        self.routes: list[str] = []
        self.reasons: list[str] = []
        # Not to be pickled, as that of Prometheus.
        self.lock = threading.Lock()

    def encoded(self, route: str, seconds: float) -> None:
        self.routes.append(route)

    def fell_back(self, reason: str) -> None:
        self.reasons.append(reason)

    def remembered(self, counts: Mapping[str, int]) -> None:
        """Not asked for here."""


def test_observed_tokenizers_are_copied(ours: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours.lopt._runner, "observer", Seen())
    for copied in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert copied(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
