"""The public names, and what their docstrings have to say. `make doctest` runs the examples in them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import lopt_plugin
from lopt_plugin.encoder.counting import Intervals
from lopt_plugin.encoder.decode_stream import DecodeStream
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.incremental import IncrementalEncoder
from lopt_plugin.encoder.tiktoken_encoder import TiktokenEncoder
from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.engines import sglang, vllm
from lopt_plugin.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
ENCODER_NAMES = {
    "count", "count_batch", "count_until", "cut", "decode_batch", "decode_ids", "decode_stream", "encode_batch_ids",
    "encode_ids", "encode_list", "encode_segments", "encode_with_offsets", "explain", "incremental", "intervals",
}  # fmt: skip
TIKTOKEN_NAMES = {"count", "encode", "encode_batch", "encode_ordinary", "encode_ordinary_batch", "encoding", "explain"}
# Their examples need an engine, and are not run.
FOR_ENGINES = {"generate": vllm.generate, "tokenizer_backend": sglang.tokenizer_backend}


def public_names(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def documented() -> Iterator[tuple[str, Any]]:
    for function in (lopt_plugin.accelerate, lopt_plugin.from_pretrained, lopt_plugin.from_tiktoken):
        yield function.__name__, function
    for owner in (DecodeStream, Encoder, IncrementalEncoder, Intervals, Settings, TiktokenEncoder, TokenBatch):
        yield owner.__name__, owner
        for name in sorted(public_names(owner)):
            member = inspect.getattr_static(owner, name)
            if callable(member) or isinstance(member, (classmethod, property)):
                yield f"{owner.__name__}.{name}", getattr(owner, name)


DOCUMENTED = dict(documented())


def test_package() -> None:
    assert sorted(lopt_plugin.__all__) == ["__version__", "accelerate", "from_pretrained", "from_tiktoken"]
    assert set(lopt_plugin.__all__) <= set(dir(lopt_plugin))
    for name in lopt_plugin.__all__:
        assert getattr(lopt_plugin, name)


def test_encoder() -> None:
    assert public_names(Encoder) == ENCODER_NAMES
    assert public_names(TiktokenEncoder) == TIKTOKEN_NAMES


def test_encoder_of_a_tokenizer(small_tokenizers: dict[str, Any]) -> None:
    # Attributes of an object are not in its class.
    assert public_names(Encoder(small_tokenizers["tiny_qwen2"])) == ENCODER_NAMES


def test_settings_are_on_the_pages() -> None:
    rows = [
        [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| `LOPT_")]
        for page in ("README.md", "docs/index.md")
    ]
    assert rows[0] == rows[1]
    for field in fields(Settings):
        assert any(row.startswith(f"| `LOPT_{field.name.upper()}` | `{field.name}` |") for row in rows[0])


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_docstrings(name: str) -> None:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    assert ">>> " in text
    if inspect.isfunction(DOCUMENTED[name]) or inspect.ismethod(DOCUMENTED[name]):
        check_sections(DOCUMENTED[name], text)


@pytest.mark.parametrize("name", sorted(FOR_ENGINES))
def test_docstrings_of_engines(name: str) -> None:
    text = inspect.getdoc(FOR_ENGINES[name]) or ""
    assert "\nExample:\n" in text
    check_sections(FOR_ENGINES[name], text)


def check_sections(function: Callable[..., Any], text: str) -> None:
    signature = inspect.signature(function)
    parameters = [str(one).split(":")[0] for one in signature.parameters.values() if one.name != "self"]
    names = [name.split("=")[0].strip() for name in parameters]
    assert ("\nArgs:\n" in text) == bool(names)
    for name in names:
        assert f"    {name}: " in text.partition("\nArgs:\n")[2]
    assert ("\nReturns:\n" in text) == (signature.return_annotation not in ("None", None))
