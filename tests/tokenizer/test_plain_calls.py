"""Calls with nothing but a text. From the second one on, they take a shortcut."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import interface_tokenizers
import pytest
from tokenizers import Tokenizer, models

import lopt_plugin

TEXT = "Hello world, the end."


def call(tokenizer: Any) -> Any:
    return tokenizer(TEXT)["input_ids"]


def encode(tokenizer: Any) -> Any:
    return tokenizer.encode(TEXT)


def truncate(tokenizer: Any) -> Any:
    return tokenizer(TEXT, truncation=True, max_length=4)["input_ids"]


@pytest.mark.every_parameter
@pytest.mark.parametrize("plain", [call, encode])
@pytest.mark.parametrize("before", [[], [truncate], [call, truncate], [truncate, call]])
def test_what_a_saved_tokenizer_has_of_them(
    plain: Callable[[Any], Any], before: Sequence[Callable[[Any], Any]]
) -> None:
    """No truncation, as in transformers, whatever its file or an earlier call has set."""
    hf = copy.deepcopy(interface_tokenizers.original("qwen"))
    hf._tokenizer.enable_truncation(7)
    ours = lopt_plugin.accelerate(copy.deepcopy(hf))
    for each in (*before, plain):
        assert each(ours) == each(hf)
    assert pickle.loads(pickle.dumps(ours))._tokenizer.truncation is hf._tokenizer.truncation is None


@pytest.mark.every_parameter
@pytest.mark.parametrize("plain", [call, encode])
def test_a_backend_that_was_there_before(plain: Callable[[Any], Any]) -> None:
    other = Tokenizer(models.BPE({letter: number for number, letter in enumerate(sorted(set(TEXT)))}, []))
    ours = lopt_plugin.accelerate(copy.deepcopy(interface_tokenizers.original("qwen")))
    assert plain(ours) == plain(ours)
    ours._tokenizer = other
    assert plain(ours) == other.encode(TEXT).ids
