"""Lists of offsets: what they are made of is used again, and nobody who holds a part of one may notice."""

from __future__ import annotations

import gc
import random
import sys
import threading
from typing import Any

import pytest
import tier
from native_cores import route_of
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.routes.native import NativeRoute

Offsets = list[tuple[int, int]]


def backend(trims: bool) -> Tokenizer:
    """Each byte is a token, and so is a space with an `a` after it."""
    letters = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {letter: number for number, letter in enumerate([*sorted(letters), "Ġa"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("Ġ", "a")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trims)
    return tokenizer


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "trimmed"])
def native(request: Any) -> NativeRoute:
    return route_of(backend(request.param))


def text_of(rng: random.Random, words: int) -> str:
    return "".join(rng.choices([" a", "b", " b", "é", "\n", "  a"], k=words))


def both(native: NativeRoute, text: str) -> tuple[Offsets, Offsets]:
    """The list, and what it must be and stay."""
    _, offsets = native.text_with_offsets(text, False, None, False, as_lists=True)
    _, array = native.text_with_offsets(text, False, None, False, as_lists=False)
    return offsets, [(begin, end) for begin, end in array.tolist()]


def test_what_is_held_stays(native: NativeRoute) -> None:
    """Lists, tuples and integers that are held, in any combination, while others are made and dropped."""
    rng = random.Random(5)
    held: list[tuple[Any, Any]] = []
    for turn in range(1500):
        offsets, expected = both(native, text_of(rng, rng.choice((0, 1, 2, 30, 300, 900))))
        assert offsets == expected
        assert all(type(offset) is tuple for offset in offsets)
        how = turn % 8
        if how == 0:
            held.append((offsets, expected))
        elif how in (1, 2, 3) and offsets:
            begin = rng.randrange(len(offsets))
            step = rng.randint(1, 40)
            held.append((offsets[begin::step], expected[begin::step]))
        elif how in (4, 5) and offsets:
            places = rng.sample(range(len(offsets)), min(len(offsets), 9))
            held.append(([offsets[i][how - 4] for i in places], [expected[i][how - 4] for i in places]))
        elif how == 6 and offsets:
            held.append((dict.fromkeys(offsets[-3:]), dict.fromkeys(expected[-3:])))
        if rng.random() < 0.4 and held:
            held.pop(rng.randrange(len(held)))
        if turn % 50 == 0:
            assert all(found == right for found, right in held)
    assert all(found == right for found, right in held)


def test_more_than_is_kept(native: NativeRoute) -> None:
    rng = random.Random(6)
    long = text_of(rng, tier.pick(200_000, 400_000))
    held = [both(native, long) for _ in range(2)]
    offsets, expected = both(native, long[:1000])
    assert offsets == expected
    assert all(found == right for found, right in held)
    kept = native.info()["offset_object_bytes"]
    assert kept < 64 << 20
    del held, offsets
    offsets, expected = both(native, long)
    assert offsets == expected
    assert native.info()["offset_object_bytes"] == kept


def test_references() -> None:
    """One reference from the list and one from who keeps the tuple; none is lost, and nothing grows."""
    tokenizer = backend(False)
    native = route_of(tokenizer)
    text = text_of(random.Random(7), 2000)
    offsets, expected = both(native, text)
    assert {sys.getrefcount(offset) for offset in offsets} <= {3, 4}
    assert not any(gc.is_tracked(offset) for offset in offsets)
    blocks = []
    for turn in range(60):
        offsets, expected = both(native, text[turn % 3 :])
        assert offsets == expected
        del offsets, expected
        blocks.append(sys.getallocatedblocks())
    assert max(blocks[30:]) - min(blocks[30:]) < 200
    offsets, _ = both(native, text)
    del native
    gc.collect()
    assert {sys.getrefcount(offset) for offset in offsets} <= {2, 3}
    assert offsets[0][0] == 0


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_as_before(native: NativeRoute, enabled: bool) -> None:
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        both(native, " a b" * 500)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_several_threads(native: NativeRoute) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        held = []
        for _ in range(150):
            held.append(both(native, text_of(rng, rng.choice((3, 100, 1500)))))
            del held[: len(held) - 4]
            wrong.extend(seed for found, right in held if found != right)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_id_before(native: NativeRoute) -> None:
    rng = random.Random(10)
    for _ in range(100):
        text = text_of(rng, rng.choice((0, 1, 5, 200)))
        for limit in (None, 3):
            ids, offsets = native.text_with_offsets(text, False, limit, False, as_lists=True)
            for first_id in (0, 5):
                found = native.text_with_offsets(text, False, limit, False, as_lists=True, first_id=first_id)
                assert found == ([first_id, *ids], [(0, 0), *offsets])
    with pytest.raises(ValueError, match="first_id"):
        native.core.encode_with_offsets("a", as_lists=True, first_id=native.core.id_count())


def test_places_beyond_those_that_are_kept(native: NativeRoute) -> None:
    text = " a\u00e9b" * tier.pick(70_000, 140_000)
    held = [both(native, text), both(native, text[1:])]
    assert all(found == right for found, right in held)
    assert native.info()["offset_object_bytes"] < 64 << 20
    last = held[0][0][-1]
    del held
    assert both(native, text)[0][-1] == last == (len(text) - 1, len(text))


@pytest.mark.parametrize("special", [True, False])
def test_through_the_interface(special: bool) -> None:
    """The short way of one text and of a batch: special tokens, cuts at both ends, and what can be asked after it."""
    tokenizer = backend(True)
    tokenizer.add_special_tokens(["<s>", "</s>"])
    begin, end = (token for token in ("<s>", "</s>"))
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single=f"{begin} $A {end}",
                pair=f"{begin} $A {end} $B:1 {end}:1",
                special_tokens=[(token, tokenizer.token_to_id(token)) for token in (begin, end)],
            ),
        ]
    )
    hf = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="</s>")
    ours = lopt_plugin.accelerate(hf, threads=1)
    texts = ["", " ", "a", " a b\n\n é a", "<s> a </s>", " a" * 400]
    for side in ("right", "left"):
        hf.truncation_side = ours.truncation_side = side
        for options in ({}, {"truncation": True, "max_length": 7}, {"truncation": True, "max_length": 3}):
            call = {"add_special_tokens": special, "return_offsets_mapping": True, **options}
            for text in (*texts, texts):
                found, right = ours(text, **call), hf(text, **call)
                assert dict(found) == dict(right)
                assert list(found) == list(right)
                rows = len(texts) if isinstance(text, list) else 1
                for row in range(rows):
                    assert found.sequence_ids(row) == right.sequence_ids(row)
                    assert found.word_ids(row) == right.word_ids(row)
    assert ours.lopt.explain()["hf_calls"] == {}
