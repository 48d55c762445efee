"""Padded batches and their masks, row by row, as Hugging Face's and the kernel's reference have them."""

from __future__ import annotations

import random
from typing import Any

import corpus
import numpy as np
import pytest

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.settings import Settings
from lopt_plugin.triton_kernels.emit.naive import pad

TEXTS = ["Hello world", "", "isn't it?", "é中文 and some more", "x"]


def compare(rows: list[np.ndarray[Any, Any]], convert: Any) -> None:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    batch = TokenBatch(convert(np.concatenate([np.empty(0, np.int32), *rows])), convert(offsets))
    longest = max(map(len, rows), default=0)
    for multiple in (1, 7, 8, 64):
        for side in ("right", "left"):
            width = -(-longest // multiple) * multiple
            found = batch.padded(77, side=side, multiple=multiple)
            for got, expected in zip(found, pad(rows, width, 77, left=side == "left"), strict=True):
                assert type(got) is type(batch.ids)
                assert np.asarray(got).dtype == np.int32
                assert np.array_equal(np.asarray(got), expected)


def of_torch(array: np.ndarray[Any, Any]) -> Any:
    return pytest.importorskip("torch").from_numpy(array)


@pytest.mark.parametrize("convert", [lambda array: array, of_torch], ids=["numpy", "torch"])
def test_rows_of_any_length(convert: Any) -> None:
    rng = random.Random(5)
    for count in (0, 1, 2, 9):
        for lengths in ([0], [0, 1, 5, 16, 40]):
            compare([np.array(rng.choices(range(100), k=rng.choice(lengths)), np.int32) for _ in range(count)], convert)


@pytest.mark.parametrize("side", ["left", "right"])
def test_as_the_reference_pads(side: Any) -> None:
    backend = corpus.load_tokenizer("tiny_o200k")
    batch = Encoder(backend, Settings.read({}, threads=1)).encode_batch_ids(TEXTS)
    backend.enable_padding(direction=side, pad_id=9, pad_to_multiple_of=4)
    expected = backend.encode_batch(TEXTS)
    found = batch.padded(9, side=side, multiple=4)
    assert found.input_ids.tolist() == [encoding.ids for encoding in expected]
    assert found.attention_mask.tolist() == [encoding.attention_mask for encoding in expected]


@pytest.mark.parametrize("wrong", [{"side": "up"}, {"multiple": 0}, {"pad_id": 1 << 31}, {"pad_id": -(1 << 31) - 1}])
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    batch = TokenBatch(np.zeros(1, np.int32), np.array([0, 1]))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        batch.padded(**{"pad_id": 0, **wrong})
