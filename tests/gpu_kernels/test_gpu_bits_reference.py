"""The reference of the bit-parallel boundaries against that of all characters, and the reference library."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import corpus
import gpu_texts
import numpy as np
import pytest

from lopt_plugin.triton_kernels.classify.naive import classify
from lopt_plugin.triton_kernels.classify.naive_masks import ascii_masks
from lopt_plugin.triton_kernels.common import character_kinds as kinds
from lopt_plugin.triton_kernels.pretokenize import naive
from lopt_plugin.triton_kernels.pretokenize.ascii import naive as naive_bits

PATTERNS = tuple(naive_bits.PATTERNS)
SHORT_STRINGS = [("aA1 \n's!/", 4), ("aA' \n\x01", 5), ("a'slA", 6), ("!\n/a ", 6), (" \t\n!a1", 5), ("'aslre!", 4)]


def _ascii(texts: Iterable[str]) -> list[str]:
    return ["".join(c for c in text if c.isascii()) for text in texts]


def _flags(text: gpu_texts.Bytes, pattern: str) -> gpu_texts.Bytes:
    bits = naive_bits.boundaries(text, pattern)
    return np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little")


def _assert_same(texts: Iterable[str]) -> None:
    for batch in gpu_texts.batches(texts, 50_000):
        text = gpu_texts.pack(batch)
        classes = classify(text, gpu_texts.table())
        for pattern in PATTERNS:
            flags = _flags(text, pattern)
            assert not flags[len(text) :].any()
            assert np.array_equal(flags[: len(text)], naive.boundaries(text, classes, pattern)), pattern


def test_patterns_are_those_of_the_reference_of_all_characters() -> None:
    assert set(PATTERNS) == set(naive.PATTERNS)


def test_masks_are_the_kinds_of_the_reference_library() -> None:
    text = np.append(np.arange(128, dtype=np.uint8), np.uint8(0xFF))
    masks = ascii_masks(text, ignore_case=True)
    kind = classify(text, gpu_texts.table()) & kinds.KIND_MASK
    other = kind <= kinds.PUNCTUATION
    expected = {
        "letter": (kind == kinds.UPPER) | (kind == kinds.LOWER),
        "upper": kind == kinds.UPPER,
        "number": kind == kinds.NUMBER,
        "newline": kind == kinds.NEWLINE,
        "plain": (kind == kinds.SPACE) | (kind == kinds.ASCII_SPACE),
        "ascii_space": kind == kinds.ASCII_SPACE,
        "separator": kind == kinds.SEPARATOR,
        "other": other,
        "control": kind == kinds.UNASSIGNED,
    }
    for name, places in expected.items():
        assert [getattr(masks, name) >> place & 1 for place in range(len(text))] == places.astype(int).tolist(), name


def test_short_strings() -> None:
    for alphabet, most in SHORT_STRINGS:
        lengths = range(1, most + 1)
        _assert_same("".join(chars) for length in lengths for chars in itertools.product(alphabet, repeat=length))


def test_few_characters() -> None:
    rng = random.Random(8)
    often = [*"aaAAss    \n\n''11!!//", "'s", "'ll", "'Re"]
    for _ in range(10):
        few = rng.choices([*map(chr, range(128)), *3 * often], k=10)
        _assert_same(["".join(rng.choice(few) * rng.choice([1, 1, 1, 2, 3, 20, 70]) for _ in range(1000))])


@pytest.mark.parametrize("family", corpus.conformance_families())
def test_hard_texts(family: str) -> None:
    _assert_same(_ascii(text[:2000] for text in corpus.conformance(family, 3)))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents_against_the_reference_library(pattern: str) -> None:
    for kind in corpus.corpora():
        documents = _ascii(corpus.texts(kind, 30_000))
        text = gpu_texts.pack(documents)
        expected = gpu_texts.reference_starts(gpu_texts.PATTERNS[pattern], documents)
        assert np.array_equal(_flags(text, pattern)[: len(text)], expected), kind


def test_nothing_and_other_bytes() -> None:
    assert not len(naive_bits.boundaries(np.zeros(0, dtype=np.uint8), "o200k"))
    with pytest.raises(ValueError, match="ASCII"):
        naive_bits.boundaries(gpu_texts.pack(["é"]), "gpt2")
