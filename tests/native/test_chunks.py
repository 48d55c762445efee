"""Chunks are lossless: the ids never depend on where the seams are, nor on the number of threads."""

from __future__ import annotations

import itertools
import random

import corpus
import native_cores
import pytest
import strategies
import tier
import unigrams
from hypothesis import given, strategies as st
from native_cores import expected
from short_texts import SHORT_TEXTS

LONG = 1 << 19  # characters

LARGE = [name for name in ("llama3", "qwen3", "llama2", "gemma3") if name in native_cores.ALL]
NAMES = [*native_cores.SMALL, *unigrams.SMALL, *LARGE]


@pytest.mark.parametrize("text", SHORT_TEXTS, ids=range(len(SHORT_TEXTS)))
@pytest.mark.parametrize("name", NAMES)
def test_every_seam_of_short_texts(name: str, text: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    (ids,) = expected(reference, [text])
    threads = itertools.cycle(range(1, 9))
    wrong = [chunk for chunk in range(1, len(text.encode()) + 2) if core.encode(text, next(threads), chunk) != ids]
    assert wrong == []
    # What stands before the text moves all seams but the last.
    for before in ("a", "  ", "\u4e2d", "\n1"):
        (ids,) = expected(reference, [before + text])
        chunks = (1, 2, 3, 5, 7, 16, 64)
        assert [chunk for chunk in chunks if core.encode(before + text, next(threads), chunk) != ids] == []


@pytest.mark.parametrize("family", corpus.conformance_families())
@pytest.mark.parametrize("name", native_cores.SMALL)
def test_hard_texts(name: str, family: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    rng = random.Random(f"{name} {family}")
    texts = rng.sample(corpus.conformance(family, 2), 20)
    for text, ids in zip(texts, expected(reference, texts), strict=True):
        fewest = max(1, len(text) // 300)
        chunks = [fewest, fewest + 1, *(rng.randint(fewest, len(text) + 1) for _ in range(4))]
        assert [chunk for chunk in chunks if core.encode(text, rng.randint(1, 8), chunk) != ids] == []


@given(text=strategies.texts(), chunk_chars=st.integers(1, 200), threads=st.integers(1, 8))
@pytest.mark.parametrize("name", native_cores.SMALL)
def test_any_text(name: str, text: str, chunk_chars: int, threads: int) -> None:
    core, reference = native_cores.core_and_reference(name)
    assert core.encode(text, threads, chunk_chars) == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", native_cores.ALL)
def test_digits_after_a_run_whose_tokens_match(name: str) -> None:
    """Against the published theorem: hundreds of tokens match by position and id, and still the phases differ."""
    core, reference = native_cores.core_and_reference(name)
    text = " " + "\u00b2" * 1900 + "1234567 and the rest of it"
    (ids,) = expected(reference, [text])
    for chunk in (1, 2, 7, 250, 499, 500, 501, 1000, 3000):
        for threads in (1, 2, 4):
            assert core.encode(text, threads, chunk) == ids


@pytest.mark.parametrize("name", native_cores.SMALL)
def test_runs_over_many_chunks(name: str) -> None:
    """Runs in which scans share no boundary for longer than the boundaries that a chunk notes, or have none at all."""
    core, reference = native_cores.core_and_reference(name)
    runs = [*(c * 900 for c in "1\u00b2\u4e2d\n."), "1" * 701 + "a", "a" * 3000, " " * 900 + "a", "'s" * 400]
    texts = [x + run + "12 the end" for run in runs for x in ("", "x", " ", "1", "\n")]
    for text, ids in zip(texts, expected(reference, texts), strict=True):
        for threads, chunk in ((1, 50), (2, 101), (4, 300), (3, 7)):
            assert core.encode(text, threads, chunk) == ids


@pytest.mark.parametrize("kind", corpus.corpora())
@pytest.mark.parametrize("name", NAMES)
def test_long_documents(name: str, kind: str) -> None:
    """Chunks of the core's own length."""
    core, reference = native_cores.core_and_reference(name)
    documents = corpus.texts(kind, LONG)
    text = "\n".join(documents) * (LONG // sum(map(len, documents)) + 1)
    start = text[: tier.pick(40_000, 150_000)]
    (ids,) = expected(reference, [start])
    assert core.encode(start, 2) == ids
    assert core.encode(start, 3, 9_999) == ids
    ids = core.encode(text)
    for threads, chunk in tier.pick(((3, 0), (2, 9_999)), ((2, 0), (3, 0), (8, 0), (2, 9_999))):
        assert core.encode(text, threads, chunk) == ids


@pytest.mark.parametrize("widest", ["z", "\u00e9", "\u4e2d", "\U0001f600"])
@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_tekken"])
def test_characters_of_each_width(name: str, widest: str) -> None:
    """Python keeps a string in units of one, two or four bytes, by its widest character: here the last or the first."""
    core, reference = native_cores.core_and_reference(name)
    words = "the quick brown fox 1234 and so on\n" * (LONG // 30)
    (once,) = expected(reference, [words[: len(words) // 100]])
    assert core.encode(words[: len(words) // 100], 2, 1000) == once
    for text in (words + widest, f"{widest}\n\n{words}"):
        ids = core.encode(text)
        for threads in (2, 8):
            assert core.encode(text, threads) == ids
