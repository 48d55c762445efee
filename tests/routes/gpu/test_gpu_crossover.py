"""The size from which the GPU is used: stored by the benchmark, read again; and which calls it decides."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.encoder import gpu_policy
from lopt_plugin.routes.gpu import crossover
from lopt_plugin.routes.gpu.crossover import store_crossover, stored_crossover
from lopt_plugin.routes.gpu.device import numbered
from lopt_plugin.routes.native import NativeRoute


@pytest.fixture(autouse=True)
def _cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_storing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert stored_crossover("a device") is None
    store_crossover("a device", 1 << 11)
    store_crossover("another", None)
    assert stored_crossover("a device") == 1 << 11
    assert stored_crossover("another") == math.inf
    store_crossover("a device", 1 << 10)
    assert stored_crossover("a device") == 1 << 10
    path = crossover._path("a device")
    assert path is not None
    assert path.parent == tmp_path / "lopt_plugin"
    wrong = ({"key": "another", "bytes": 1}, {"key": "a device"}, {"key": "a device", "bytes": -1})
    for rubbish in ("", "[]", "{}", *map(json.dumps, wrong)):
        path.write_text(rubbish)
        assert stored_crossover("a device") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))  # a file, so nothing can be stored
    store_crossover("a device", 1 << 10)
    assert stored_crossover("a device") is None


class FakeGpuRoute:
    """The native route under another name."""

    name = "gpu"
    usable = True
    device = "fake"

    def __init__(self, pipeline: Any, native: NativeRoute, **_: Any) -> None:
        self.native = native

    def info(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


@pytest.fixture
def tokenizer(monkeypatch: pytest.MonkeyPatch) -> PreTrainedTokenizerFast:
    monkeypatch.setattr(gpu_policy, "GpuRoute", FakeGpuRoute)
    monkeypatch.setattr(gpu_policy, "interpreted", lambda: False)
    monkeypatch.setattr(gpu_policy, "device_in_use", lambda: True)
    return PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_o200k"))


def with_route(encoder: Any) -> Any:
    """The same, once it has a GPU route."""
    encoder._runner.gpu.route_on(encoder._runner.state.snapshot(), "cuda")
    return encoder


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_policy, "find_device", lambda: None)
    monkeypatch.setattr(gpu_policy, "crossover_key", lambda *_: "")
    monkeypatch.setattr(gpu_policy, "stored_crossover", lambda *_: 100_000.0)


def goes(encoder: Any, call: Any) -> bool:
    """Whether the call goes to the GPU."""
    before = encoder._runner.gpu_calls
    call()
    return bool(encoder._runner.gpu_calls > before)


def test_one_text(tokenizer: PreTrainedTokenizerFast, stored: None) -> None:
    ours = lopt_plugin.accelerate(tokenizer)
    encoder = ours.lopt
    texts = iter(f"{number} begins another text " * 60_000 for number in range(100))
    assert not goes(encoder, lambda: encoder.encode_ids(next(texts)[:99_999]))
    assert encoder.explain()["gpu"] is None
    with_route(encoder)
    assert goes(encoder, lambda: encoder.encode_ids(next(texts)[:1_100_000]))
    assert goes(encoder, lambda: encoder.encode_ids(next(texts)[:150_000]))
    assert encoder.explain()["gpu"][numbered("cuda")]["crossover"] == 100_000
    assert not goes(encoder, lambda: encoder.encode_list(next(texts)[:99_999]))
    assert goes(encoder, lambda: encoder.encode_list(next(texts)[:100_000]))
    assert goes(encoder, lambda: ours(next(texts)[:300_000]))
    text = next(texts)[:300_000]
    assert (
        ours(text, truncation=True, max_length=10_000).data == tokenizer(text, truncation=True, max_length=10_000).data
    )
    # A text that is truncated early is not read to its end; the prefix cache may have a prefix that was seen.
    assert not goes(encoder, lambda: ours(next(texts)[:300_000], truncation=True, max_length=100))
    text = next(texts)
    assert goes(encoder, lambda: ours(text[:300_000]))
    assert not goes(encoder, lambda: ours(text[:310_000]))
    assert goes(encoder, lambda: encoder.encode_batch_ids([next(texts)[:50_000], "b" * 50_000]))
    assert not goes(encoder, lambda: encoder.encode_batch_ids([next(texts)[:50_000], "b" * 40_000]))
    assert encoder.encode_list(text[:250_000]) == tokenizer(text[:250_000]).input_ids


def test_no_request_waits_for_the_route_to_be_made(
    tokenizer: PreTrainedTokenizerFast, stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, made = threading.Event(), []

    class SlowGpuRoute(FakeGpuRoute):
        def __init__(self, *given: Any, **options: Any) -> None:
            made.append(threading.current_thread())
            assert compiled.wait(60)
            super().__init__(*given, **options)

    monkeypatch.setattr(gpu_policy, "GpuRoute", SlowGpuRoute)
    encoder = lopt_plugin.accelerate(tokenizer, prefix_cache_mb=0).lopt
    text = "a text " * 20_000
    for _ in range(2):
        assert not goes(encoder, lambda: encoder.encode_ids(text))
        assert not goes(encoder, lambda: encoder.encode_batch_ids([text, text]))
    compiled.set()
    (thread,) = made
    thread.join()
    assert thread is not threading.current_thread()
    assert goes(encoder, lambda: encoder.encode_ids(text))
    assert goes(encoder, lambda: encoder.encode_batch_ids([text, text]))


def test_auto_does_not_use_the_gpu_without_a_measurement(tokenizer: PreTrainedTokenizerFast) -> None:
    encoder = lopt_plugin.accelerate(tokenizer).lopt
    texts = [f"{number} begins another text " * 60_000 for number in range(4)]
    assert not goes(encoder, lambda: encoder.encode_ids(texts[0]))
    assert not goes(encoder, lambda: encoder.encode_batch_ids(texts))
    assert encoder.explain()["gpu"] is None
    explained = encoder.explain(texts)["batch"]
    assert (explained["route"], explained["gpu"]["from_bytes"]) == ("native", None)
    assert "no crossover is stored" in explained["gpu"]["reason"]


def test_route_gpu_uses_it_without_a_measurement(tokenizer: PreTrainedTokenizerFast) -> None:
    encoder = lopt_plugin.accelerate(tokenizer, route="gpu").lopt
    text = "another text " * 100_000
    assert goes(encoder, lambda: encoder.encode_batch_ids(["short", "texts"]))
    assert not goes(encoder, lambda: encoder.encode_ids(text[:1_000_000]))
    assert goes(encoder, lambda: encoder.encode_ids("x" + text))


def test_explain_says_where_a_text_would_go(
    tokenizer: PreTrainedTokenizerFast, stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = lopt_plugin.accelerate(tokenizer).lopt
    text = "another text " * 100_000
    for explained in (encoder.explain(text)["text"], encoder.explain([text])["batch"]):
        assert (explained["route"], explained["gpu"]["from_bytes"]) == ("gpu", 100_000)
        assert "stored crossover" in explained["gpu"]["reason"]
    assert encoder.explain()["gpu"] is None  # that created no route
    with_route(encoder).encode_ids(text)
    assert encoder.explain(text)["text"]["route"] == "native"  # the prefix was seen
    assert encoder.explain("x" * 99_999)["text"]["route"] == "native"
    batch = encoder.explain(["x" * 50_000, "y" * 50_000])["batch"]
    assert (batch["texts"], batch["characters"], batch["route"]) == (2, 100_000, "gpu")
    assert batch["gpu"]["from_bytes"] == 100_000
    assert encoder.explain("x" * 100)["text"]["gpu"]["from_bytes"] is None
    assert lopt_plugin.accelerate(tokenizer, route="native").lopt.explain([text])["batch"]["route"] == "native"
    monkeypatch.setattr(gpu_policy, "device_in_use", lambda: False)
    explained = encoder.explain(text)["text"]
    assert (explained["route"], explained["gpu"]["gpu"]) == ("native", False)
    assert "CUDA" in explained["gpu"]["reason"]


def test_a_small_batch_goes_to_the_gpu_only_by_the_setting(
    tokenizer: PreTrainedTokenizerFast, stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_policy, "stored_crossover", lambda *_: 16_384.0)
    texts = ["x y" * 7_000, "y z" * 7_000]
    for settings, expected, least in (({}, "native", 65_536), ({"gpu_min_bytes": 40_000}, "gpu", 40_000)):
        encoder = with_route(lopt_plugin.accelerate(tokenizer, **settings).lopt)
        explained = encoder.explain(texts)["batch"]
        assert (explained["route"], explained["gpu"]["from_bytes"]) == (expected, least)
        assert goes(encoder, lambda encoder=encoder: encoder.encode_batch_ids(texts)) == (expected == "gpu")


def test_the_setting_overrides_the_measurement(tokenizer: PreTrainedTokenizerFast, stored: None) -> None:
    encoder = with_route(lopt_plugin.accelerate(tokenizer, gpu_min_bytes=70_000, prefix_cache_mb=0).lopt)
    for _ in range(2):
        encoder.encode_ids("x y" * 30_000)
    assert encoder._runner.gpu_calls == 2
    assert SimpleNamespace(**encoder.explain()["calls"]).gpu == 2
