"""Words that are no entries come again: the ids kept for them are the reference's, whatever lies in the same slot."""

from __future__ import annotations

import random
import string
from concurrent.futures import ThreadPoolExecutor

import corpus
import native_cores
import pytest
import tier
from tokenizers import Tokenizer

ALPHABETS = ["abcdefgh", "etaoinsrhld", "абвгдежз", "अआकखगघा", "ｱｲabé9"]
WORD_PIECE = [name for name in ("bert_base_uncased", "bert_multilingual_cased") if name in corpus.tokenizer_names()]
# Keys of the two caches end at 16 and at 56 bytes.
LENGTHS = [*range(14, 20), *range(30, 34), *range(53, 60), 63, 64, 65, 120]


@pytest.fixture(scope="module", params=[*native_cores.SMALL, *WORD_PIECE])
def core_and_reference(request: pytest.FixtureRequest) -> tuple[object, Tokenizer]:
    tokenizer = corpus.load_tokenizer(request.param)
    return native_cores.route_of(tokenizer).core, tokenizer


def words_of(seed: int) -> list[str]:
    """Words of all lengths in bytes, and for each one that differs in its first, last or 56th character only."""
    generator = random.Random(seed)
    words = []
    for alphabet in ALPHABETS:
        for length in LENGTHS:
            word = ""
            while len(word.encode()) < length:
                word += generator.choice(alphabet)
            words += [word, "x" + word[1:], word[:-1] + "x", word[:55] + "x" + word[56:], word + "x"]
    return words


def test_words_that_come_again(core_and_reference: tuple[object, Tokenizer]) -> None:
    core, reference = core_and_reference
    for seed in range(3):
        words = words_of(seed)
        texts = words + [" ".join(words[k : k + 7]) for k in range(0, len(words), 5)]
        texts += [" ".join(random.Random(seed).choices(words[:40], k=200))]
        for _ in range(2):
            assert native_cores.different(core, reference, texts) == []


def test_more_words_than_are_kept(core_and_reference: tuple[object, Tokenizer]) -> None:
    core, reference = core_and_reference
    generator = random.Random(9)
    count = tier.pick(10_000, 20_000)
    words = ["".join(generator.choices(string.ascii_lowercase, k=generator.randint(17, 30))) for _ in range(count)]
    texts = [" ".join(words[k : k + 500]) for k in range(0, len(words), 500)]
    assert native_cores.different(core, reference, texts) == []
    assert native_cores.different(core, reference, texts[::-1]) == []


def test_words_that_begin_like_an_entry(core_and_reference: tuple[object, Tokenizer]) -> None:
    """Some of so many have the slot of the entry with which they share half of a key."""
    core, reference = core_and_reference
    generator = random.Random(3)
    names = [name.removeprefix("Ġ") for name in reference.get_vocab() if name.startswith("Ġ") or name.isalpha()]
    long = [name for name in names if name.isascii() and name.isalpha() and len(name) in range(8, 16)]
    beginnings = sorted({(" " + name)[:8] for name in long})
    assert beginnings
    words = (generator.choice(beginnings) + "".join(generator.choices("etaoin", k=8)) for _ in range(50_000))
    text = "".join(word[: generator.randint(9, 16)] for word in words)
    assert native_cores.different(core, reference, [text]) == []


def test_threads_that_write_the_same_slots(core_and_reference: tuple[object, Tokenizer]) -> None:
    core, reference = core_and_reference
    words = words_of(5)
    texts = [" ".join(words[k::11]) for k in range(11)]
    expected = native_cores.expected(reference, texts)

    def work(worker: int) -> list[int]:
        order = [(k * 3 + worker) % len(texts) for k in range(4 * len(texts))]
        return [k for k in order if core.encode(texts[k]) != expected[k]]  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        assert [wrong for wrong in pool.map(work, range(8)) if wrong] == []
