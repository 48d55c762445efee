"""The types that a user's program sees. Checked by `make lint`, never run; `assert_type` fails where they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import lopt_plugin
from lopt_plugin.encoder.counting import Intervals
from lopt_plugin.encoder.decode_stream import DecodeStream
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.incremental import IncrementalEncoder
from lopt_plugin.encoder.settled import IncrementalState
from lopt_plugin.encoder.tiktoken_encoder import TiktokenEncoder
from lopt_plugin.encoder.token_batch import PaddedBatch, TokenBatch
from lopt_plugin.engines.sglang import tokenizer_backend
from lopt_plugin.engines.vllm import generate
from lopt_plugin.settings import Settings


def tokenizers(loaded: Any) -> None:
    assert_type(lopt_plugin.__version__, str)
    assert_type(lopt_plugin.from_pretrained("folder", threads=2, revision="main").lopt, Encoder)
    assert_type(lopt_plugin.accelerate(loaded, route="native").lopt, Encoder)


def encoding() -> None:
    lopt = lopt_plugin.from_pretrained("folder").lopt
    assert_type(lopt.encode_ids("text"), npt.NDArray[np.int32])
    assert_type(lopt.encode_list("text", add_special_tokens=False), list[int])
    assert_type(lopt.encode_segments([("text", True)], add_special_tokens=False), list[int])
    assert_type(lopt.encode_with_offsets("text"), tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]])
    batch = lopt.encode_batch_ids(("one", "two"), device="cuda")
    assert_type(batch, TokenBatch)
    assert_type(len(batch), int)
    assert_type(batch.padded(0, side="left", multiple=8), PaddedBatch)
    assert_type(lopt.explain(["one", "two"]), dict[str, Any])


def decoding() -> None:
    lopt = lopt_plugin.from_pretrained("folder").lopt
    assert_type(lopt.decode_ids(lopt.encode_ids("text"), skip_special_tokens=True), str)
    assert_type(lopt.decode_ids([1, 2]), str)
    assert_type(lopt.decode_batch([[1, 2], [3]]), list[str])
    assert_type(lopt.decode_batch(lopt.encode_batch_ids(["one"])), list[str])
    assert_type(lopt.decode_stream([1, 2]), DecodeStream)
    assert_type(lopt.decode_stream().step(3), str | None)


def counting() -> None:
    lopt = lopt_plugin.from_pretrained("folder").lopt
    assert_type(lopt.count("text"), int)
    assert_type(lopt.count_batch(["one", "two"]), list[int])
    assert_type(lopt.count_until("text", 100), int | None)
    assert_type(lopt.cut("text", 100, split_special_tokens=True), str)
    assert_type(lopt.intervals("text"), Intervals)
    assert_type(lopt.intervals("text").count(0, 2), int)


def growing() -> None:
    chat = lopt_plugin.from_pretrained("folder").lopt.incremental(add_special_tokens=False)
    assert_type(chat, IncrementalEncoder)
    chat.append("text")
    chat.prepend("text")
    assert_type(chat.ids, list[int])
    assert_type(chat.ids_from(2), list[int])
    assert_type(chat.count, int)
    assert_type(chat.stable, int)
    assert_type(chat.text, str)
    assert_type(chat.snapshot(), IncrementalState)
    chat.restore(chat.snapshot())
    chat.update([1, 2])


def tiktoken(encoding: Any) -> None:
    fast = lopt_plugin.from_tiktoken(encoding, threads=2)
    assert_type(fast, TiktokenEncoder)
    assert_type(fast.encode("text", allowed_special={"<|end|>"}, disallowed_special=()), list[int])
    assert_type(fast.encode("text", allowed_special="all"), list[int])
    assert_type(fast.encode_ordinary("text"), list[int])
    assert_type(fast.encode_batch(["one", "two"], disallowed_special=["<|end|>"]), list[list[int]])
    assert_type(fast.encode_ordinary_batch(("one", "two")), list[list[int]])
    assert_type(fast.count("text"), int)
    assert_type(fast.explain(), dict[str, Any])


def settings_and_engines(llm: Any) -> None:
    assert_type(Settings.read({}, threads=2), Settings)
    assert_type(Settings.read().verify, float)
    assert_type(tokenizer_backend(), str)
    generate(llm, ["one", "two"])
