"""The NumPy references of the GPU kernels against the reference library: no GPU, torch or Triton is needed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator

import corpus
import gpu_texts
import numpy as np
import pytest
import representatives

from lopt_plugin.routes.gpu.character_kinds import kind_table
from lopt_plugin.triton_kernels.classify.naive import classify
from lopt_plugin.triton_kernels.common import character_kinds
from lopt_plugin.triton_kernels.compact.naive import compact
from lopt_plugin.triton_kernels.pretokenize.naive import PATTERNS, boundaries
from lopt_plugin.unicode_tables import load, table

SHORT_STRINGS = [
    ("aA1 \n's.é中あ゛\u0301²\u200b/ſ", 3),
    ("aA' \n1\u0301中", 4),
    ("aʰA!\n/", 5),
    ("!\n/\u0301a", 6),
    ("'sl\u0301A", 6),
    (" \t\n!a", 6),
    ("aA' \n\x01", 5),
    ("'aslre!", 4),
]
# The tokenizers of ../shared whose patterns the kernels know.
LARGE = {
    "gpt2": ["gpt2"],
    "qwen2": [],
    "cl100k": ["llama3"],
    "o200k": ["gpt4o", "gpt_oss"],
    "tekken": ["mistral_tekken"],
    "deepseek_v3": ["deepseek_v3"],
}


def _starts(pattern: str, texts: list[str]) -> gpu_texts.Bytes:
    text = gpu_texts.pack(texts)
    return boundaries(text, classify(text, gpu_texts.table()), pattern)


def _cut_elsewhere(pattern: str, texts: Iterable[str], tokenizer: str | None = None) -> list[str]:
    """The texts, at most five, that the reference for the kernels does not cut as the reference library does."""
    tokenizer = tokenizer or gpu_texts.PATTERNS[pattern]
    different: list[str] = []
    for batch in gpu_texts.batches(texts, 100_000):
        if not np.array_equal(_starts(pattern, batch), gpu_texts.reference_starts(tokenizer, batch)):
            different += [
                text
                for text in batch
                if not np.array_equal(_starts(pattern, [text]), gpu_texts.reference_starts(tokenizer, [text]))
            ]
        if len(different) >= 5:
            break
    return different[:5]


def _code_points() -> list[int]:
    """Some of those in any set, and fewer of the many in none: of a character the patterns see its kind alone."""
    bits = load.character_classes().bits()
    return [c for c in range(0x110000) if c % (8 if bits[c] else 512) == 1 and not 0xD800 <= c < 0xE000]


def test_every_pattern_is_compared() -> None:
    assert set(PATTERNS) == set(gpu_texts.PATTERNS) == set(LARGE)


def test_kinds_are_the_sets_of_the_reference() -> None:
    bits = load.character_classes().bits()
    kinds = gpu_texts.table()
    of_all = kinds.cells.reshape(-1, 128)[kinds.pages].reshape(-1)
    kind = of_all & character_kinds.KIND_MASK
    ranges = {
        table.LETTER: (character_kinds.BOTH, character_kinds.LOWER),
        table.MARK: (character_kinds.MARK, character_kinds.MARK),
        table.NUMBER: (character_kinds.NUMBER, character_kinds.NUMBER),
        table.SPACE: (character_kinds.NEWLINE, character_kinds.ASCII_SPACE),
        table.NEWLINE: (character_kinds.NEWLINE, character_kinds.NEWLINE),
        table.PUNCTUATION_OR_SYMBOL: (character_kinds.PUNCTUATION, character_kinds.PUNCTUATION),
        table.UPPER_SIDE: (character_kinds.MARK, character_kinds.UPPER),
    }
    for bit, (first, last) in ranges.items():
        assert np.array_equal(bits & bit != 0, (kind >= first) & (kind <= last)), bit
    lower = (kind >= character_kinds.MARK) & (kind <= character_kinds.LOWER) & (kind != character_kinds.UPPER)
    assert np.array_equal(bits & table.LOWER_SIDE != 0, lower)
    assert np.array_equal(bits & table.CJK != 0, of_all & character_kinds.CJK != 0)
    assert np.flatnonzero(kind == character_kinds.ASCII_SPACE).tolist() == [ord(" ")]


@pytest.mark.parametrize(
    ("code_point", "bits"),
    [
        (0x61, table.LETTER),  # on neither side of a word
        (0x0B, table.SPACE | table.NEWLINE),  # a third newline
        (0x27, 0),  # an apostrophe that is no punctuation
        (0x17F, table.LETTER | table.UPPER_SIDE),
    ],
)
def test_other_sets_than_the_kinds_are_refused(code_point: int, bits: int) -> None:
    classes = load.character_classes()
    changed = classes.bits().copy()
    changed[code_point] = bits
    with pytest.raises(ValueError, match=r"kind|newlines"):
        kind_table(table.CharacterClasses("x", *table.fold(changed), classes.compose_pairs))


def test_classes_of_every_code_point() -> None:
    kinds = gpu_texts.table()
    of_all = kinds.cells.reshape(-1, 128)[kinds.pages].reshape(-1)
    code_points = np.array([*range(0xD800), *range(0xE000, 0x110000)])
    text = np.frombuffer("".join(map(chr, code_points)).encode(), dtype=np.uint8)
    lengths = np.array([1, 2, 3, 4])[np.searchsorted([0x80, 0x800, 0x10000], code_points, side="right")]
    expected = np.zeros(len(text), dtype=np.uint8)
    expected[np.cumsum(lengths) - lengths] = of_all[code_points] | character_kinds.LEAD
    assert np.array_equal(classify(text, kinds), expected)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_short_strings(pattern: str) -> None:
    texts = (
        "".join(characters)
        for alphabet, most in SHORT_STRINGS
        for length in range(1, most + 1)
        for characters in itertools.product(alphabet, repeat=length)
    )
    assert _cut_elsewhere(pattern, texts) == []


@pytest.mark.parametrize("pattern", PATTERNS)
def test_code_points_in_context(pattern: str) -> None:
    contexts = [f" x{c}x {c}{c}1 !{c}'s  {c}\n" for c in map(chr, _code_points())]
    texts = ("".join(contexts[start : start + 16]) for start in range(0, len(contexts), 16))
    assert _cut_elsewhere(pattern, texts) == []


@pytest.mark.parametrize("family", corpus.conformance_families())
@pytest.mark.parametrize("pattern", PATTERNS)
def test_hard_texts(pattern: str, family: str) -> None:
    assert _cut_elsewhere(pattern, (text[:3000] for text in corpus.conformance(family, 2))) == []


@pytest.mark.parametrize("pattern", PATTERNS)
def test_few_characters(pattern: str) -> None:
    """Long texts over few characters, so that every rule meets the others."""

    def texts() -> Iterator[str]:
        rng = random.Random(pattern)
        alphabet = [*representatives.characters(), *"aaAAss    \n\n''11!!//", *SHORT_STRINGS[0][0]]
        for _ in range(300):
            few = rng.choices(alphabet, k=rng.randint(2, 12))
            yield "".join(rng.choice(few) * rng.choice([1, 1, 1, 2, 3, 20]) for _ in range(300))

    assert _cut_elsewhere(pattern, texts()) == []


@pytest.mark.parametrize("characters", [30_000, pytest.param(120_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("kind", corpus.corpora())
@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents(pattern: str, kind: str, characters: int) -> None:
    """`python tests/support/gpu_reference.py` compares whole corpora."""
    names = {gpu_texts.PATTERNS[pattern], *(name for name in LARGE[pattern] if name in corpus.tokenizer_names())}
    for name in sorted(names):
        assert _cut_elsewhere(pattern, corpus.texts(kind, characters), name) == []


def test_compact() -> None:
    assert compact(np.array([1, 0, 0, 1, 1], dtype=np.uint8)).tolist() == [0, 3, 4, 5]
    assert compact(np.zeros(3, dtype=np.uint8)).tolist() == [3]
    assert compact(np.zeros(0, dtype=np.uint8)).tolist() == [0]
