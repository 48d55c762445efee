"""BPE of single words: the search without merging, the merges by rank and the reference give the same ids.

The search (proof in native/bpe/compatibility.hpp) and the vocabulary cuts are right for every merge table. So random
tables are tried too, unlike any that training makes.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import corpus
import native_cores
import pytest
import random_models
import tier
from hypothesis import given, strategies as st
from random_models import data_of, stand_ins
from tokenizers import Tokenizer, models


@functools.lru_cache(maxsize=2)
def _core_and_merging_reference(name: str) -> tuple[Any, Tokenizer]:
    """The reference never takes a whole word from the vocabulary."""
    core, _ = native_cores.core_and_reference(name)
    tokenizer = corpus.load_tokenizer(name)
    tokenizer.model.ignore_merges = False
    return core, tokenizer


@pytest.fixture(scope="module", params=tier.pick([*native_cores.BYTE_LEVEL, "qwen3"], native_cores.BYTE_LEVEL))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _different(name: str, words: Iterable[bytes]) -> list[bytes]:
    """The words, at most five, for which the three ways do not agree."""
    core, reference = _core_and_merging_reference(name)
    tokenize = reference.model.tokenize
    # Merging by rank is for words of known bytes only; the search drops the others as the reference does.
    ways = (False, True) if _has_all_bytes(name) else (False,)

    def agree(word: bytes) -> bool:
        ids = [token.id for token in tokenize(stand_ins(word))]
        return all(core.encode_word(word, by_rank) == ids for by_rank in ways)

    return list(itertools.islice((word for word in words if not agree(word)), 5))


@functools.cache
def _has_all_bytes(name: str) -> bool:
    _, reference = _core_and_merging_reference(name)
    return all(reference.token_to_id(stand_in) is not None for stand_in in random_models.STAND_INS)


@functools.lru_cache(maxsize=2)
def _entries(name: str) -> list[bytes]:
    _, reference = _core_and_merging_reference(name)
    names = reference.get_vocab(with_added_tokens=False)
    entries = sorted(data_of(entry) for entry in names if all(c in random_models.BYTES for c in entry))
    # 0xFE, which no text holds, stands for the suffix there.
    return [entry for entry in entries if b"\xfe" not in entry] if "clip" in name else entries


def test_entries(name: str) -> None:
    assert _different(name, _entries(name)) == []


def test_joined_entries(name: str) -> None:
    entries, rng = _entries(name), random.Random(name)
    words = (b"".join(rng.choices(entries, k=rng.choice([2, 2, 2, 3, 5]))) for _ in range(tier.pick(10_000, 40_000)))
    assert _different(name, words) == []


def test_entries_with_overlap(name: str) -> None:
    """Two entries of which one ends as the other begins, so that the longest match is often wrong."""
    entries, rng = _entries(name), random.Random(name)
    by_start: dict[bytes, list[bytes]] = {}
    for entry in entries:
        by_start.setdefault(entry[:2], []).append(entry)
    words = []
    for entry in rng.choices([e for e in entries if len(e) > 2], k=tier.pick(3_000, 10_000)):
        place = rng.randrange(1, len(entry) - 1)
        words.append(entry[:place] + rng.choice(by_start.get(entry[place : place + 2], [b"a"])))
    assert _different(name, words) == []


def test_one_character_many_times(name: str) -> None:
    words = [(c * n).encode() for c in "a e=-\n\u00e9\u4e2d\u0939\U0001f600" for n in range(1, 301)]
    words += [("ab" * n).encode() for n in range(1, 151)] + [("haha" * n + "h").encode() for n in range(1, 80)]
    # Of so many, the matcher remembers which pairs are compatible.
    words += [(c * 5_000).encode() for c in "a e=-/#*\n"]
    rng = random.Random(name)
    words += ["".join(rng.choice("=-/#* ") * rng.randint(1, 100) for _ in range(150)).encode() for _ in range(10)]
    assert _different(name, words) == []


def test_random_words(name: str) -> None:
    rng = random.Random(name)
    alphabets = [
        "ab",
        "etaoinshr",
        "abcdefghijklmnopqrstuvwxyz",
        "0123456789abcdef",
        "".join(map(chr, range(0x4E00, 0x4E80))),
        "".join(map(chr, range(0x905, 0x950))),
        "".join(map(chr, range(0xE01, 0xE4E))),
        "".join(map(chr, range(0xAC00, 0xAC80))),
        "".join(map(chr, range(0x1F300, 0x1F6FF))),
        "".join(map(chr, [*range(0x20, 0x250), *range(0x370, 0x600), *range(0x3040, 0x3100)])),
    ]
    lengths = [1, 2, 3, 5, 8, 13, 16, 17, 30, 63, 64, 65, 100, 255, 256, 257, 1000]
    words = ["".join(rng.choices(alphabet, k=k)).encode() for alphabet in alphabets for k in lengths for _ in range(8)]
    words += ["".join(rng.choices(alphabet, k=5_000)).encode() for alphabet in 2 * alphabets]
    assert _different(name, words) == []


@given(word=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100))
@pytest.mark.parametrize("small", [name for name in native_cores.SMALL if name in native_cores.BYTE_LEVEL])
def test_any_word(small: str, word: str) -> None:
    assert _different(small, [word.encode()]) == []


def _check_random_models(
    seeds: Iterable[int],
    words_each: int = 40,
    make: Callable[[random.Random], random_models.Model] = random_models.random_model,
) -> None:
    for seed in seeds:
        rng = random.Random(f"model {seed}")
        model = make(rng)
        words = random_models.random_words(rng, model, words_each)
        core = native_cores.make_core(model.vocabulary, model.merges)
        whole = native_cores.make_core(model.vocabulary, model.merges, ignore_merges=True)
        expected = native_cores.expected(model.reference(), words)
        expected_whole = native_cores.expected(model.reference(ignore_merges=True), words)
        for word, ids, ids_whole in zip(words, expected, expected_whole, strict=True):
            data = word.encode()
            found = {
                "by rank": core.encode_word(data, True),
                "search": core.encode_word(data, False),
                "text": core.encode(word),
                "text again": core.encode(word),
                "chunks": core.encode(word, 2, 5),
            }
            assert (seed, word, found) == (seed, word, dict.fromkeys(found, ids))
            assert (seed, word, whole.encode(word)) == (seed, word, ids_whole)


def _seeds(part: int) -> range:
    count = tier.pick(60, 500)
    return range(part * count, part * count + count)


@pytest.mark.parametrize("part", range(4))
def test_random_models(part: int) -> None:
    _check_random_models(_seeds(part))


@pytest.mark.parametrize("part", range(2))
def test_random_models_of_characters(part: int) -> None:
    """What runs of characters of three bytes (native/bpe/character_runs.hpp) rest on, and what breaks it."""
    _check_random_models(_seeds(part), make=random_models.random_character_model)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_more_random_models(part: int) -> None:
    """About a minute in all."""
    _check_random_models(range(2000 + part * 1500, 3500 + part * 1500))


def _model_of_runs(rng: random.Random) -> random_models.Model:
    """Entries of `a` alone, each made of two earlier ones, and some with a `b` at an end."""
    lengths, merges = [1], []
    # What is left at the end of a run takes all that it can of the fours before it.
    fours = [(1, 1), (2, 2), *((4, 1 + 4 * i) for i in range(100))]
    for pair in fours if rng.random() < 0.2 else range(rng.randint(3, 20)):
        left, right = pair if isinstance(pair, tuple) else rng.choices(lengths, k=2)
        if left + right not in lengths and left + right < 500:
            merges.append(("a" * left, "a" * right))
            lengths.append(left + right)
    merges += [rng.choice([("a" * k, "b"), ("b", "a" * k)]) for k in rng.sample(lengths, rng.randint(0, 2))]
    if rng.random() < 0.3:
        rng.shuffle(merges)
    names = dict.fromkeys([*random_models.STAND_INS, *("".join(pair) for pair in merges)])
    return random_models.Model({name: i for i, name in enumerate(names)}, merges, "ab")


@pytest.mark.every_parameter
@pytest.mark.parametrize("make", [_model_of_runs, random_models.random_model])
def test_long_words_that_repeat(make: Callable[[random.Random], random_models.Model]) -> None:
    """The last token is tried first where a long word repeats it, and that may prove wrong."""
    for seed in range(tier.pick(150, 1_500)):
        rng = random.Random(f"repeats {seed}")
        model = make(rng)
        core, reference = native_cores.make_core(model.vocabulary, model.merges), model.reference()
        for _ in range(4):
            units = ["".join(rng.choices(model.characters, k=rng.choice([1, 1, 2, 3, 70]))) for _ in range(3)]
            word = "".join(rng.choice(units) * rng.choice([1, 70, 300, 300, 301, 600]) for _ in range(3))[:2_000]
            ids = native_cores.expected(reference, [word])[0]
            assert (seed, core.encode_word(word.encode(), False)) == (seed, ids), word


@pytest.mark.parametrize("make", [random_models.random_model, random_models.random_character_model])
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_random_models_with_words_between_spaces(
    ignore_merges: bool, make: Callable[[random.Random], random_models.Model]
) -> None:
    """Whole pre-tokens and the pieces that they are cut into are not mistaken for each other, in any order."""
    for seed in range(tier.pick(120, 300)):
        rng = random.Random(f"blanks {seed}")
        model = make(rng)
        core = native_cores.make_core(model.vocabulary, model.merges, ignore_merges=ignore_merges, scanner="gpt2")
        reference = model.reference(ignore_merges)
        reference.pre_tokenizer.use_regex = True
        words = random_models.random_words(rng, model, 30)
        texts = ["".join(rng.choice(words) + rng.choice(["", " ", "1", "!"]) for _ in range(20)) for _ in range(5)]
        assert (seed, native_cores.different(core, reference, texts)) == (seed, [])


def test_models_that_lack_bytes() -> None:
    """The reference drops a byte that is no entry before it merges, so that its neighbours may meet."""
    for seed in range(tier.pick(100, 400)):
        rng = random.Random(f"dropped {seed}")
        model = random_models.random_model(rng)
        used = sorted(set(model.characters.encode()))
        dropped = bytes(rng.sample(used, rng.randint(1, len(used) // 2)))
        gone = {random_models.STAND_INS[byte] for byte in dropped}
        model = dataclasses.replace(
            model,
            vocabulary={entry: i for entry, i in model.vocabulary.items() if entry not in gone},
            merges=[pair for pair in model.merges if not gone & set(pair)],
        )
        words = random_models.random_words(rng, model, 30)
        core = native_cores.make_core(model.vocabulary, model.merges, dropped_bytes=dropped)
        assert (seed, native_cores.different(core, model.reference(), words)) == (seed, [])


def test_a_repeated_merge_counts_at_its_last_place() -> None:
    names = [*random_models.STAND_INS, "ab", "bc"]
    vocabulary = {name: i for i, name in enumerate(names)}
    for merges in itertools.product([("a", "b"), ("b", "c")], repeat=4):
        if len(set(merges)) < 2:
            continue
        reference = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
        ids = [token.id for token in reference.model.tokenize("abcabbc")]
        core = native_cores.make_core(vocabulary, [" ".join(merge) for merge in merges])
        assert core.encode_word(b"abcabbc", True) == core.encode_word(b"abcabbc", False) == ids


def test_entries_too_long_for_the_search() -> None:
    """Beyond 4,095 bytes an entry's length has no room: such a model merges by rank."""
    names, merges = list(random_models.STAND_INS), []
    for power in range(13):
        half = "a" * 2**power
        merges.append((half, half))
        names.append(half + half)
    vocabulary = {name: i for i, name in enumerate(names)}
    for count in (12, 13):
        model = random_models.Model({name: vocabulary[name] for name in names[: 256 + count]}, merges[:count], "a")
        core = native_cores.make_core(model.vocabulary, model.merges)
        assert core.info()["matcher_usable"] == (count < 12)
        texts = ["a" * n for n in (1, 3, 63, 64, 65, 4095, 4096, 4097, 8191, 8192, 10_000, 20_000)]
        assert native_cores.different(core, model.reference(), [*texts, *(f"b{text}c" for text in texts)]) == []
