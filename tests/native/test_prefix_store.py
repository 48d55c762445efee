"""What texts begin with is kept: the ids stay the oracle's whatever is known, evicted or collides."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corpus
import native_cores
import own_process
import pytest
import representatives
import tier
from hypothesis import settings as hypothesis_settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tokenizers import Tokenizer

from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

# One for each kind of pipeline; those of tests/data, so that a fresh clone tests them all.
FAMILIES = [
    *["tiny_qwen2", "tiny_o200k", "tiny_tekken", "tiny_deepseek_v3", "tiny_falcon", "tiny_roberta", "qwen3"],
    *["tiny_llama2", "tiny_gemma", "tiny_metaspace", "tiny_metaspace_first", "bert_base_uncased", "wordpiece_added"],
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


def remembering(name: str, limit: int = 1 << 24, piece: int = 1, hash_bits: int = 64) -> tuple[Any, Tokenizer]:
    """A core of its own that keeps pieces of that many characters, and the tokenizer."""
    tokenizer = corpus.load_tokenizer(name)
    pipeline = read_pipeline(tokenizer)
    core = NativeRoute(pipeline, Settings.read({}, threads=1, prefix_cache_mb=0)).core
    core.remember_prefixes(limit, piece, hash_bits, secret=2)
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
    """Texts that are divided wherever they may be: first as they are kept, then from what is known of them."""
    core, tokenizer = remembering(name)
    rng = random.Random(name)
    words = [*WORDS, *added_tokens(tokenizer), *representatives.SNIPPETS]
    texts = ["".join(rng.choices(words, k=rng.randint(1, 40))) for _ in range(250)]
    texts += [
        text for family in corpus.conformance_families() for text in corpus.conformance(family)[:10] if len(text) < 2000
    ]
    expected = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    for time in range(3):
        different = [text for text, ids in zip(texts, expected, strict=True) if core.encode(text) != ids]
        assert different[:3] == [], f"seen for time {time + 1}"
    counters = core.prefix_counters()
    assert counters["hits"] > 0
    assert counters["insertions"] > 0


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_gemma", "bert_base_uncased"])
def test_growing_and_branching(name: str) -> None:
    core, tokenizer = remembering(name, limit=6_000, piece=8)
    rng = random.Random(name)
    texts = [""]
    for _ in range(150):
        base = rng.choice(texts[-12:])
        base = base[: rng.randint(0, len(base))] if rng.random() < 0.3 else base
        texts.append(base[:500] + "".join(rng.choices(WORDS, k=12)))
        for text in (texts[-1], rng.choice(texts)):
            assert core.encode(text) == ids_of(tokenizer, text)
        assert core.prefix_counters()["bytes"] <= 6_000
    counters = core.prefix_counters()
    assert counters["hits"] > 0
    assert counters["evictions"] > 0


def test_pieces_are_kept_the_second_time_and_found_the_third() -> None:
    core, tokenizer = remembering("tiny_qwen2", piece=16)
    turn = "the quick brown fox jumps over the lazy dog and "
    text, saved = "", []
    for _ in range(8):
        text += turn
        assert core.encode(text) == ids_of(tokenizer, text)
        saved.append(core.prefix_counters()["bytes_saved"])
    assert saved[:2] == [0, 0]
    assert saved[2] > 0
    assert saved[-1] > len(text)


def test_a_text_that_leaves_another_in_its_midst() -> None:
    """It is known up to there; what it goes on with is kept at once, as it is shorter than what is known."""
    core, tokenizer = remembering("tiny_qwen2", piece=16)

    def saved(text: str) -> int:
        before = core.prefix_counters()["bytes_saved"]
        assert core.encode(text) == ids_of(tokenizer, text)
        return int(core.prefix_counters()["bytes_saved"] - before)

    trunk = "".join(f"the quick brown fox {number} jumps over the lazy dog " for number in range(100))
    assert saved(trunk) == saved(trunk) == 0
    for place in (1000, 2000, 3001, 3500):
        branch = trunk[:place] + "another fox sleeps " * 30
        assert place - 40 < saved(branch) <= place
        assert saved(branch + "and dreams") > len(branch) - 40
        assert saved(branch[:-20]) > len(branch) - 60
    assert saved(trunk) > len(trunk) - 40


def test_turns_become_few_runs() -> None:
    """Each piece is counted once, however often it is copied; lists and arrays are the oracle's at every turn."""
    core, tokenizer = remembering("tiny_qwen2", piece=16)
    rng = random.Random(1)
    text = ""
    for _ in range(60):
        text += "".join(rng.choices([*WORDS, "\U0001f469"], k=40))
        expected = ids_of(tokenizer, text)
        assert core.encode(text) == expected
        assert core.encode_array(text).tolist() == expected
        counters = core.prefix_counters()
        assert counters["pieces"] == counters["insertions"] <= len(text) / 16


def test_the_least_recently_used_goes_first() -> None:
    def known(text: str) -> bool:
        before = core.prefix_counters()["bytes_saved"]
        core.encode(text)
        return bool(core.prefix_counters()["bytes_saved"] > before)

    def keep(text: str) -> None:
        for _ in range(3):
            core.encode(text)

    first, second, third = (f"{word} " * 300 for word in ("alpha", "gamma", "delta"))
    core, _ = remembering("tiny_qwen2", piece=16)
    keep(first)
    room = core.prefix_counters()["bytes"] * 5 // 2
    core, _ = remembering("tiny_qwen2", limit=room, piece=16)
    keep(first)
    keep(second)
    assert known(first)
    keep(third)
    assert known(first)
    assert known(third)
    assert core.prefix_counters()["evictions"] > 0
    assert core.prefix_counters()["bytes"] <= room


def test_a_limit_that_no_piece_fits() -> None:
    core, tokenizer = remembering("tiny_qwen2", limit=10, piece=16)
    text = "some words of a text " * 20
    for _ in range(4):
        assert core.encode(text) == ids_of(tokenizer, text)
    assert core.prefix_counters()["pieces"] == core.prefix_counters()["bytes"] == 0


@pytest.mark.parametrize("hash_bits", [0, 3])
def test_collisions(hash_bits: int) -> None:
    """A weak hash proposes wrong pieces all the time."""
    core, tokenizer = remembering("tiny_qwen2", piece=8, hash_bits=hash_bits)
    rng = random.Random(hash_bits)
    texts = ["".join(rng.choices(["ab ", "ba ", "a ", "bb\n"], k=30)) for _ in range(60)]
    for _ in range(4):
        for text in texts:
            assert core.encode(text) == ids_of(tokenizer, text)
    assert core.prefix_counters()["collisions"] > 0


def _collisions(secret: int | None) -> list[int]:
    """How many runs of another text each of some texts meets, where 64 hashes are all there are."""
    core = native_cores.make_core({name: i for i, name in enumerate(native_cores.STAND_INS)}, [], scanner="gpt2")
    core.remember_prefixes(1 << 24, 8, 6, secret=secret)
    core.trust_seams()
    texts = [f"number {n} of many texts " * 2 for n in range(100)]
    found = []
    for text in texts * 3:
        core.encode(text)
        found.append(core.prefix_counters()["collisions"])
    return found


def test_hashes_depend_on_a_secret() -> None:
    """Who does not know it cannot choose texts that fall into one bucket, which each lookup would go through."""
    assert _collisions(1) == _collisions(1) != _collisions(2)
    assert _collisions(None) != _collisions(None)


def test_widths_of_characters() -> None:
    """The same beginning in strings of one, two and four bytes a character."""
    core, tokenizer = remembering("tiny_qwen2", piece=16)
    common = "caf\u00e9 au lait, s'il vous pla\u00eet " * 8
    for _ in range(3):
        for end in ("end", "\u4e2d\u6587", "\U0001f469\u200d\U0001f469", "\u00e9"):
            assert core.encode(common + end) == ids_of(tokenizer, common + end)
    assert core.prefix_counters()["hits"] >= 9


def test_arrays_batches_and_threads() -> None:
    core, tokenizer = remembering("tiny_qwen2", piece=64)
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
    core, tokenizer = remembering("tiny_qwen2", piece=64)
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
def test_lists_whose_going_encodes(threads: int) -> None:
    """What a caller puts into a list may encode when the list goes."""
    core, tokenizer = remembering("tiny_qwen2", limit=1 << 21, piece=64)
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
    core, tokenizer = remembering("tiny_qwen2", piece=8)
    text = "<|start|>user\nhello there<|end|>\n<|start|>assistant\nwell, hello" * 3
    expected = [ids_of(tokenizer, text)]
    tokenizer.encode_special_tokens = True
    expected.append(ids_of(tokenizer, text))
    assert expected[0] != expected[1]
    for _ in range(4):
        assert core.encode(text) == expected[0]
        assert core.encode(text, split_special_tokens=True) == expected[1]
    assert core.prefix_counters()["hits"] == 4


def test_eight_threads() -> None:
    core, tokenizer = remembering("tiny_qwen2", limit=60_000, piece=32, hash_bits=12)
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
import test_prefix_store
core, tokenizer = test_prefix_store.remembering("tiny_qwen2", piece=16)
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
            assert core.prefix_counters()["pieces"] == 0
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
        name=st.sampled_from(["tiny_qwen2", "tiny_llama2", "tiny_gemma", "wordpiece_added"]), piece=st.integers(1, 12)
    )
    def start(self, name: str, piece: int) -> None:
        self.core, self.tokenizer = remembering(name, self.limit, piece, hash_bits=4)
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
            assert counters["pieces"] == counters["insertions"] - counters["evictions"]

    def _encode(self, text: str) -> None:
        text = text[-1500:]
        self.texts.append(text)
        expected = ids_of(self.tokenizer, text)
        assert self.core.encode(text) == expected
        assert self.core.encode_array(text).tolist() == expected


TestConversations = Conversations.TestCase
TestConversations.settings = hypothesis_settings(max_examples=tier.pick(8, 60), stateful_step_count=25)
