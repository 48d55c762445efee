"""Truncation and padding in what is saved, copied and pickled after calls that the Encoder has answered."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import interface_tokenizers
import pytest

import lopt_plugin
from lopt_plugin.tokenizer.arguments import TRANSFORMERS_4

CALLS: list[dict[str, Any]] = [
    {},
    {"truncation": True, "max_length": 5},
    {"truncation": "only_first", "max_length": 6},
    {"padding": "max_length", "max_length": 9},
    {"padding": True, "pad_to_multiple_of": 4, "truncation": True, "max_length": 8, "padding_side": "left"},
    {"truncation": True, "max_length": 7, "stride": 2, "return_overflowing_tokens": True},
    {"truncation": True, "max_length": 7, "return_offsets_mapping": True},
]


def state_of(tokenizer: Any) -> tuple[Any, Any]:
    return tokenizer._tokenizer.truncation, tokenizer._tokenizer.padding


@pytest.mark.parametrize("name", ["bert", "qwen"])
def test_saved_and_copied(name: str, tmp_path: Path) -> None:
    hf = copy.deepcopy(interface_tokenizers.original(name))
    ours = lopt_plugin.accelerate(copy.deepcopy(hf))
    for number, calls in enumerate(itertools.product(CALLS, repeat=2)):
        for arguments in calls:
            for tokenizer in (hf, ours):
                tokenizer("Hello world, the end of the world", **arguments)
                if not arguments.keys() & {"return_overflowing_tokens", "return_offsets_mapping"}:
                    tokenizer.encode("the end of the world", **arguments)
        if number % 3 == 0:
            ours.save_pretrained(tmp_path)
            saved = json.loads((tmp_path / "tokenizer.json").read_text())
            expected = json.loads(hf._tokenizer.to_str())
            assert (saved["truncation"], saved["padding"]) == (expected["truncation"], expected["padding"]), calls
        copied = copy.deepcopy(ours) if number % 3 == 1 else pickle.loads(pickle.dumps(ours))
        assert state_of(copied) == state_of(hf), calls
        assert copied("the end", **calls[0])["input_ids"] == hf("the end", **calls[0])["input_ids"]
        ours("a")
        hf("a")
    if not TRANSFORMERS_4:  # where what overflows is left to it
        assert ours.lopt.explain()["calls"]["hf"] == 0


def test_the_tokenizers_state_is_read_while_another_thread_uses_the_reference() -> None:
    """It has set its own truncation, and sets back what there was."""
    ours = lopt_plugin.accelerate(copy.deepcopy(interface_tokenizers.original("qwen")))
    ours("the end")
    hf, backend = ours.lopt._runner.hf, ours._tokenizer

    def call() -> None:
        ours("the end", truncation=True, max_length=5)

    other = threading.Thread(target=call)
    with hf.lock:
        backend.enable_truncation(3)
        other.start()
        other.join(0.2)
        backend.no_truncation()
    other.join()
    assert copy.deepcopy(ours)._tokenizer.truncation["max_length"] == 5


def test_a_value_set_directly_stays() -> None:
    ours = lopt_plugin.accelerate(copy.deepcopy(interface_tokenizers.original("qwen")))
    ours("the end", truncation=True, max_length=5)
    ours._tokenizer.enable_truncation(3)
    assert copy.deepcopy(ours)._tokenizer.truncation["max_length"] == 3
