"""The pre-tokens of the native core against those of the reference library: boundaries in bytes, compared with ==."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import corpus
import native_cores
import numpy as np
import pytest
import representatives
import tier
from random_models import STAND_INS, stand_ins
from reference import Reference
from tokenizers import Tokenizer

from lopt_plugin.pipeline import BytePairModel, read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings
from lopt_plugin.unicode_tables import load

# The small tokenizers have the pre-tokenizers of all families; the others are tried on real texts only. Those of
# characters have cuts for pre-tokens, of which the reference knows nothing: test_sentencepiece.py. That of tiny_roberta
# puts a space before the text.
NAMES = [name for name in native_cores.BYTE_LEVEL if name != "tiny_roberta"]
SMALL = [name for name in NAMES if name.startswith("tiny_") or name == "roberta_base"]

# One character of each class that a split pattern tells apart, few enough to try all short strings: errors in
# backtracking, look-ahead and the order of alternatives show in three to five characters.
SHORT_STRINGS = [("aA1 \n's.é中あ゛\u0301²\u200b/ſ", 3), ("aA' \n1\u0301中", 4), ("aʰA!\n/", 5)]
SHORT_STRINGS += [("中〇⺀々\U00016ff0aA1! \n", 4)]  # Han of every class


@functools.lru_cache(maxsize=2)
def _core_and_reference(name: str) -> tuple[Callable[[str], list[tuple[int, int]]], Reference]:
    reference = Reference(name)
    pipeline = read_pipeline(reference.tokenizer)
    assert isinstance(pipeline.model, BytePairModel)
    assert not pipeline.add_prefix_space
    return NativeRoute(pipeline, Settings.read()).core.pre_tokens, reference


def _cut_elsewhere(name: str, texts: Iterable[str]) -> list[str]:
    """The texts, at most five, that the core does not cut as the reference does."""
    pre_tokens, reference = _core_and_reference(name)
    texts, different = list(texts), []
    for text, pieces in zip(texts, reference.pre_tokens(texts), strict=True):
        # All these pipelines end in ByteLevel, whose stand-in characters are one a byte.
        stops = list(itertools.accumulate(len(piece) for piece, _ in pieces))
        expected = list(itertools.pairwise([0, *stops]))
        if "clip" in name:  # leaves some of the text out, and never cuts a character
            places = [0, *itertools.accumulate(len(c.encode()) for c in text)]
            expected = [(places[start], places[stop]) for _, (start, stop) in pieces]
        if list(map(tuple, pre_tokens(text).tolist())) != expected:
            different.append(text)
            if len(different) == 5:
                break
    return different


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", SMALL)
def test_short_strings(name: str) -> None:
    texts = (
        "".join(characters)
        for alphabet, most in SHORT_STRINGS
        for length in range(1, most + 1)
        for characters in itertools.product(alphabet, repeat=length)
    )
    assert _cut_elsewhere(name, texts) == []


@pytest.mark.parametrize("name", SMALL)
def test_every_code_point_in_context(name: str) -> None:
    # The reference takes long over long texts. Most code points are in no class at all: some of those will do.
    bits = load.character_classes().bits()
    code_points = [c for c in range(0x110000) if (bits[c] or c % 64 == 1) and not 0xD800 <= c < 0xE000]
    code_points = code_points[:: tier.pick(11, 1)]
    contexts = [f" x{c}x {c}{c}1 !{c}'s  {c}\n" for c in map(chr, code_points)]
    texts = ("".join(contexts[start : start + 16]) for start in range(0, len(contexts), 16))
    assert _cut_elsewhere(name, texts) == []


@pytest.mark.parametrize("family", corpus.conformance_families())
@pytest.mark.parametrize("name", SMALL)
def test_hard_texts(name: str, family: str) -> None:
    assert _cut_elsewhere(name, (text[:3000] for text in corpus.conformance(family, 1))) == []


@pytest.mark.parametrize("name", SMALL)
def test_windows(name: str) -> None:
    """Many windows over few characters, so that every rule of the window step meets the others at any place."""

    def texts() -> Iterator[str]:
        rng = random.Random(name)
        alphabet = [*representatives.characters(), *"aaAAss    \n\n''11!!//", *SHORT_STRINGS[0][0]]
        for _ in range(300):
            few = rng.choices(alphabet, k=rng.randint(2, 12))
            yield "".join(rng.choice(few) * rng.choice([1, 1, 1, 2, 3, 20]) for _ in range(300))

    assert _cut_elsewhere(name, texts()) == []


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", [name for name in SMALL if "clip" not in name])
def test_ids_that_show_every_boundary(name: str) -> None:
    """Only ids show the pre-tokens of windows and runs. Here, most change with a boundary too few or too many."""
    rng = random.Random(name)
    alphabet = [c for c in representatives.characters() if ord(c) >= 0x800]
    alphabet += "\u2e80\u2e81\u3007\u4e2d\u6587\u3002\u304b\u3000\u30fbaZsS1 \n'/.\r\u00e9"
    words = [*"\u2e80\u3007\u4e2d\u6587\u304b\u02b0\u0301\u0410\u0430aZsSrReE' ", "'s", "'Re"]
    differ = []
    for number in range(tier.pick(12, 60)):
        few = rng.sample(words, 8) if number % 3 == 0 else rng.sample(alphabet, rng.randint(3, 10))
        core, reference = _with_all_pairs(name, few, rng)
        lengths = rng.choices([3, 30, 200], k=20)
        texts = ["".join(rng.choice(few) * rng.choice([1, 1, 2, 3, 30]) for _ in range(length)) for length in lengths]
        differ += native_cores.different(core, reference, texts)
        differ += native_cores.different(core, reference, texts[10:], threads=2, chunk_chars=rng.randint(1, 20))
    assert differ == []


def _with_all_pairs(name: str, characters: list[str], rng: random.Random) -> tuple[Any, Tokenizer]:
    """The tokenizer with a vocabulary of these characters and all pairs of them, merged in any order, and its core.

    Some entries of three characters are no merge's result: where merges are ignored, these are whole pre-tokens,
    in some models of ASCII only.
    """
    state = json.loads(corpus.tokenizer_json(name))
    whole = [stand_ins(c.encode()) for c in characters]
    parts = [entry[:end] for entry in whole for end in range(2, len(entry) + 1)]
    pairs = [left + right for left, right in itertools.product(whole, repeat=2)]
    merges = [(part[:-1], part[-1]) for part in dict.fromkeys(parts)]
    merges += [(left, right) for left, right in rng.sample([*itertools.product(whole, repeat=2)], len(pairs))]
    ascii_only = [entry for entry in whole if len(entry) == 1]
    of = rng.choice([whole, ascii_only or whole])
    triples = ["".join(rng.choices(of, k=3)) for _ in range(20)]
    entries = dict.fromkeys([*STAND_INS, *parts, *pairs, *triples])
    state["model"] |= {"vocab": {entry: i for i, entry in enumerate(entries)}, "merges": merges}
    state["model"] |= dict.fromkeys(("unk_token", "continuing_subword_prefix", "end_of_word_suffix"))
    state |= {"added_tokens": [], "post_processor": None}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    return native_cores.core_of(tokenizer), tokenizer


@pytest.mark.parametrize("name", SMALL)
def test_the_array(name: str) -> None:
    core = native_cores.core_and_reference(name)[0]
    for text in ("", "a", "one  two 123\n", "\u4e2d\u6587 caf\u00e9 \U0001f600's" * 300):
        array = core.pre_tokens(text)
        assert (array.dtype, array.shape[1:]) == (np.int64, (2,))
    with pytest.raises(TypeError):
        core.pre_tokens(b"a")


@pytest.mark.parametrize("name", tier.pick(["tiny_o200k"], [name for name in NAMES if name not in SMALL]))
def test_documents(name: str) -> None:
    assert _cut_elsewhere(name, (text for kind in corpus.corpora() for text in corpus.texts(kind, 20_000))) == []
