"""Calls from ids to text of an accelerated tokenizer, against transformers: results, warnings and exceptions."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import pickle
from array import array
from typing import Any

import interface_tokenizers
import numpy as np
import pytest
from outcomes import outcome
from tokenizers import decoders

import lopt_plugin
from lopt_plugin.tokenizer import overrides

IDS: list[Any] = [
    *[5, [5], [], [5, 6, 7] * 9, [[5, 6], [7]], [[], [5]], [[5], 6], [5, [6]], (5, 6), ((5, 6), (7,)), range(3, 9)],
    *[-1, [-1], [1 << 32], [1 << 70], 10**6, [10**6, 5], True, [True, 5], None, [None], [[None]], "5", ["5"]],
    *[np.int64(5), np.array(5), np.array([5, 6]), np.array([[5, 6], [7, 8]], np.int32), [np.int64(5), 6], [[[5]]]],
    *[5.0, [5.0], {"input_ids": [5, 6]}, {"ids": [5]}, [np.array([5, 6]), np.array([7])], np.array([5.0]), {5, 6}],
    *[array("q", [5, 6, 7]), array("q", [5, -1]), array("d", [5.0])],
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"skip_special_tokens": True},
    {"skip_special_tokens": 1},
    {"skip_special_tokens": None},
    {"clean_up_tokenization_spaces": True},
    {"clean_up_tokenization_spaces": False, "skip_special_tokens": True},
    {"spaces_between_special_tokens": True},
    {"use_source_tokenizer": False},
    {"something": 1},
]
NAMES = interface_tokenizers.names()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["decode", "batch_decode"])
def test_arguments(name: str, method: str) -> None:
    original = interface_tokenizers.original(name)
    accelerated = lopt_plugin.accelerate(original, threads=1)
    for cleans_up in (False, True):
        original.clean_up_tokenization_spaces = accelerated.clean_up_tokenization_spaces = cleans_up
        for options in OPTIONS:
            for ids in IDS:
                ours, expected = (outcome_of(tokenizer, method, ids, options) for tokenizer in (accelerated, original))
                assert ours == expected, (ids, options, cleans_up)
    original.clean_up_tokenization_spaces = False


def outcome_of(tokenizer: Any, method: str, ids: Any, options: dict[str, Any]) -> tuple[str, Any]:
    """With the warnings that transformers gives once in a process, but for one that we give once for a tokenizer."""
    logging.Logger.warning_once.cache_clear()  # type: ignore[attr-defined]
    kind, (*values, messages) = outcome(lambda: getattr(tokenizer, method)(ids, **options))
    return kind, (*values, [text for text in messages if "Ignoring clean_up_tokenization_spaces" not in text])


@pytest.mark.parametrize("corrupts", [False, True])
def test_texts_of_bpe_that_are_cleaned_up(corrupts: bool) -> None:
    """Release 5 of transformers spares them, unless an attribute says otherwise; transformers 4 cleans them up."""
    original = copy.deepcopy(interface_tokenizers.original("qwen"))
    original.clean_up_tokenization_spaces = True
    original.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output = corrupts
    accelerated = lopt_plugin.accelerate(original)
    ids = original.encode("the end , isn 't it ?")
    for call in ("decode", "_decode"):
        for _ in range(3):  # at first it warns
            assert getattr(accelerated, call)(ids) == getattr(original, call)(ids)
    assert ("end," in original.decode(ids)) or not corrupts


@pytest.mark.parametrize("name", NAMES)
def test_every_id(name: str) -> None:
    original = interface_tokenizers.original(name)
    accelerated = lopt_plugin.accelerate(original, threads=1)
    rows = [[number] for number in range(len(original) + 2)] + [list(range(start, start + 20)) for start in range(200)]
    for options in OPTIONS[:2] + OPTIONS[4:7]:
        assert accelerated.batch_decode(rows, **options) == original.batch_decode(rows, **options)
        assert [accelerated.decode(row, **options) for row in rows] == [original.decode(row, **options) for row in rows]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("skip", [False, True])
def test_tokens(name: str, skip: bool) -> None:
    original = interface_tokenizers.original(name)
    accelerated = lopt_plugin.accelerate(original, threads=1)
    for ids in [*IDS, list(range(len(original) + 2)), original.all_special_ids]:
        ours, expected = (
            outcome(lambda t=t, i=ids: t.convert_ids_to_tokens(i, skip_special_tokens=skip))
            for t in (accelerated, original)
        )
        assert ours == expected, ids


def test_the_positional_arguments() -> None:
    original = interface_tokenizers.original(NAMES[0])
    accelerated = lopt_plugin.accelerate(original)
    for arguments in ([5, 6], True), ([5, 6], True, False):
        assert outcome(lambda a=arguments: accelerated.decode(*a)) == outcome(lambda a=arguments: original.decode(*a))
    assert accelerated.decode(token_ids=[5, 6], skip_special_tokens=True) == original.decode([5, 6], True)


@pytest.mark.parametrize("name", overrides.DECODE)
def test_a_method_of_its_own(name: str) -> None:
    """In the class that is accelerated, and in a class above it."""
    original = interface_tokenizers.original("qwen")

    def with_method(cls: Any) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return "own", getattr(super(made, self), name)(*args, **kwargs)

        made = type("Own", (cls,), {name: method})
        return made

    own = copy.deepcopy(original)
    own.__class__ = with_method(type(original))
    above = lopt_plugin.accelerate(original)
    above.__class__ = with_method(type(above))
    for accelerated in (lopt_plugin.accelerate(own), above):
        for _ in range(3):
            assert accelerated.decode([5, 6]) == own.decode([5, 6])
            assert accelerated.decode([[5, 6], [7]], True) == own.decode([[5, 6], [7]], True)
            assert accelerated.batch_decode([[5, 6]]) == own.batch_decode([[5, 6]])
            assert accelerated.convert_ids_to_tokens([5, 6]) == own.convert_ids_to_tokens([5, 6])
        assert accelerated.lopt.decode_ids([5]) == original.decode([5])


def test_the_method_itself() -> None:
    original = interface_tokenizers.original("qwen")
    accelerated = lopt_plugin.accelerate(original)
    assert list(inspect.signature(accelerated.decode).parameters)[:2] == ["token_ids", "skip_special_tokens"]
    ids = original.encode("Hello world")
    cls = type(accelerated)
    for call in (accelerated.decode, functools.partial(cls.decode, accelerated)):
        assert call(token_ids=ids) == call(ids, False) == original.decode(ids)
        assert outcome(lambda call=call: call()) == outcome(original.decode)
        assert outcome(lambda call=call: call(ids, False, skip_special_tokens=True))[0] == "raised"
    with pytest.raises(TypeError):
        cls.decode()


def test_after_changes() -> None:
    original = copy.deepcopy(interface_tokenizers.original("qwen"))
    accelerated = lopt_plugin.accelerate(original)
    ids = list(range(200))

    def check() -> None:
        for _ in range(3):
            assert accelerated.decode(ids) == original.decode(ids)
            assert accelerated.batch_decode([ids]) == original.batch_decode([ids])
            assert accelerated.convert_ids_to_tokens(ids[:9]) == original.convert_ids_to_tokens(ids[:9])

    check()
    original.backend_tokenizer.decoder = decoders.Metaspace()
    check()
    original.add_tokens(["<new>"])
    ids.append(original.convert_tokens_to_ids("<new>"))
    check()
    accelerated._tokenizer = original._tokenizer = copy.deepcopy(original._tokenizer)
    original._tokenizer.decoder = decoders.ByteLevel()
    check()


def test_arrays_and_tuples_are_no_fallback() -> None:
    accelerated = lopt_plugin.accelerate(interface_tokenizers.original("qwen"))
    expected = accelerated.decode([5, 6])
    assert [accelerated.decode(ids) for ids in (array("q", [5, 6]), (5, 6), np.array([5, 6]))] == [expected] * 3
    assert accelerated.lopt.explain()["hf_calls"] == {}


def test_pickles_do_not_depend_on_calls() -> None:
    accelerated = lopt_plugin.accelerate(interface_tokenizers.original("qwen"))
    before = pickle.dumps(accelerated)
    expected = accelerated.decode([5, 6])
    assert pickle.dumps(accelerated) == before
    restored = pickle.loads(before)
    assert restored.decode([5, 6]) == copy.deepcopy(accelerated).decode([5, 6]) == expected
    assert restored.lopt.explain()["decoding"]["route"] == "native"
