"""Copies of an accelerated tokenizer have what deepcopy copies, and share nothing that can change."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from corpus import tokenizer_json
from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.engines.acceleration import Acceleration
from lopt_plugin.engines.subclass import Brand
from lopt_plugin.tokenizer.flat_copies import with_flat_copies


class Text(str):
    pass


class Entries(list[Any]):
    pass


VOCAB = {f"token {number}": number for number in range(300)}
MERGES = [(f"a{number}", f"b{number}") for number in range(300)]
FLAT: dict[str, Any] = {
    "vocab": VOCAB,
    "merges": MERGES,
    "ranks": {pair: rank for rank, pair in enumerate(MERGES)},
    "names": dict(enumerate(MERGES)),
    "scores": [("a", -1.5), ("b", float("nan")), ("c", None), ("d", True), ()],
    "atoms": ["a", 1, 2.5, False, None],
    "empty list": [],
    "empty dict": {},
}
# Those that hold something that can change, or what has a copy of its own.
ODD: dict[str, Any] = {
    "lists in a list": [["a", "b"], ["c", "d"]],
    "one list in a list": ["a", ["b"]],
    "lists in a dict": {"a": [1], "b": [2]},
    "dicts in a list": [{"a": 1}],
    "lists in tuples": [("a", ["b"]), ("c", [])],
    "lists in tuples in tuples": [(("a", ["b"]),)],
    "lists in tuples in a dict": {"a": ([1],)},
    "tuples and others": [("a",), "b", ("c", [1])],
    "added tokens": {0: AddedToken("<s>"), 1: AddedToken("</s>")},
    "bytes": [bytearray(b"a"), b"b"],
    "sets": [{1, 2}],
    "str of another class": [Text("a")],
    "key of another class": {Text("a"): 1},
    "dict of another class": OrderedDict(a=1, b=2),
    "dict with a default": defaultdict(list, a=[1]),
    "list of another class": Entries(["a", "b"]),
}


def tokenizer_with(attributes: dict[str, Any]) -> Any:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer_json("tiny_qwen2")))
    tokenizer.__dict__.update(attributes)
    return tokenizer


def copied_by_an_engine(tokenizer: Any) -> Any:
    """As a tokenizer that others hold; it has no class of the engine here."""
    return Acceleration("vLLM", (), ()).run(tokenizer, lambda given: Brand(given.__name__, (), {}), shared=True)


COPIES: dict[str, Callable[[Any], Any]] = {
    "accelerate": lopt_plugin.accelerate,
    "accelerated again": lambda tokenizer: lopt_plugin.accelerate(lopt_plugin.accelerate(tokenizer)),
    "deepcopy": lambda tokenizer: copy.deepcopy(lopt_plugin.accelerate(tokenizer)),
    "an engine": copied_by_an_engine,
}


def assert_copied(original: Any, copied: Any, pairs: dict[int, Any], expected: Any) -> None:
    """The same values of the same classes, each list and dict a new one, and one wherever it was one.

    `expected` is what deepcopy makes of the original; only what deepcopy shares may be shared.
    """
    assert type(copied) is type(original)
    assert (copied is original) == (expected is original), original
    assert pairs.setdefault(id(original), copied) is copied, original
    if isinstance(original, dict):
        assert list(copied) == list(original)
        for ours, theirs, key in zip(copied, expected, original, strict=True):
            assert_copied(key, ours, pairs, theirs)
            assert_copied(original[key], copied[key], pairs, expected[key])
    elif isinstance(original, list | tuple):
        assert len(copied) == len(original)
        for before, ours, theirs in zip(original, copied, expected, strict=True):
            assert_copied(before, ours, pairs, theirs)
    elif original == original:
        assert copied == original


@pytest.mark.parametrize("way", COPIES)
def test_attributes_are_those_of_deepcopy(way: str) -> None:
    attributes = {**FLAT, **ODD}
    tokenizer = tokenizer_with(attributes)
    copied = COPIES[way](tokenizer)
    expected = copy.deepcopy(attributes)
    assert_copied(attributes, {name: vars(copied)[name] for name in attributes}, {}, expected)
    assert {name: vars(tokenizer)[name] for name in attributes} == attributes
    assert copied.init_kwargs is not tokenizer.init_kwargs
    kept = vars(tokenizer).keys() - attributes.keys() - {"_tokenizer"}
    assert {name: vars(copied)[name] for name in kept} == {name: vars(tokenizer)[name] for name in kept}


@pytest.mark.parametrize("way", COPIES)
def test_one_list_remains_one_list(way: str) -> None:
    vocab, merges, nested = dict(VOCAB), list(MERGES), [["a"]]
    tokenizer = tokenizer_with({"first": vocab, "second": vocab, "both": [vocab, merges, nested], "nested": nested})
    tokenizer.merges = merges
    copied = COPIES[way](tokenizer)
    assert copied.first is copied.second is copied.both[0]
    assert copied.merges is copied.both[1]
    assert copied.nested is copied.both[2]
    copied.first["new"] = -1
    copied.merges.append(("x", "y"))
    copied.nested[0].append("b")
    assert (vocab, merges, nested) == (VOCAB, MERGES, [["a"]])


def test_what_is_already_copied_is_not_copied_again() -> None:
    """As in a deepcopy of a list that holds an attribute of the tokenizer, and then the tokenizer."""
    vocab = dict(VOCAB)
    ours = lopt_plugin.accelerate(tokenizer_with({}))
    ours.entries = vocab
    before, copied, after = copy.deepcopy([vocab, ours, vocab])
    assert before is copied.entries is after is not vocab
    copied, after = copy.deepcopy([ours, vocab])
    assert copied.entries is after is not vocab


@pytest.mark.parametrize(("names", "are_flat"), [(FLAT, True), (ODD, False)], ids=["flat", "odd"])
def test_which_are_copied_without_deepcopy(names: dict[str, Any], are_flat: bool) -> None:
    for name, value in names.items():
        tokenizer = tokenizer_with({"attribute": value})
        assert (id(value) in with_flat_copies(tokenizer, {})) == are_flat, name


def test_an_attribute_lives_as_long_as_the_memo() -> None:
    """Otherwise another object could get its id, and be taken for it."""
    tokenizer = tokenizer_with({"attribute": list(MERGES)})
    number = id(tokenizer.attribute)
    memo = with_flat_copies(tokenizer, {})
    del tokenizer.attribute
    assert number in {id(kept) for kept in memo[id(memo)]}
