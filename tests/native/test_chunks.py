"""Long texts are divided at seams: the ids never depend on where the chunks end, nor on the number of threads."""

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
from native_cores import core_and_reference, expected
from short_texts import SHORT_TEXTS

from lopt_plugin.native import _core

LARGE = [name for name in ("llama3", "qwen3", "llama2", "gemma3") if name in native_cores.ALL]
NAMES = [*native_cores.SMALL, *unigrams.SMALL, *LARGE]
# From this many characters on, a text is also divided for one thread.
LEAST_DIVIDED = 1 << 17


@pytest.mark.parametrize("text", SHORT_TEXTS, ids=range(len(SHORT_TEXTS)))
@pytest.mark.parametrize("name", NAMES)
def test_every_seam_of_short_texts(name: str, text: str) -> None:
    core, reference = core_and_reference(name)
    threads = itertools.cycle(range(1, 5))
    for before in ("", "a", "  ", "\u4e2d", "\n1"):
        (ids,) = expected(reference, [before + text])
        lengths = range(1, len(text) + 2)
        assert [length for length in lengths if core.encode(before + text, next(threads), length) != ids] == []


@pytest.mark.parametrize("family", corpus.conformance_families())
@pytest.mark.parametrize("name", native_cores.SMALL)
def test_hard_texts(name: str, family: str) -> None:
    core, reference = core_and_reference(name)
    rng = random.Random(f"{name} {family}")
    texts = rng.sample(corpus.conformance(family, 2), 20)
    for text, ids in zip(texts, expected(reference, texts), strict=True):
        fewest = max(1, len(text) // 300)
        lengths = [fewest, *(rng.randint(fewest, len(text) + 1) for _ in range(3))]
        assert [length for length in lengths if core.encode(text, rng.randint(1, 4), length) != ids] == []


@given(text=strategies.texts(), length=st.integers(1, 200), threads=st.integers(1, 4))
@pytest.mark.parametrize("name", native_cores.SMALL)
def test_any_text(name: str, text: str, length: int, threads: int) -> None:
    core, reference = core_and_reference(name)
    assert core.encode(text, threads, length) == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("kind", corpus.corpora())
@pytest.mark.parametrize("name", NAMES)
def test_long_documents(name: str, kind: str) -> None:
    """Chunks of the core's own length, as lists, as arrays and in batches."""
    core, reference = core_and_reference(name)
    documents = corpus.texts(kind, LEAST_DIVIDED)
    text = ("\n".join(documents) * (LEAST_DIVIDED // sum(map(len, documents)) + 1))[: tier.pick(1, 3) * LEAST_DIVIDED]
    (ids,) = expected(reference, [text])
    for threads in (1, 2, 3):
        assert core.encode(text, threads) == ids
        assert core.encode(text, threads, 0, False, 7) == [7, *ids]
    assert core.encode_array(text, 2).tolist() == ids
    assert core.encode_batch_lists([text, "a"], 2)[0] == ids


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2", "roberta_base"])
def test_chunks_with_more_ids_than_the_first(name: str) -> None:
    """The list is made for as many ids as the first chunk lets expect, and grows."""
    core, reference = core_and_reference(name)
    text = "the " * LEAST_DIVIDED + "\u4e2d\u6587, 1a 2b! " * (LEAST_DIVIDED // 12)
    for given_text in (text, text[::-1]):
        (ids,) = expected(reference, [given_text])
        for threads in (1, 3):
            assert core.encode(given_text, threads) == ids


@pytest.mark.parametrize("name", ["tiny_cl100k", "roberta_base", "tiny_deepseek_v3"])
def test_few_seams(name: str) -> None:
    """Long words and long numbers: a chunk is longer then, or the text is not divided."""
    core, reference = core_and_reference(name)
    for run in ("a" * 40_000, "1" * 40_000, "\u4e2d" * 40_000, " " * 40_000, "=" * 40_000):
        text = run + " a few words, and " * 4000 + run * 2 + "\n" + run
        (ids,) = expected(reference, [text])
        for threads, length in ((1, 0), (2, 0), (2, 5000)):
            assert core.encode(text, threads, length) == ids


def test_a_lone_surrogate_in_any_chunk() -> None:
    core, reference = core_and_reference("tiny_qwen2")
    text = "caf\u00e9 " * (LEAST_DIVIDED // 3)
    (ids,) = expected(reference, [text])
    for place in (0, len(text) // 2, len(text)):
        for threads in (1, 2):
            with pytest.raises(_core.LoneSurrogateError):
                core.encode(text[:place] + "\ud800" + text[place:], threads)
            assert core.encode(text, threads) == ids


def test_a_normalizer_of_the_callers_thread() -> None:
    """A worker leaves a chunk that needs Python to the caller, and a failure of Python's reaches the caller."""
    reference = core_and_reference("tiny_qwen2")[1]
    names = reference.get_vocab(with_added_tokens=False)

    def normalize(text: str) -> str:
        if "\u0324" in text:
            raise KeyError("not this one")
        return str(reference.tokenizer.normalizer.normalize_str(text))

    core = native_cores.make_core(names, [], normalizer=[("form", "NFC", normalize)], scanner="qwen2")
    hard = "e\u0301\u0323 \u1100\u1161 "
    text = (hard + "plain words\n" * 200) * 100
    whole = core.encode(text)
    core.trust_seams()
    for threads in (1, 2, 4):
        assert core.encode(text, threads) == whole
        assert core.encode(text, threads, 1000) == whole
        with pytest.raises(KeyError, match="not this one"):
            core.encode(text + "e\u0324\u0323", threads, 1000)


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_gemma"])
def test_texts_that_are_held(name: str) -> None:
    """A text that was divided for the first time is known as a whole, and as a beginning, afterwards."""
    core, reference = core_and_reference(name)
    core.remember_prefixes(64 << 20)
    text = "\n".join(corpus.texts(corpus.corpora()[0], 3 * LEAST_DIVIDED))
    longer = text + " and so on, \u00e9t cetera" * 3000
    (ids,), (more,) = expected(reference, [text]), expected(reference, [longer])
    for threads in (1, 2):
        for _ in range(2):
            assert core.encode(text, threads) == ids
            assert core.encode(longer, threads) == more
    core_and_reference.cache_clear()


@pytest.mark.parametrize("name", native_cores.ALL)
def test_digits_after_a_run_whose_tokens_match(name: str) -> None:
    """Against the published theorem: hundreds of tokens match by position and id, and still the phases differ."""
    core, reference = core_and_reference(name)
    text = " " + "\u00b2" * 1900 + "1234567 and the rest of it"
    (ids,) = expected(reference, [text])
    for chunk in (1, 2, 7, 250, 499, 500, 501, 1000, 3000):
        for threads in (1, 2, 4):
            assert core.encode(text, threads, chunk) == ids


@pytest.mark.parametrize("name", native_cores.SMALL)
def test_runs_over_many_chunks(name: str) -> None:
    """Runs with few seams or none."""
    core, reference = core_and_reference(name)
    runs = [*(c * 900 for c in "1\u00b2\u4e2d\n."), "1" * 701 + "a", "a" * 3000, " " * 900 + "a", "'s" * 400]
    texts = [x + run + "12 the end" for run in runs for x in ("", "x", " ", "1", "\n")]
    for text, ids in zip(texts, expected(reference, texts), strict=True):
        for threads, chunk in ((1, 50), (2, 101), (4, 300), (3, 7)):
            assert core.encode(text, threads, chunk) == ids


@pytest.mark.parametrize("widest", ["z", "\u00e9", "\u4e2d", "\U0001f600"])
@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_tekken"])
def test_characters_of_each_width(name: str, widest: str) -> None:
    """Python keeps a string in units of one, two or four bytes, by its widest character: here the last or the first."""
    core, reference = core_and_reference(name)
    words = "the quick brown fox 1234 and so on\n" * (4 * LEAST_DIVIDED // 30)
    (once,) = expected(reference, [words[: len(words) // 100]])
    assert core.encode(words[: len(words) // 100], 2, 1000) == once
    for text in (words + widest, f"{widest}\n\n{words}"):
        ids = core.encode(text)
        for threads in (2, 8):
            assert core.encode(text, threads) == ids
