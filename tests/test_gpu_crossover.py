"""From where on the GPU is used: measured, noted, read again; and which calls that concerns."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin import gpu_use
from lopt_plugin.routes.device import crossover
from lopt_plugin.routes.device.crossover import Crossover
from lopt_plugin.routes.native import NativeRoute


class Timed:
    """A route that takes `fixed + by_byte * size` by the clock, twice that for a list."""

    def __init__(self, clock: list[float], fixed: float, by_byte: float) -> None:
        self.clock, self.fixed, self.by_byte = clock, fixed, by_byte
        self.seen: list[str] = []

    def encode_array(self, text: str, *_: bool) -> None:
        self.seen.append(text)
        self.clock[0] += self.fixed + self.by_byte * len(text)

    def encode_list(self, text: str, *_: bool) -> None:
        self.seen.append(text)
        self.clock[0] += self.fixed + 4 * self.by_byte * len(text)


def measured(gpu: tuple[float, float], native: tuple[float, float]) -> Crossover:
    clock = [0.0]
    routes = Timed(clock, *gpu), Timed(clock, *native)
    found = crossover.measure(*routes, ["some", "words"], (1 << 10, 1 << 11, 1 << 12), lambda: clock[0])
    seen = [text for route in routes for text in route.seen]
    assert len(set(seen)) == len(seen)
    return found


def test_measuring() -> None:
    assert measured((1500, 0), (0, 1)) == Crossover(1 << 11, 1 << 10, "measured")
    assert measured((0, 0), (0, 1)) == Crossover(1 << 10, 1 << 10, "measured")
    assert measured((1e9, 0), (0, 1)) == Crossover(math.inf, math.inf, "measured")
    # Sooner in the middle only is not sooner.
    assert crossover._from((1, 2, 3), [False, True, False]) == math.inf
    assert crossover._from((1, 2, 3), [True, False, True]) == 3


def test_notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    routes: Any = Timed([0.0], 1, 1), Timed([0.0], 1, 1)
    monkeypatch.setattr(crossover, "measure", lambda *_: Crossover(123, math.inf, "measured"))
    assert crossover.read("a device") is None
    assert crossover.crossover_of(*routes, [], "a device").source == "measured"
    assert crossover.crossover_of(*routes, [], "a device") == Crossover(123, math.inf, "noted")
    assert crossover.crossover_of(*routes, [], "another").source == "measured"
    assert crossover.read("a device").info() == {"arrays": 123, "lists": None, "source": "noted"}  # type: ignore[union-attr]
    (path,) = (tmp_path / "lopt_plugin").iterdir()
    for rubbish in ("", "[]", '{"format": 9, "notes": {}}', json.dumps({"format": 1, "notes": {"a device": 3}})):
        path.write_text(rubbish)
        assert crossover.read("a device") is None
    path.write_text(json.dumps({"format": 1, "notes": {"a device": {"arrays": -1, "lists": True}}}))
    assert crossover.read("a device") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))  # a file, where nothing can be noted
    assert crossover.crossover_of(*routes, [], "a device").source == "measured"


class FakeGpuRoute:
    """The native route under another name."""

    name = "gpu"
    usable = True
    device = "fake"

    def __init__(self, pipeline: Any, native: NativeRoute, **_: Any) -> None:
        self.native = native
        self.crossover: Crossover | None = None
        self.asked = 0

    def measured_crossover(self) -> Crossover:
        self.asked += 1
        self.crossover = Crossover(100_000, 200_000, "measured")
        return self.crossover

    def info(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


@pytest.fixture
def tokenizer(monkeypatch: pytest.MonkeyPatch) -> PreTrainedTokenizerFast:
    monkeypatch.setattr(gpu_use, "GpuRoute", FakeGpuRoute)
    monkeypatch.setattr(gpu_use, "interpreted", lambda: False)
    monkeypatch.setattr(gpu_use, "device_in_use", lambda: True)
    return PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_o200k"))


def test_one_text(tokenizer: PreTrainedTokenizerFast) -> None:
    ours = lopt_plugin.accelerate(tokenizer)
    encoder = ours.lopt

    def goes(call: Any) -> bool:
        before = encoder.gpu_calls
        call()
        return encoder.gpu_calls > before

    texts = iter(f"{number} begins another text " * 60_000 for number in range(100))
    # Before the crossover is known, only what is worth making a route for.
    assert not goes(lambda: encoder.encode_ids(next(texts)[:1_000_000]))
    assert encoder.explain()["gpu"] is None
    assert goes(lambda: encoder.encode_ids(next(texts)[:1_100_000]))
    assert goes(lambda: encoder.encode_ids(next(texts)[:150_000]))
    assert not goes(lambda: encoder.encode_ids(next(texts)[:99_999]))
    assert not goes(lambda: encoder.encode_list(next(texts)[:199_999]))
    assert goes(lambda: encoder.encode_list(next(texts)[:200_000]))
    assert goes(lambda: ours(next(texts)[:300_000]))
    text = next(texts)[:300_000]
    assert (
        ours(text, truncation=True, max_length=10_000).data == tokenizer(text, truncation=True, max_length=10_000).data
    )
    # A text that is cut early is not read to its end, and one that begins like the one before has a beginning kept.
    assert not goes(lambda: ours(next(texts)[:300_000], truncation=True, max_length=100))
    text = next(texts)
    assert goes(lambda: ours(text[:300_000]))
    assert not goes(lambda: ours(text[:310_000]))
    assert goes(lambda: encoder.encode_batch_ids([next(texts)[:50_000], "b" * 50_000]))
    assert not goes(lambda: encoder.encode_batch_ids([next(texts)[:50_000], "b" * 40_000]))
    assert encoder.encode_list(text[:250_000]) == tokenizer(text[:250_000]).input_ids


def test_explain_tells_where_a_text_would_go(
    tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = lopt_plugin.accelerate(tokenizer).lopt
    text = "another text " * 100_000
    for explained in (encoder.explain(text)["text"], encoder.explain([text])["batch"]):
        assert (explained["route"], explained["gpu"]["from_bytes"]["arrays"]) == ("gpu", gpu_use.MAKE_FROM_BYTES)
        assert "not known" in explained["gpu"]["reason"]
    assert encoder.explain()["gpu"] is None  # nothing was made for that
    encoder.encode_ids(text)
    assert encoder.explain(text)["text"]["route"] == "native"  # the beginning is known now
    assert encoder.explain("x" * 99_999)["text"]["route"] == "native"
    batch = encoder.explain(["x" * 50_000, "y" * 50_000])["batch"]
    assert (batch["texts"], batch["characters"], batch["route"]) == (2, 100_000, "gpu")
    assert batch["gpu"]["from_bytes"] == {"arrays": 100_000, "lists": 200_000}
    assert encoder.explain("x" * 100)["text"]["gpu"]["from_bytes"] is None
    assert lopt_plugin.accelerate(tokenizer, route="native").lopt.explain([text])["batch"]["route"] == "native"
    monkeypatch.setattr(gpu_use, "device_in_use", lambda: False)
    explained = encoder.explain(text)["text"]
    assert (explained["route"], explained["gpu"]["gpu"]) == ("native", False)
    assert "CUDA" in explained["gpu"]["reason"]


def test_what_the_user_says_goes_first(tokenizer: PreTrainedTokenizerFast) -> None:
    encoder = lopt_plugin.accelerate(tokenizer, gpu_min_bytes=70_000, prefix_cache_mb=0).lopt
    for _ in range(2):
        encoder.encode_ids("x y" * 30_000)
    assert encoder.gpu_calls == 2
    assert encoder.gpu_use._routes["cuda"].asked == 0  # type: ignore[union-attr]
    assert SimpleNamespace(**encoder.explain()["calls"]).gpu == 2
