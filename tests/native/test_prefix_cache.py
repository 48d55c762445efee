"""Texts are held for later ones: the ids stay the oracle's whatever is known, evicted or collides."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corpus
import native_cores
import own_process
import pytest
import representatives
import tier
import unigrams
from hypothesis import settings as hypothesis_settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tokenizers import Tokenizer

# One for each kind of pipeline; those of tests/data, so that a fresh clone tests them all.
FAMILIES = [
    *["tiny_qwen2", "tiny_o200k", "tiny_tekken", "tiny_deepseek_v3", "tiny_falcon", "tiny_roberta", "qwen3"],
    *["tiny_llama2", "tiny_gemma", "tiny_metaspace", "tiny_metaspace_first", "bert_base_uncased", "wordpiece_added"],
    *unigrams.SMALL,
]
# What makes a place that divides a text, and what might make a wrong one.
WORDS = [
    *[
        "word",
        "Word",
        "x1",
        "\u4e2d\u6587",
        "\u043f\u0440\u0438",
        "\u00e9",
        "e\u0301",
        "\uac00",
        "\u0928",
        "\u2581",
        "\u3002",
    ],
    *[" ", "  ", "\n", "\n\n", " \n", "\r\n", "\t", "/", ".", ".\n", "'s", "'", "1234", "-"],
]


def remembering(name: str, limit: int = 1 << 24, block: int = 1, hash_bits: int = 64) -> tuple[Any, Tokenizer]:
    """A core of its own that finds texts by blocks of that many characters, and the tokenizer."""
    tokenizer = corpus.load_tokenizer(name)
    core = native_cores.route_of(tokenizer).core
    core.remember_prefixes(limit, block, hash_bits, secret=2)
    core.trust_seams()
    return core, tokenizer


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def added_tokens(tokenizer: Tokenizer) -> list[str]:
    contents = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    return [*contents[:20], *(content[1:] for content in contents[:3])]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_place_divides(name: str) -> None:
    """Texts that are divided wherever they may be, and what changes in them after each place."""
    core, tokenizer = remembering(name)
    rng = random.Random(name)
    words = [*WORDS, *added_tokens(tokenizer), *representatives.SNIPPETS]
    texts = ["".join(rng.choices(words, k=rng.randint(1, 40))) for _ in range(250)]
    texts += [
        text for family in corpus.conformance_families() for text in corpus.conformance(family)[:10] if len(text) < 2000
    ]
    texts += [text[: rng.randint(0, len(text))] + rng.choice(words) for text in texts for _ in range(2)]
    expected = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    for time in range(2):
        different = [text for text, ids in zip(texts, expected, strict=True) if core.encode(text) != ids]
        assert different[:3] == [], f"seen for time {time + 1}"
    counters = core.prefix_counters()
    # Unigram has fewer seams than BPE.
    assert counters["hits"] > len(texts) // (3 if name.startswith("unigram") else 2)


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_gemma", "bert_base_uncased"])
def test_growing_and_branching(name: str) -> None:
    core, tokenizer = remembering(name, limit=40_000, block=8)
    rng = random.Random(name)
    texts = [""]
    for _ in range(150):
        base = rng.choice(texts[-12:])
        base = base[: rng.randint(0, len(base))] if rng.random() < 0.3 else base
        texts.append(base[:500] + "".join(rng.choices(WORDS, k=12)))
        for text in (texts[-1], rng.choice(texts)):
            assert core.encode(text) == ids_of(tokenizer, text)
        assert core.prefix_counters()["bytes"] <= 40_000
    counters = core.prefix_counters()
    assert counters["hits"] > 0
    assert counters["evictions"] > 0


def saved(core: Any, tokenizer: Tokenizer, text: str) -> int:
    """How many bytes of the text were known; its ids are the oracle's."""
    before = core.prefix_counters()["bytes_saved"]
    expected = ids_of(tokenizer, text)
    assert core.encode(text) == expected
    found = int(core.prefix_counters()["bytes_saved"] - before)
    assert core.encode_array(text).tolist() == expected
    return found


def test_a_text_that_grows() -> None:
    """Each turn knows the one before, but for what follows its last seam; only the last turn is held."""
    core, tokenizer = remembering("tiny_qwen2", block=16)
    rng = random.Random(1)
    text = ""
    for _ in range(60):
        known = saved(core, tokenizer, text)
        assert known >= len(text) - 440 - 60 or len(text) < 500
        text += "".join(rng.choices([*WORDS, "\U0001f469"], k=40))
        assert core.prefix_counters()["texts"] <= 2
    assert core.prefix_counters()["hits"] > 100


def test_a_text_that_branches_off_in_the_middle_of_another() -> None:
    core, tokenizer = remembering("tiny_qwen2", block=16)
    trunk = "".join(f"the quick brown fox {number} jumps over the lazy dog " for number in range(100))
    assert saved(core, tokenizer, trunk) == saved(core, tokenizer, trunk + "x") == 0
    branches = [trunk[:place] + "another fox sleeps " * 30 for place in (1000, 2000, 3001, 3500)]
    for place, branch in zip((1000, 2000, 3001, 3500), branches, strict=True):
        assert place - 40 < saved(core, tokenizer, branch) <= place
        saved(core, tokenizer, branch + "and")
        assert saved(core, tokenizer, branch + "and dreams") > len(branch) - 40
        assert saved(core, tokenizer, branch[:-20]) > len(branch) - 60
    for text in (trunk, *branches):
        assert saved(core, tokenizer, text) > len(text) - 40


def test_a_shared_prefix_outlives_each_text() -> None:
    """The block of a beginning leads to the text that was used last, so it is known as long as one of them is held."""
    core, tokenizer = remembering("tiny_qwen2", limit=100_000, block=16)
    rng = random.Random(3)
    start = " ".join(rng.choices(["other", "words", "abacus"], k=300))
    assert saved(core, tokenizer, start + " 1") == saved(core, tokenizer, start + " 2") == 0
    for number in range(100):
        text = f"{start} {number} " + " ".join(rng.choices(["more", "of", "them"], k=300))
        assert saved(core, tokenizer, text) > len(start) - 40
    assert core.prefix_counters()["evictions"] > 30


def test_a_prefix_seen_once_is_not_divided() -> None:
    """Text is divided at seams when it is seen again, or when it is shorter than the known prefix before it."""
    core, tokenizer = remembering("tiny_qwen2", block=16)
    rng = random.Random(4)
    start, *ends = (" ".join(rng.choices(["other", "words", "abacus"], k=k)) for k in (200, 600, 600, 100))
    assert saved(core, tokenizer, start + ends[0]) == 0
    assert saved(core, tokenizer, start + ends[1]) == 0
    known = saved(core, tokenizer, start + ends[1] + " once more")
    assert len(start) - 40 < known < len(start) + 40
    assert saved(core, tokenizer, start + ends[1] + " and again") > len(start + ends[1]) - 40
    saved(core, tokenizer, start + ends[2])
    assert saved(core, tokenizer, start + ends[2] + " once more") > len(start + ends[2]) - 40
    for number in range(200):
        core.encode(f"the text of number {number} {ends[0]}")
    assert core.prefix_counters()["texts"] < 80


def test_branches_at_every_block() -> None:
    """More than are compared with: the ids stay right, and the beginning is known at least in part."""
    core, tokenizer = remembering("tiny_qwen2", block=8)
    text = "".join(f"word {number} and " for number in range(40))
    for place in range(20, len(text), 8):
        saved(core, tokenizer, text[:place] + f" leaves {place} " * 20)
    saved(core, tokenizer, text + "x")
    assert saved(core, tokenizer, text + "y") > 40


def test_the_least_recently_used_goes_first() -> None:
    first, second, third = (f"{word} " * 300 for word in ("alpha", "gamma", "delta"))
    core, tokenizer = remembering("tiny_qwen2", block=16)
    saved(core, tokenizer, first)
    room = core.prefix_counters()["bytes"] * 5 // 2
    core, tokenizer = remembering("tiny_qwen2", limit=room, block=16)
    saved(core, tokenizer, first)
    saved(core, tokenizer, second)
    assert saved(core, tokenizer, first)
    assert not saved(core, tokenizer, third)
    assert saved(core, tokenizer, first)
    assert saved(core, tokenizer, third)
    assert core.prefix_counters()["evictions"] == 1
    assert core.prefix_counters()["bytes"] <= room
    assert not saved(core, tokenizer, second)


def test_the_limit_and_what_is_held() -> None:
    """The callers' own strings are held, and released when their texts go."""
    core, tokenizer = remembering("tiny_qwen2", limit=200_000, block=16)
    rng = random.Random(2)
    texts = [" ".join(rng.choices(["other", "words", "abacus"], k=500)) for _ in range(40)]

    def references() -> list[int]:
        return [sys.getrefcount(texts[i]) for i in range(len(texts))]

    before = references()
    for i in range(len(texts)):
        assert core.encode(texts[i]) == ids_of(tokenizer, texts[i])
        assert core.prefix_counters()["bytes"] <= 200_000
    held = [now - then for now, then in zip(references(), before, strict=True)]
    assert held[-1] == 1
    assert held[0] == 0
    assert 3 < sum(held) == core.prefix_counters()["texts"] < 40
    huge = " ".join(rng.choices(["other", "words"], k=30_000))
    assert core.encode(huge) == core.encode(huge) == ids_of(tokenizer, huge)
    del core
    gc.collect()
    assert references() == before


def test_what_is_not_held() -> None:
    class Text(str):
        pass

    core, tokenizer = remembering("tiny_qwen2", block=64)
    text = "a few words " * 50
    for unheld in ("a few words", Text(text)):
        assert core.encode(unheld) == core.encode(unheld) == ids_of(tokenizer, unheld)
    assert core.prefix_counters()["hits"] == core.prefix_counters()["texts"] == 0
    assert core.encode(text) == core.encode(Text(text))  # is known all the same
    assert core.prefix_counters()["hits"] == 1
    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011 (a class of the core's)
            core.encode(text + "\ud800")
    assert core.prefix_counters()["texts"] == 1


def test_before_seams_are_trusted_only_whole_texts_are_known() -> None:
    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    core = native_cores.route_of(tokenizer).core
    core.remember_prefixes(1 << 20, 16)
    text = "the quick brown fox jumps over the lazy dog " * 10
    assert saved(core, tokenizer, text) == 0
    assert saved(core, tokenizer, text) == len(text)
    assert saved(core, tokenizer, text + "and") == 0


def test_a_limit_that_no_text_fits() -> None:
    core, tokenizer = remembering("tiny_qwen2", limit=10, block=16)
    text = "some words of a text " * 20
    for _ in range(4):
        assert core.encode(text) == ids_of(tokenizer, text)
    assert core.prefix_counters()["texts"] == core.prefix_counters()["bytes"] == 0


@pytest.mark.parametrize("hash_bits", [0, 3])
def test_collisions(hash_bits: int) -> None:
    """A weak hash proposes wrong texts all the time."""
    core, tokenizer = remembering("tiny_qwen2", block=8, hash_bits=hash_bits)
    rng = random.Random(hash_bits)
    texts = ["".join(rng.choices(["ab ", "ba ", "a ", "bb\n"], k=30)) for _ in range(60)]
    for _ in range(4):
        for text in texts:
            assert core.encode(text) == ids_of(tokenizer, text)


def _known(secret: int | None) -> list[int]:
    """How much of each of some texts is known, where 1,024 hashes are all there are."""
    core = native_cores.make_core({name: i for i, name in enumerate(native_cores.STAND_INS)}, [], scanner="gpt2")
    core.remember_prefixes(1 << 24, 8, 10, secret=secret)
    core.trust_seams()
    texts = [f"number {n} of many texts " * 2 for n in range(100)]
    found = []
    for text in texts * 3:
        core.encode(text)
        found.append(core.prefix_counters()["bytes_saved"])
    return found


def test_hashes_depend_on_a_secret() -> None:
    """Who does not know it cannot choose texts whose blocks hide those of others."""
    assert _known(1) == _known(1) != _known(2)
    assert _known(None) != _known(None)


def test_widths_of_characters() -> None:
    """The same beginning in strings of one, two and four bytes a character."""
    core, tokenizer = remembering("tiny_qwen2", block=16)
    common = "caf\u00e9 au lait, s'il vous pla\u00eet " * 8
    for _ in range(3):
        for end in ("end", "\u4e2d\u6587", "\U0001f469\u200d\U0001f469", "\u00e9"):
            assert core.encode(common + end) == ids_of(tokenizer, common + end)
    assert core.prefix_counters()["hits"] >= 9


def test_arrays_batches_and_threads() -> None:
    core, tokenizer = remembering("tiny_qwen2", block=64)
    texts = ["the quick brown fox \u4e2d\u6587\n" * count for count in (10, 100, 8_000)]
    expected = [ids_of(tokenizer, text) for text in texts]
    for _ in range(4):
        assert [core.encode_array(text).tolist() for text in texts] == expected
        assert core.encode_batch_lists(texts, 2) == expected
        assert core.encode_batch(texts, 2)[0].tolist() == [token for ids in expected for token in ids]
        assert [core.encode(text + "x", 3, 1000) for text in texts] == [ids_of(tokenizer, text + "x") for text in texts]
        assert [core.encode(text, 2) for text in texts] == expected
    assert core.prefix_counters()["hits"] > 0


CHANGES: dict[str, Callable[[list[int]], object]] = {
    "nothing": lambda ids: None,
    "more": lambda ids: ids.extend(range(300, 900)),
    "less": lambda ids: ids.__delitem__(slice(5000, None)),
    "empty": lambda ids: ids.clear(),
    "in front": lambda ids: ids.insert(0, 1),
    "another": lambda ids: ids.__setitem__(len(ids) // 2, 5),
    "the first": lambda ids: ids.__setitem__(0, 5),
    "an equal one": lambda ids: ids.__setitem__(3000, int(str(ids[3000]))),
    "no id": lambda ids: ids.__setitem__(70, None),  # type: ignore[call-overload]
    "order": lambda ids: ids.reverse(),
}


@pytest.mark.parametrize("first_id", [-1, 7])
def test_lists_are_the_callers_own(first_id: int) -> None:
    """Whatever a caller does to the list of the turn before, and whether it is still there."""
    core, tokenizer = remembering("tiny_qwen2", block=64)
    rng = random.Random(first_id)
    words = ["".join(rng.choices("abcdefgh", k=5)) for _ in range(500)]
    start = " ".join(rng.choices(words, k=2500))
    texts = {name: start + name for name in ("one", "two", "three")}
    held: list[tuple[list[int], list[int]]] = []
    for turn in range(tier.pick(10, 60)):
        session = rng.choice(list(texts))
        texts[session] += " ".join(rng.choices(words, k=rng.choice([1, 40, 200]))) + "\n"
        ids = core.encode(texts[session], first_id=first_id)
        expected = ([first_id] if first_id >= 0 else []) + ids_of(tokenizer, texts[session])
        assert ids == expected, turn
        assert len(ids) > 4096
        for kept, copied in held:
            assert kept == copied
        if turn % 3 == 0:
            held = [*held[-2:], (ids, ids.copy())]
        else:
            CHANGES[rng.choice(list(CHANGES))](ids)
        del ids
        gc.collect()


class EncodesWhenItGoes:
    """Comes back into the core that drops it, if that is still there."""

    def __init__(self, cores: list[Any], texts: list[str]) -> None:
        self.cores, self.texts = cores, texts

    def __del__(self) -> None:
        for core in self.cores:
            for text in self.texts:
                core.encode(text)


@pytest.mark.parametrize("threads", [1, 2])
def test_lists_whose_release_encodes(threads: int) -> None:
    """What a caller puts into a list may encode when the list goes."""
    core, tokenizer = remembering("tiny_qwen2", limit=1 << 21, block=64)
    cores = [core]
    start = " ".join(random.Random(11).choices(["other", "words", "abacus"], k=3000))
    texts = [f"{number} {start}" for number in range(8)]
    for turn in range(tier.pick(6, 40)):
        for number in range(len(texts)):
            texts[number] += f"turn {turn}\n" * 60
            ids: list[Any] = core.encode(texts[number], threads, 2000)
            assert ids == ids_of(tokenizer, texts[number])
            assert len(ids) > 4096
            ids[len(ids) // 2] = EncodesWhenItGoes(cores, [texts[number - 3], texts[number - 1], texts[number]])
            del ids
    assert core.prefix_counters()["bytes"] <= core.prefix_counters()["limit_bytes"]
    cores.clear()


def test_special_tokens_as_text_are_apart() -> None:
    core, tokenizer = remembering("tiny_qwen2", block=8)
    text = "<|start|>user\nhello there<|end|>\n<|start|>assistant\nwell, hello" * 3
    expected = [ids_of(tokenizer, text)]
    tokenizer.encode_special_tokens = True
    expected.append(ids_of(tokenizer, text))
    assert expected[0] != expected[1]
    for _ in range(4):
        assert core.encode(text) == expected[0]
        assert core.encode(text, split_special_tokens=True) == expected[1]
    assert core.prefix_counters()["hits"] == 6


def test_batches_share_what_they_begin_with() -> None:
    """Rows that are encoded later know those that were encoded before, in one batch."""
    core, tokenizer = remembering("tiny_qwen2", block=64)
    start = "the quick brown fox jumps over the lazy dog " * 50
    texts = [f"{start}{number}" for number in range(20)]
    assert core.encode_batch_lists(texts, 1) == [ids_of(tokenizer, text) for text in texts]
    assert core.prefix_counters()["bytes_saved"] > 18 * (len(start) - 64)
    ahead = core.encode_ahead(texts, 2)
    assert [ahead.take(i) for i in range(20)] == [ids_of(tokenizer, text) for text in texts]


def test_eight_threads() -> None:
    core, tokenizer = remembering("tiny_qwen2", limit=60_000, block=32, hash_bits=12)
    rng = random.Random(0)
    texts = [""]
    for _ in range(200):
        base = rng.choice(texts[-20:])
        texts.append(base[: rng.randint(len(base) // 2, len(base))] + "".join(rng.choices(WORDS, k=60)))
    texts = [text[:6000] for text in texts]
    expected = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def work(seed: int) -> list[str]:
        order = random.Random(seed)
        chosen = [order.randrange(len(texts)) for _ in range(300)]
        return [texts[k] for k in chosen if core.encode(texts[k], order.choice([1, 2])) != expected[k]]

    with ThreadPoolExecutor(8) as pool:
        assert [found for found in pool.map(work, range(8)) if found] == []
    counters = core.prefix_counters()
    assert counters["hits"] > 0
    assert counters["evictions"] > 0
    assert counters["bytes"] <= 60_000


def test_fork() -> None:
    """The child's store begins empty, also where a thread of the parent held its lock."""
    own_process.run("""
import os, threading
import test_prefix_cache
core, tokenizer = test_prefix_cache.remembering("tiny_qwen2", block=16)
text = "the quick brown fox jumps over the lazy dog " * 40
expected = [core.encode(text) for _ in range(3)][-1]
stop = False

def encode_on():
    while not stop:
        core.encode(text)

threads = [threading.Thread(target=encode_on) for _ in range(2)]
for thread in threads: thread.start()
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert core.prefix_counters()["texts"] == 0
            assert [core.encode(text) for _ in range(3)] == [expected] * 3
            assert core.prefix_counters()["hits"] > 0
            status = 0
        finally:
            os._exit(status)
    children.append(child)
stop = True
for thread in threads: thread.join()
for child in children: assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert core.encode(text) == expected
""")


class Conversations(RuleBasedStateMachine):
    """Texts that grow, branch, change in the middle and come again, in a small store with a weak hash."""

    limit = 30_000

    @initialize(
        name=st.sampled_from(["tiny_qwen2", "tiny_llama2", "tiny_gemma", "wordpiece_added"]), block=st.integers(1, 12)
    )
    def start(self, name: str, block: int) -> None:
        self.core, self.tokenizer = remembering(name, self.limit, block, hash_bits=4)
        self.texts = [""]

    @rule(number=st.integers(0, 99), words=st.lists(st.sampled_from([*WORDS, "<s>", "[SEP]", "<|end|>"]), max_size=12))
    def grow(self, number: int, words: list[str]) -> None:
        self._encode(self.texts[number % len(self.texts)] + "".join(words))

    @rule(number=st.integers(0, 99), place=st.integers(0, 400))
    def cut(self, number: int, place: int) -> None:
        self._encode(self.texts[number % len(self.texts)][:place])

    @rule(number=st.integers(0, 99), place=st.integers(0, 400), character=st.sampled_from(representatives.characters()))
    def change(self, number: int, place: int, character: str) -> None:
        text = self.texts[number % len(self.texts)]
        self._encode(text[:place] + character + text[place + 1 :])

    @invariant()
    def bounded(self) -> None:
        if hasattr(self, "core"):
            counters = self.core.prefix_counters()
            assert counters["bytes"] <= self.limit

    def _encode(self, text: str) -> None:
        text = text[-1500:]
        self.texts.append(text)
        expected = ids_of(self.tokenizer, text)
        assert self.core.encode(text) == expected
        assert self.core.encode_array(text).tolist() == expected


TestConversations = Conversations.TestCase
TestConversations.settings = hypothesis_settings(max_examples=tier.pick(8, 60), stateful_step_count=25)
