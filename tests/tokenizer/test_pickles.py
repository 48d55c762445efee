"""Pickles made by version 0.1.0, with transformers 5, load: datasets, Ray and process pools keep such files."""

from __future__ import annotations

import lzma
import pickle
from pathlib import Path
from typing import Any

import pytest
import transformers
from corpus import DATA

TEXT = "The quick brown fox, isn't it?"
IDS_OF = "tokenizers/wordpiece_cased.json.xz"


def unpickled(name: str) -> Any:
    return pickle.loads(lzma.decompress(Path(DATA, "pickles", f"{name}_0.1.0.pickle.xz").read_bytes()))


@pytest.fixture(scope="module")
def expected() -> list[int]:
    from tokenizers import Tokenizer

    ids: list[int] = Tokenizer.from_str(lzma.decompress(Path(DATA, IDS_OF).read_bytes()).decode()).encode(TEXT).ids
    return ids


def test_an_encoder_and_its_settings(expected: list[int]) -> None:
    encoder = unpickled("encoder")
    assert encoder.encode_list(TEXT) == expected
    assert encoder.explain()["route"] == "native"
    assert encoder._runner.settings == unpickled("settings")
    assert (encoder._runner.settings.threads, encoder._runner.settings.verify) == (2, 0.25)


@pytest.mark.skipif(transformers.__version__.startswith("4."), reason="its tokenizers have other attributes")
def test_a_tokenizer(expected: list[int]) -> None:
    tokenizer = unpickled("tokenizer")
    assert tokenizer(TEXT)["input_ids"] == expected
    assert tokenizer.lopt._runner.settings == unpickled("settings")


def test_a_batch_encoding(expected: list[int]) -> None:
    assert unpickled("batch_encoding")["input_ids"] == expected
