"""Texts that grow, counts, cuts and intervals: == to encoding the whole text, or the part, by the reference."""

from __future__ import annotations

import functools
import itertools
import json
import random
import threading
from typing import Any

import corpus
import native_cores
import pytest
import random_models
import strategies
import tier
import unigrams
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from short_texts import SHORT_TEXTS
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.incremental import IncrementalEncoder
from lopt_plugin.encoder.operations import LIST
from lopt_plugin.encoder.settled import Middle, Settled
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import EncodeRequest, NeedsReference
from lopt_plugin.settings import Settings

SMALL = [*native_cores.SMALL, "wordpiece_uncased", "wordpiece_added", *unigrams.SMALL]
FAMILIES = ["tiny_qwen2", "tiny_roberta", "tiny_clip", "tiny_llama2", "tiny_metaspace_first", "wordpiece_added"]
GROWING = [
    "it's I'LL we'\u017f don't",
    "a  \n\n b \n <|end|>  x<|end|><|en",
    "12345 6.7\u00b2\u00b3 \u4e2d\u6587\u3002A e\u0301\u0323 \u1100\u1161\u11a8",
    " lead, and \u2581 sign  ",
    "<s>[CLS] lonely [x] \t<mask> the <|left|> <|right|>",
]


@functools.lru_cache(maxsize=4)
def encoder_of(name: str, threads: int = 1) -> Encoder:
    tokenizer = corpus.load_tokenizer(name) if name in corpus.tokenizer_names() else small_pipelines()[name]
    if tokenizer.post_processor is None or name == "tiny_qwen2":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<b> $A <e>", pair=None, special_tokens=[("<b>", 1), ("<e>", 2)]
        )
    return Encoder(tokenizer, Settings.read({}, threads=threads, parallel_min_chars=2000))


def expected(encoder: Encoder, text: str, special: bool = True) -> list[int]:
    ids: list[int] = encoder._backend.encode(text, add_special_tokens=special).ids
    return ids


def counts_of_prefixes(encoder: Encoder, text: str) -> list[int]:
    """How many ids each prefix has, the empty one first; asked as one batch, encoded on all cores."""
    prefixes = [text[:end] for end in range(len(text) + 1)]
    return [len(encoding.ids) for encoding in encoder._backend.encode_batch_fast(prefixes, add_special_tokens=False)]


@pytest.mark.parametrize("name", SMALL)
def test_every_split_into_two_and_three_appends(name: str) -> None:
    encoder = encoder_of(name)
    for text in GROWING:
        whole = {special: expected(encoder, text, special) for special in (True, False)}
        for first, second in itertools.combinations_with_replacement(range(len(text) + 1), 2):
            if first != second and (first + second) % 7:
                continue
            special = first % 2 == 0
            growing = encoder.incremental(add_special_tokens=special)
            for part in (text[:first], text[first:second], text[second:]):
                growing.append(part)
            assert growing.ids == whole[special], (text, first, second)
            assert growing.count == len(whole[special])


@pytest.mark.parametrize("name", FAMILIES)
def test_ids_at_every_moment_and_what_is_stable(name: str) -> None:
    encoder = encoder_of(name)
    for text in (*GROWING, *SHORT_TEXTS):
        growing = encoder.incremental()
        final = expected(encoder, text)
        for character in text:
            growing.append(character)
            stable = growing.stable
            ids = growing.ids
            assert ids[:stable] == final[:stable]
            for start in (stable, 1, len(ids), len(ids) + 9):
                assert growing.ids_from(start) == ids[start:]
        for end in range(0, len(text), 7):
            growing = encoder.incremental()
            growing.append(text[:end])
            assert growing.ids == expected(encoder, text[:end])


@pytest.mark.parametrize("name", SMALL)
def test_prepending(name: str) -> None:
    encoder = encoder_of(name)
    for text in GROWING:
        growing = encoder.incremental()
        for start in range(len(text) - 1, -1, -1):
            growing.prepend(text[start])
            assert growing.ids == expected(encoder, text[start:])
    rng = random.Random(name)
    text = "\n".join(corpus.texts("code", 8_000))
    start = end = 4_000
    growing = encoder.incremental()
    while start > 0 or end < len(text):
        if rng.random() < 0.5:
            start, before = max(0, start - rng.choice([1, 7, 100, 900])), start
            growing.prepend(text[start:before])
        else:
            end, before = min(len(text), end + rng.choice([1, 7, 100, 900])), end
            growing.append(text[before:end])
        assert growing.text == text[start:end]
    assert growing.ids == expected(encoder, text)
    assert growing.count == len(growing.ids)


@pytest.mark.parametrize("kind", corpus.corpora()[:4])
@pytest.mark.parametrize("name", FAMILIES)
def test_long_texts_in_random_appends(name: str, kind: str) -> None:
    encoder = encoder_of(name, 3)
    text = "\n".join(corpus.texts(kind, tier.pick(12_000, 30_000)))
    rng = random.Random(f"{name} {kind}")
    growing = encoder.incremental()
    kept = growing.ids
    end, moments = 0, 0
    while end < len(text):
        end, before = min(len(text), end + rng.choice([1, 2, 5, 40, 256, 5_000])), end
        growing.append(text[before:end])
        if rng.random() < 0.8:
            growing.update(kept)
        if rng.random() < 10 / (moments + 10):
            moments += 1
            assert growing.ids == expected(encoder, text[:end])
    growing.update(kept)
    assert growing.ids == kept == expected(encoder, text)
    assert growing.stable > 0.95 * len(growing.ids)


# Repeated, most of them have no seam: what divides them depends on where they begin.
SEAMLESS = [
    "!\n", "a'", "'s", "<|end|>", "<", "<|", "\n ", "A", "Aa", "A\u02b0", "e\u0301", "\u0928\u094d", "1", "{}", ".a",
    " ", "\x00", "\u4e2d", "\u2581", "\u2581a", "\r\n", "!\n  ", "<|end|> ",
    "\u6587\u3042\u30fc", "\u4e2d\u30fb", "\u4e2da",
]  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_texts_without_a_seam(name: str) -> None:
    encoder = encoder_of(name)
    for unit in SEAMLESS:
        rng = random.Random(f"{name} {unit}")
        text = unit * (1_800 // len(unit)) + rng.choice(SEAMLESS) * 300
        growing = encoder.incremental(add_special_tokens=False)
        end = 0
        while end < len(text):
            end, before = min(len(text), end + rng.choice([1, 5, 60, 520, 700])), end
            growing.append(text[before:end])
            if end > 500 and rng.random() < 0.3:
                assert growing.count == len(expected(encoder, text[:end], False))
                assert growing.ids == expected(encoder, text[:end], False)
        assert growing.ids == expected(encoder, text, False)
        growing.prepend("a 1")
        assert growing.ids == expected(encoder, f"a 1{text}", False)


WITHOUT_A_SEAM = ["!\n", "\n", "'s", "a'", "<|end|>", "\u0928\u094d\u0906 ", "1"]
LONG_PRE_TOKENS = ["!a", "e\u0301", "\u1100\u1161", "ab", "-", "\u2581", "\u4e2d\u6587", "\u02b0A"]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *itertools.product(["qwen3", "tiny_gemma"], WITHOUT_A_SEAM),
        *itertools.product(["tiny_falcon", "tiny_clip", "tiny_roberta", "tiny_o200k"], LONG_PRE_TOKENS),
        # Where it has pieces of two characters, its tokens of white space allow no places between them.
        *[("tiny_llama2", unit) for unit in LONG_PRE_TOKENS if unit != "e\u0301"],
        *[("qwen3", unit) for unit in ("e\u0301", "\u1100\u1161", "!a")],
        *[("wordpiece_cased", unit) for unit in ("a", "ab", "\u00e9", "a\x00")],
        *itertools.product(
            unigrams.SMALL, ["a", "\u4e2d\u6587", "e\u0301", "\u0e01\u0e49", "\uff21", "\u0378", "\u0301\u0323"]
        ),
        ("tiny_llama2", "<s>"),
        ("tiny_roberta", "!\n"),
        ("unigram_t5", "<pad>a"),
    ],
)
def test_what_is_final_is_settled(name: str, unit: str) -> None:
    """So the time of an append does not grow with the text before it."""
    backend = corpus.load_tokenizer(name) if name in corpus.tokenizer_names() else small_pipelines()[name]
    if unit == "<|end|>":
        backend.add_tokens([unit])
    growing = Encoder(backend).incremental(add_special_tokens=False)
    growing.append(unit[0] if unit == "!a" else "")
    for _ in range(8):
        growing.append((unit[1:] if unit == "!a" else unit) * 500)
        assert growing.ids == backend.encode(growing.text, add_special_tokens=False).ids
        assert growing._words is not None or len(growing._now.tail or growing._now.head) < 1000


DROPPED = [
    ("wordpiece_cased", "\x00\x01"),
    ("wordpiece_uncased", "\u0301\u0323"),
    ("wordpiece_added", "\x00"),
    ("tiny_clip", " "),
    ("tiny_clip", "\u2003\t\n "),
    *[(name, "\u200d") for name in unigrams.LARGE],
]


@pytest.mark.every_parameter
@pytest.mark.parametrize(("name", "unit"), DROPPED)
def test_the_middle_of_what_is_dropped_is_not_kept(name: str, unit: str) -> None:
    backend = corpus.load_tokenizer(name)
    if name == "tiny_clip":  # its added tokens take the white space beside them
        backend = Tokenizer.from_str(json.dumps(json.loads(backend.to_str()) | {"added_tokens": []}))
    encoder = Encoder(backend, Settings.read({}, threads=1))
    native = encoder._runner.state.snapshot().native
    assert native is not None
    rng = random.Random(name + unit)
    for _ in range(tier.pick(60, 2_000)):
        runs = ["".join(rng.choices(unit, k=rng.choice([3, 40, 200, 900]))) for _ in range(3)]
        beside = rng.choices([*"ae\u0301\u0323 !\u4e2d\n\u0928", "", "<s>", "[x]", "ab"], k=4)
        text = "".join(itertools.chain(*itertools.zip_longest(beside, runs, fillvalue="")))
        parts = native.core.kept_parts(text)
        kept = "".join(text[begin:end] for begin, end in parts)
        assert expected(encoder, kept, False) == expected(encoder, text, False), (text[:5], parts)
        assert len(parts) > 1 or max(map(len, runs)) < 900
    growing = encoder.incremental(add_special_tokens=False)
    for _ in range(8):
        growing.append(unit * 500)
        assert growing.ids == expected(encoder, growing.text, False)
        assert len(growing._now.tail or growing._now.head) < 1000


def test_what_is_dropped_is_kept_where_tokens_may_be_inside() -> None:
    backend = Tokenizer.from_str(corpus.load_tokenizer("wordpiece_cased").to_str())
    backend.add_tokens([AddedToken("\x01\x01", normalized=False)])
    encoder = Encoder(backend, Settings.read({}, threads=1))
    growing = encoder.incremental(add_special_tokens=False)
    for _ in range(3):
        growing.append("\x01" * 601)
        assert growing.ids == expected(encoder, growing.text, False)


# Texts of few characters that make long pre-tokens, and what may follow them.
FEW = [
    "ab",
    "A\u02b0a",
    "!-",
    "!\u2e80",  # a Han symbol
    "\n\r",
    " \t",
    "\u4e2d\u3042",
    "\u0301\u0928",
    "e\u0301",
    "\u0301\u0345!",
    "<|",
    "1a",
    "\u2581a",
    "'s",
]
BEFORE = ["", "!", " ", "'", "\n", "<", "A", "\u0301"]
AFTER = ["a", "A", "Ab", "'s a", "\n", "/f", " b", "!", "\u0301a", "1", "\u4e2d", "\u2e80", "<|end|>", "\u0323", "\x00"]


def check_final_place(encoder: Encoder, text: str, inside: bool, after: list[str]) -> bool:
    """Whatever follows, the ids before the place are the same, and those after it are those of the rest alone."""
    native = encoder._runner.state.snapshot().native
    assert native is not None
    settled = native.core.settled_ids()
    place = native.core.settle_beginning(settled, text, inside, False)
    if place is None:
        return False
    at, inside_there, left, is_final, marks = place
    assert left == native.core.encode_part(marks + text[at:], inside=inside_there)
    for more in after:
        ids = native.core.encode_part(text + more, inside=inside)
        if not is_final and native.core.ends_row(text, more) is False:
            continue
        assert inside or ids == expected(encoder, text + more, False)
        rest = native.core.encode_part(marks + text[at:] + more, inside=inside_there)
        assert settled.list_from([], 0) + rest == ids, (text[:5], place, more)
    return True


@pytest.mark.parametrize(
    "name",
    [
        "tiny_qwen2",
        "tiny_o200k",
        "tiny_kimi",
        "tiny_deepseek_v3",
        "tiny_falcon",
        "tiny_clip",
        "tiny_roberta",
        "tiny_llama2",
        "wordpiece_cased",
    ],
)
def test_final_places_in_long_pre_tokens(name: str) -> None:
    encoder = encoder_of(name)
    rng = random.Random(name)
    found = 0
    for few, inside in itertools.product(FEW, [False, True]):
        for before in rng.sample(BEFORE, tier.pick(2, 8)):
            after = rng.sample(AFTER, tier.pick(5, len(AFTER)))
            found += check_final_place(encoder, before + "".join(rng.choices(few, k=600)), inside, after)
    assert found > 2


@pytest.mark.parametrize(
    ("name", "merges", "text", "more"),
    [
        ("tiny_qwen2", [("b", "c"), ("a", "bc")], "abc" * 200, "abc"),
        ("qwen3", [("\u010a", "\u0120")], "!" + "\n" * 600, " \n"),  # newline, space: newlines belong to the symbol
        ("tiny_o200k", [("\u00b0", "A")], "a" + "\u02b0" * 600, "Ab"),  # the second half of \u02b0
        ("tiny_o200k", [("\u0123", "!")], "!" + "\u0301" * 600, "!a"),  # the second half of \u0301
        ("tiny_kimi", [("\u0122", "!")], "!" + "\u2e80" * 600, "!a"),  # the last byte of a Han symbol
    ],
)
def test_no_final_place_that_moves(name: str, merges: list[tuple[str, str]], text: str, more: str) -> None:
    """An entry of the vocabulary shows that a scan from there on would find other pre-tokens or other tokens."""
    backend = corpus.load_tokenizer(name)
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    backend.model = models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges)
    encoder = Encoder(backend, Settings.read({}, threads=1))
    for end in range(3):
        check_final_place(encoder, text[: len(text) - end], False, [text[len(text) - end :] + more, "a", "A"])


@pytest.mark.parametrize(
    ("name", "entry", "seamless", "more"),
    [
        ("qwen3", ("\u010a", "\u0120"), "!\n", ["\n" + " " * 40, "\n a"]),  # newline, space
        ("tiny_o200k", ("\u00aa", "A"), "!\n", ["\u00aa" + "A" * 40, "a"]),  # the second half of a letter without case
        ("qwen3", ("\u010a", "\u0120"), "\n ", [" ", "\n", "    ", "a"]),
        ("tiny_o200k", ("\u00b0", "A"), "A\u02b0", ["A", "A", "\u02b0", "A", "a"]),  # the second half of \u02b0
    ],
)
def test_a_boundary_that_moves(name: str, entry: tuple[str, str], seamless: str, more: list[str]) -> None:
    """As long as a run may go on, its end may decide where pre-tokens begin; an entry of the vocabulary shows it."""
    backend = corpus.load_tokenizer(name)
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "".join(entry)]
    backend.model = models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=[entry])
    encoder = Encoder(backend, Settings.read({}, threads=1))
    growing = encoder.incremental(add_special_tokens=False)
    text = ""
    for part in [seamless * 600 + more[0], *more[1:]]:
        text += part
        growing.append(part)
        assert growing.ids == expected(encoder, text, False)


@pytest.mark.parametrize("content", ["<<<|", "|<", "<|<"])
def test_a_token_in_a_long_run(content: str) -> None:
    backend = corpus.load_tokenizer("qwen3")
    backend.add_tokens([AddedToken(content, normalized=False)])
    encoder = Encoder(backend, Settings.read({}, threads=1))
    growing = encoder.incremental(add_special_tokens=False)
    text = ""
    for part in ["<" * 700, "|", "|", "<", "<<", "<" * 600, "<|<|"]:
        text += part
        growing.append(part)
        assert growing.count == len(expected(encoder, text, False))
        assert growing.ids == expected(encoder, text, False)


class Conversation(RuleBasedStateMachine):
    """Appends, prepends, branches, and a tokenizer that changes."""

    states = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        tokenizer = corpus.load_tokenizer("tiny_qwen2")
        tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
        self.encoder = Encoder(tokenizer, Settings.read({}, threads=1))
        self.growing = self.encoder.incremental()
        self.text = ""
        self.asks = True
        self.lists: list[list[int]] = [[], [7, 8, 9]]

    @rule(which=st.integers(0, 1), more=st.sampled_from([0, 0, 0, 1, -1]))
    def update(self, which: int, more: int) -> None:
        ids = self.lists[which]
        if more > 0:
            ids.append(3)
        elif more < 0:
            del ids[-1:]
        self.growing.update(ids)
        assert ids == expected(self.encoder, self.text)

    @rule(text=strategies.texts(6))
    def append(self, text: str) -> None:
        self.growing.append(text)
        self.text += text

    @rule(turn=st.sampled_from(["<|im_start|>user\n", "<|im_end|>\n", "<|im_", "start|>"]))
    def append_turn(self, turn: str) -> None:
        self.growing.append(turn)
        self.text += turn

    @rule(text=strategies.texts(4))
    def prepend(self, text: str) -> None:
        self.growing.prepend(text)
        self.text = text + self.text

    @rule(target=states)
    def snapshot(self) -> tuple[Any, str]:
        return self.growing.snapshot(), self.text

    @rule(state=states)
    def restore(self, state: tuple[Any, str]) -> None:
        self.growing.restore(state[0])
        self.text = state[1]

    @rule(state=states)
    def go_on_with_another(self, state: tuple[Any, str]) -> None:
        self.growing = self.encoder.incremental()
        self.restore(state)

    @rule(content=st.sampled_from(["the", "1", "<x>"]))
    def change_tokenizer(self, content: str) -> None:
        self.encoder._backend.add_tokens([AddedToken(content)])

    @rule(asks=st.booleans())
    def ask_from_now_on(self, asks: bool) -> None:
        self.asks = asks

    def teardown(self) -> None:
        self.asks = True
        self.ids_are_those_of_the_text()

    @invariant()
    def ids_are_those_of_the_text(self) -> None:
        assert self.growing.text == self.text
        if not self.asks:
            return
        ids = expected(self.encoder, self.text)
        assert self.growing.ids == ids
        for start in (1, len(ids) // 2, self.growing.stable):
            assert self.growing.ids_from(start) == ids[start:]
        assert self.growing.count == len(ids)


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=tier.pick(10, 100), stateful_step_count=20)


@pytest.mark.parametrize("name", SMALL)
def test_counts(name: str) -> None:
    encoder = encoder_of(name, 4)
    long = "\n".join(corpus.texts("multi", 30_000))
    texts = ["", " ", *SHORT_TEXTS, *GROWING, long, long[:2_500]]
    for special in (True, False):
        lengths = [len(expected(encoder, text, special)) for text in texts]
        assert [encoder.count(text, special) for text in texts] == lengths
        assert encoder.count_batch(texts, special) == lengths
        assert encoder.count_batch([], special) == []
        for text, length in zip(texts, lengths, strict=True):
            for limit in {0, 1, 2, 3, length - 1, length, length + 1, length // 2, 5 * length}:
                assert encoder.count_until(text, limit, special) == (length if length <= limit else None)


def longest_prefix(encoder: Encoder, text: str, most: int, special: bool) -> str:
    """By trying them all."""
    return max(
        (text[:end] for end in range(len(text) + 1) if len(expected(encoder, text[:end], special)) <= most), key=len
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_cut_is_the_longest_prefix(name: str) -> None:
    encoder = encoder_of(name)
    rng = random.Random(name)
    for text in [*GROWING, *rng.sample(SHORT_TEXTS, 3)]:
        most = len(expected(encoder, text))
        for limit in {2, 3, 4, most // 2, most - 1, most, most + 1, *rng.sample(range(2, most + 2), min(2, most))}:
            if limit >= 2:
                special = limit % 2 == 0
                assert encoder.cut(text, limit, special) == longest_prefix(encoder, text, limit, special)
    long = "\n".join(corpus.texts("zh", 20_000))
    for limit in (10, 1_000, 5_000):
        cut = encoder.cut(long, limit)
        assert len(expected(encoder, cut)) <= limit
        assert all(len(expected(encoder, long[: len(cut) + more])) > limit for more in range(1, tier.pick(20, 60)))


ROWS = {
    "lines": [" ", " ", "\t", "\n", "\r\n", "\u2028"],
    "few lines": [*[" "] * 200, "\n"],
    "spaces and a newline": [" "],
    "wide white space": [" ", "\u3000", "\u2003", "\u00a0", "\n"],
    "joiners": ["\U0001f469", "\u200d", "\u2764\ufe0f"],
    "marks": ["e", "\u0301", "\u0323"],
    "symbols and lines": ["-", "=", "\n"],
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    "name",
    [
        *["tiny_qwen2", "tiny_o200k", "tiny_roberta", "tiny_clip", "tiny_llama2"],
        *tier.pick([], ["tiny_tekken", "tiny_deepseek_v3", "tiny_cl100k", "tiny_starcoder", "tiny_falcon"]),
    ],
)
def test_cut_in_rows_without_a_seam(name: str, row: str) -> None:
    """White space, emoji, marks: every prefix is tried, of rows that are longer than what is encoded as it is."""
    encoder = encoder_of(name)
    rng = random.Random(f"{name} {row}")
    for before, after in tier.pick((("x", "y"),), (("", ""), ("x", "y"))):
        last = "\n" if row == "spaces and a newline" else ""
        text = before + "".join(rng.choices(ROWS[row], k=600)) + last + after
        counts = counts_of_prefixes(encoder, text)
        for limit in {0, 1, 2, max(0, counts[-1] - 1), *rng.sample(range(counts[-1] + 1), min(12, counts[-1]))}:
            longest = max(end for end, number in enumerate(counts) if number <= limit)
            assert encoder.cut(text, limit, False) == text[:longest]


def test_cut_where_even_nothing_is_too_much() -> None:
    encoder = encoder_of("tiny_qwen2")
    assert encoder.cut("abc", 2) == ""
    for most in (1, 0, -1):
        with pytest.raises(ValueError, match="max_tokens"):
            encoder.cut("abc", most)
    assert encoder.cut("", 0, add_special_tokens=False) == ""


@pytest.mark.parametrize("name", SMALL)
def test_every_interval_of_short_texts(name: str) -> None:
    encoder = encoder_of(name)
    for text in GROWING:
        intervals = encoder.intervals(text)
        for start, end in itertools.combinations_with_replacement(range(len(text) + 1), 2):
            assert intervals.count(start, end) == len(expected(encoder, text[start:end], False))


@pytest.mark.parametrize("name", FAMILIES)
def test_intervals_of_long_texts(name: str) -> None:
    encoder = encoder_of(name)
    rng = random.Random(name)
    text = "".join(itertools.chain(*(corpus.texts(kind, 8_000) for kind in corpus.corpora()[:4]), GROWING, SHORT_TEXTS))
    intervals = encoder.intervals(text, add_special_tokens=True)
    for _ in range(200):
        start = rng.randrange(len(text))
        end = min(len(text), start + rng.choice([0, 1, 3, 50, 64, 200, 3_000]))
        assert intervals.count(start, end) == len(expected(encoder, text[start:end]))
    assert intervals.count(0, len(text)) == len(expected(encoder, text))
    for start, end in ((2, 1), (0, len(text) + 1), (-1, 3)):
        with pytest.raises(IndexError):
            intervals.count(start, end)


@settings(max_examples=tier.pick(10, 100))
@given(text=strategies.texts(12), data=st.data())
@pytest.mark.parametrize("name", FAMILIES)
def test_any_text(name: str, text: str, data: st.DataObject) -> None:
    encoder = encoder_of(name)
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    length = len(expected(encoder, text))
    assert encoder.count(text) == length
    assert encoder.intervals(text).count(start, end) == len(expected(encoder, text[start:end], False))
    growing = encoder.incremental()
    for part in (text[start:end], text[end:]):
        growing.append(part)
    growing.prepend(text[:start])
    assert growing.ids == expected(encoder, text)
    if len(text) < 60:
        limit = data.draw(st.integers(2, length + 1))
        assert encoder.cut(text, limit) == longest_prefix(encoder, text, limit, True)


def test_prefixes_that_end_inside_a_run_that_is_replaced() -> None:
    """Two and more of its characters become others. One, at the end of a prefix, does not."""
    pieces = [("<unk>", 0.0), ("a", -1.0), ("\u2581", -1.0), ("\u2581a", -1.0), ("\u2581a\u00a0", -0.1)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.normalizer = normalizers.Replace(Regex(r"\s{2,}"), "  ")
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    encoder = Encoder(backend, Settings.read({}, threads=1))
    native = encoder._runner.state.snapshot().native
    assert native is not None
    text = "a" + "\u00a0" * 90
    assert [encoder.count(text[:end]) for end in (1, 2, 3)] == [1, 1, 3]
    for long_word in (8, 512):
        assert native.core.cut(text, 1, False, long_word) == 2
    intervals = encoder.intervals(text)
    for start, end in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        assert intervals.count(start, end) == len(expected(encoder, text[start:end], False)), (start, end)


def test_a_prefix_without_the_token_that_takes_white_space_from_another() -> None:
    """A token of the raw text takes the white space before it. Without that token, the one before takes it."""
    backend = Tokenizer(models.Unigram([("<unk>", 0.0), ("\u2581", -1.0), ("\u2581b", -1.0)], unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    backend.add_tokens([AddedToken("<right>", rstrip=True), AddedToken("<left>", lstrip=True, normalized=False)])
    encoder = Encoder(backend, Settings.read({}, threads=1))
    native = encoder._runner.state.snapshot().native
    assert native is not None
    text = "b<right>" + "\u00a0" * 32 + "<left>" * 5 + "b" * 40
    counts = [len(expected(encoder, text[:end], False)) for end in range(len(text) + 1)]
    for limit in {*counts}:
        longest = max(end for end, count in enumerate(counts) if count <= limit)
        for long_word in (1, 8, 512):
            assert native.core.cut(text, limit, False, long_word) == longest, (limit, long_word)


def test_counts_that_fall_when_text_is_added() -> None:
    """The example of GitHub's `bpe`: an encoding is not a beginning of the encoding of a longer text.

    With the tokens a b c ab cb ac bb cbb acbb, in the order of their merges, `abacb` is ab|a|cb, and `abacbb`, with one
    letter more, ab|acbb: one token less. So the longest prefix with two tokens is not where a third first appeared.
    """
    entries = ["a", "b", "c", "ab", "cb", "ac", "bb", "cbb", "acbb"]
    merges = [("a", "b"), ("c", "b"), ("a", "c"), ("b", "b"), ("cb", "b"), ("a", "cbb")]
    encoder = Encoder(_byte_level(entries, merges), Settings.read({}, threads=1))
    assert encoder._runner.state.snapshot().native is not None

    def tokens(ids: list[int]) -> str:
        return "|".join(encoder._backend.id_to_token(number) or "" for number in ids)

    growing = encoder.incremental()
    seen = []
    for letter in "abacbb":
        growing.append(letter)
        seen.append(tokens(growing.ids))
        assert growing.ids == expected(encoder, growing.text)
    assert seen == ["a", "ab", "ab|a", "ab|ac", "ab|a|cb", "ab|acbb"]
    assert [encoder.count("abacbb"[:end]) for end in range(1, 7)] == [1, 1, 2, 2, 3, 2]
    assert encoder.cut("abacb", 2) == "abac"
    assert encoder.cut("abacbb", 2) == "abacbb"
    assert encoder.intervals("abacbb").count(2, 6) == 1


def _byte_level(entries: list[str], merges: list[tuple[str, str]]) -> Tokenizer:
    from random_models import STAND_INS
    from tokenizers import models, pre_tokenizers

    names = dict.fromkeys([*entries, *STAND_INS])
    tokenizer = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


LONG_WORDS = ["few", "letters", "wide", "one", "joiners", "marks", "virama", "controls", "spaces", "signs"]
METASPACE = ["tiny_llama2", "tiny_metaspace", "tiny_metaspace_first", "tiny_gemma"]


@pytest.mark.parametrize("kind", LONG_WORDS)
@pytest.mark.parametrize(
    "name",
    [
        *["tiny_qwen2", "tiny_o200k", "tiny_deepseek_v3", "tiny_falcon", "tiny_roberta", *METASPACE],
        *[*unigrams.SMALL, *tier.pick([], unigrams.LARGE)],
    ],
)
def test_long_words_without_a_seam(name: str, kind: str) -> None:
    """The ids of every prefix, from the last token of each; and the parts of such a word."""
    encoder = encoder_of(name)
    rng = random.Random(f"{name} {kind}")
    letters = {
        "few": "aet",
        "letters": "abcdefghijkmnopqrstuvwxyz",
        "wide": "a\u00e9\u4e2d\u7684\U00020000b",
        "one": "a",
        "joiners": "\U0001f469\u200d\U0001f4bb\u200d",  # no normalizer changes them, but others of their pages
        "marks": "e\u0301\u0323",
        "virama": "\u0928\u094d\u0905\u0e01\u0e49",  # marks that compose with nothing; Llama 2 lacks U+0905
        "controls": "\x01\x02",
        "spaces": "    a",
        "signs": "\u2581\u2581\u2581 a",
    }[kind]
    word = "".join(rng.choices(letters, k=2_000))
    text = f"start {word} the end"
    native = encoder._runner.state.snapshot().native
    assert native is not None
    is_divided = check_final_place(encoder, word, False, AFTER)
    assert is_divided or not (
        (name in ("tiny_qwen2", "tiny_o200k") and kind not in ("marks", "spaces", "signs"))
        or (name == "tiny_deepseek_v3" and kind not in ("wide", "joiners", "spaces", "signs"))
        or (name in METASPACE and kind in ("few", "letters", "one"))
    )
    if name in (*unigrams.SMALL, *unigrams.LARGE) and kind in ("few", "letters", "wide", "one", "marks", "controls"):
        assert native.core.growing_words(word) is not None
    growing = encoder.incremental(add_special_tokens=False)
    growing.append(text[:900])
    end = 900
    while end < len(text):
        end, before = end + rng.choice([1, 3, 50, 300]), end
        growing.append(text[before:end])
        ids = expected(encoder, text[:end], False)
        assert growing.count == len(ids)
        assert growing.ids == ids
    alone = encoder.incremental(add_special_tokens=False)
    for first in range(0, 2_000, 400):
        alone.append(word[first : first + 400])
        assert alone.count == len(expected(encoder, word[: first + 400], False))
        assert alone.ids == expected(encoder, word[: first + 400], False)
    intervals = encoder.intervals(text)
    for _ in range(60):
        start = rng.randrange(1_300)
        end = start + rng.choice([513, 520, 600])
        assert intervals.count(start, end) == len(expected(encoder, text[start:end], False))
    whole = len(expected(encoder, text, False))
    for most in {whole // 2, whole // 3, max(whole - 5, 1)}:
        cut = encoder.cut(text, most, False)
        assert len(expected(encoder, cut, False)) <= most
        for more in (*range(1, tier.pick(9, 25)), 100, 400):
            longer = text[: len(cut) + more]
            assert longer == text or len(expected(encoder, longer, False)) > most


@pytest.mark.parametrize("name", METASPACE)
def test_a_long_word_after_what_the_prepended_space_makes_a_token(name: str) -> None:
    """Normalized tokens of Llama 2 begin with the space that it prepends: no character of the text shows it."""
    encoder = encoder_of(name)
    for token in encoder._backend.get_added_tokens_decoder().values():
        for end in (len(token.content) - 1, len(token.content)):
            growing = encoder.incremental()
            growing.append(token.content[:end] + "a" * 1_000)
            ids = expected(encoder, growing.text)
            assert (token.content, growing.count, growing.ids) == (token.content, len(ids), ids)


@pytest.mark.parametrize("name", [*unigrams.SMALL, *tier.pick([], unigrams.LARGE)])
def test_long_words_of_unigram_at_every_moment(name: str) -> None:
    """Ends that the next character may change: marks, clusters, what the normalizer removes, and unknown characters."""
    encoder = encoder_of(name)
    native = encoder._runner.state.snapshot().native
    assert native is not None
    kinds = [
        "e\u0301\u0323o", "\u0e01\u0e49\u0e33", "\u0928\u094d\u0915", "\u4e2d\u6587a", "\u0378\u0379a",
        "\uff76\uff9ea", "\ufb01\u00bda", "\u1112\u1161\u11ab", "\x00\x01a", "\u304b\u3099\u306f",
        "\u00a9\u200d\u00aea", "\u0600a\u0301", "theinorsd",
    ]  # fmt: skip
    for kind in kinds:
        rng = random.Random(f"{name} {kind}")
        text = "".join(rng.choices([*kind, kind], k=600))
        word = native.core.growing_words(text)
        assert word is not None
        for _ in range(tier.pick(30, 300)):
            more = "".join(rng.choices(kind, k=rng.choice([1, 1, 2, 20])))
            text += more
            assert word.append(more)
            ids = expected(encoder, text, False)
            assert (word.count(), word.ids()) == (len(ids), ids), (kind, len(text))


# Characters that begin clusters by different rules, or are looked up together with marks; and marks.
BASES = "a\u00a9\u1100\u1161\uac00\u0915\u0928\u304b\U0001f468\u0600\U0001f1e9\u0e01\r\n \u00e9\uff76\u4e2d"
MARKS = "\u0301\u0323\u0345\u20e3\u3099\u094d\u093c\u200d\ufe0f\u0e49\u0308\U0001d165"


@pytest.mark.parametrize("name", [*unigrams.SMALL, *tier.pick([], unigrams.LARGE)])
def test_marks_in_long_words_of_unigram(name: str) -> None:
    """A cluster of 6 bytes or more is looked up by character, and what follows it may be a short one."""
    encoder = encoder_of(name)
    native = encoder._runner.state.snapshot().native
    assert native is not None
    rng = random.Random(name)
    appended = 0
    for _ in range(tier.pick(1_500, 100_000)):
        marks, bases = rng.sample(MARKS, rng.randint(1, 3)), rng.sample(BASES, rng.randint(1, 3))
        text = rng.choice(["x" * 520, "\u4e2d" * 520, ""]) + "".join(rng.choices(marks, k=rng.choice([0, 1, 520])))
        word = native.core.growing_words(text, False, False)
        for _ in range(rng.randint(1, 6)):
            more = "".join(rng.choices([*marks * 3, *bases], k=rng.choice([1, 2, 3, 5, 70, 200])))
            if word is None or not word.append(more):
                break
            text += more
            appended += 1
            ids = native.core.encode_part(text)
            assert word.ids() == ids, ascii(text[500:])
            assert rng.random() < 0.95 or ids == expected(encoder, text, False)
    assert appended > 1_000


@pytest.mark.parametrize("goes_on", ["\u200d\u2122\u0301", "\u094d\u0958\u0301"])
@pytest.mark.parametrize("base", ["\U0001f468", "\u00a9", "\u0915"])
def test_clusters_that_go_on_after_their_marks(base: str, goes_on: str) -> None:
    """After a joiner or a virama, what looks like a cluster of its own may be part of a long one."""
    encoder = encoder_of("unigram_t5")
    native = encoder._runner.state.snapshot().native
    assert native is not None
    text = "x" * 520 + base
    word = native.core.growing_words(text)
    for more in ["\u0301" * 20, "\u0301", *goes_on, "a"]:
        assert word.append(more)
        text += more
        assert word.ids() == expected(encoder, text, False)


def test_conjuncts_of_letters_that_begin_long_keys_only() -> None:
    """NA begins a key of 6 bytes, which is in no cluster that is looked up as a whole: a long conjunct is divided."""
    encoder = encoder_of("unigram_t5")
    native = encoder._runner.state.snapshot().native
    assert native is not None
    text = "\u0928\u094d" * 300
    word = native.core.growing_words(text)
    for more in ["\u0928\u094d" * 100, "\u0928", "\u0301", "\u0928", "\u093c", "\u0928\u094d" * 60]:
        assert word.append(more)
        text += more
        assert word.ids() == expected(encoder, text, False)


def test_long_words_of_random_unigrams() -> None:
    """Scores that tie, every pipeline, added tokens, and ends of words."""
    known = 0
    for seed in range(tier.pick(60, 1_000)):
        rng = random.Random(f"unigram {seed}")
        backend = unigrams.random_tokenizer(rng)
        encoder = Encoder(backend, Settings.read({}, threads=1))
        units = "".join(unigrams.random_texts(rng, backend, 2)).split()
        units = rng.sample(units, min(len(units), 4)) or ["a"]
        text = "".join(rng.choices(units, k=600))[:600]
        native = encoder._runner.state.snapshot().native
        known += native is not None and native.core.growing_words(text) is not None
        growing = encoder.incremental()
        growing.append(text)
        for _ in range(8):
            growing.append(rng.choice([*"".join(units), *units, " ", "\u2581", "\u2603"]))
            ids = expected(encoder, growing.text)
            assert (growing.count, growing.ids) == (len(ids), ids), seed
    assert known > 10


@pytest.mark.parametrize("name", unigrams.SMALL)
def test_a_token_that_an_append_completes(name: str) -> None:
    # A token that must be a single word would make any beginning of a token count.
    backend = Tokenizer.from_str(json.dumps(json.loads(corpus.tokenizer_json(name)) | {"added_tokens": []}))
    backend.add_tokens([AddedToken("\u4e2dab", normalized=False)])
    growing = Encoder(backend, Settings.read({}, threads=1)).incremental(add_special_tokens=False)
    for part in ["\u4e2d" * 700, "a", "b", "\u4e2d" * 700, "ab"]:
        growing.append(part)
        ids = backend.encode(growing.text, add_special_tokens=False).ids
        assert (growing.count, growing.ids) == (len(ids), ids)


@pytest.mark.parametrize("token", [AddedToken("\u4e2dab", normalized=True), AddedToken("ab\uff21", normalized=False)])
@pytest.mark.parametrize("split", [False, True])
def test_a_token_in_a_long_word_of_unigram(token: AddedToken, split: bool) -> None:
    """The normalizer makes an A of U+FF21, and an a of U+FF41: a token may be there before it, or after it only."""
    backend = corpus.load_tokenizer("unigram_t5")
    backend.add_special_tokens([token])
    backend.encode_special_tokens = split
    encoder = Encoder(backend, Settings.read({}, threads=1))
    growing = encoder.incremental(add_special_tokens=False, split_special_tokens=split)
    for part in ["\u4e2d" * 700, "\uff41", "b", "\uff21", "ab", "\uff21", "\u4e2d" * 700, "a", "b"]:
        growing.append(part)
        ids = expected(encoder, growing.text, False)
        assert (growing.count, growing.ids) == (len(ids), ids)


def _runs(rng: random.Random, order: str) -> Tokenizer:
    """A tokenizer with runs of `a` as entries, and with what may follow them.

    order: how runs are merged: "greedy" as Gemma's spaces, the longest left part first; "left" from the left, in any
    order; or "any".
    """
    longest = rng.randint(2, 9)
    pairs = [(i, j) for i in range(longest - 1, 0, -1) for j in range(longest - i, 0, -1) if order != "left" or j == 1]
    if order != "greedy":
        rng.shuffle(pairs)
    merges = [("a" * i, "a" * j) for i, j in pairs]
    for k in rng.sample(range(1, longest + 1), rng.randint(0, longest)):
        merges.insert(rng.randint(0, len(merges)), rng.choice([("a" * k, "b"), ("b", "a" * k)]))
    if rng.random() < 0.3:  # a `b` takes the end of the run, one by one
        merges[:0] = [("a", "a" * k + "b") for k in range(rng.choice([5, 30]))]
    entries = [*("a" * k for k in range(1, longest + 1)), *("".join(pair) for pair in merges)]
    return _byte_level(entries, merges)


@pytest.mark.parametrize("order", ["greedy", "left", "any"])
def test_runs_of_one_byte(order: str) -> None:
    """Their tokens need no walks, and may be made out of order; what follows the run may join its end."""
    known = 0
    for seed in range(tier.pick(60, 400)):
        rng = random.Random(f"runs {seed}")
        encoder = Encoder(_runs(rng, order), Settings.read({}, threads=1))
        native = encoder._runner.state.snapshot().native
        assert native is not None
        known += check_final_place(encoder, "a" * 600, False, ["a", "b", "aab", "a" * 9 + "b"])
        for length in (255, 256, 257, 256 + rng.randint(2, 400)):
            assert native.core.encode("a" * length) == expected(encoder, "a" * length)
        growing = encoder.incremental()
        growing.append("a" * 513)
        for part in ("a", "a" * rng.randint(1, 40), rng.choice(["", "b", "ba", "aba" * 30]), "a" * 70, "b"):
            growing.append(part)
            ids = expected(encoder, growing.text)
            assert (growing.count, growing.ids) == (len(ids), ids)
    assert known > (0 if order == "any" else seed // 3)


@pytest.mark.parametrize("seed", range(15))
def test_prefixes_and_parts_under_random_merges(seed: int) -> None:
    rng = random.Random(f"growing words {seed}")
    model = random_models.random_model(rng)
    tokenizer = model.reference(ignore_merges=seed % 3 == 0)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encoder = Encoder(tokenizer, Settings.read({}, threads=1))
    snapshot = encoder._runner.state.snapshot()
    if snapshot.native is None:
        # The core may refuse a random model; ids that differ from the reference's are a failure.
        assert snapshot.checked is None, snapshot.reason
        pytest.skip(snapshot.reason)
    word = "".join(rng.choices(model.characters, k=900))
    growing = encoder.incremental()
    growing.append(word[:512])
    for place in range(512, 900, tier.pick(27, 9)):
        growing.append(word[place : place + tier.pick(27, 9)])
        assert growing.ids == expected(encoder, growing.text)
    intervals = encoder.intervals(word)
    for _ in range(60):
        start = rng.randrange(380)
        end = rng.randrange(start + 512, 901)
        assert intervals.count(start, end) == len(expected(encoder, word[start:end]))
    for most in rng.sample(range(1, 900), 1):
        assert encoder.cut(word, most) == longest_prefix(encoder, word, most, False)


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2", "wordpiece_uncased"])
def test_right_truncation_gives_what_hf_gives(name: str) -> None:
    encoder = encoder_of(name, 3)
    reference = Tokenizer.from_str(encoder._backend.to_str())
    text = "\n".join(corpus.texts("books_en", 20_000))
    for limit in (3, 4, 10, 500, 3_000, 100_000):
        reference.enable_truncation(limit)
        assert (
            encoder._runner.run("a test", LIST, text, EncodeRequest(max_length=limit))[0] == reference.encode(text).ids
        )
        for request in (EncodeRequest(max_length=limit), EncodeRequest(max_length=limit, arrays=True)):
            rows = [text, "short", "", text[7:]]
            columns, _ = encoder._encode(rows, request)
            assert [list(ids) for ids in columns.ids] == [reference.encode(row).ids for row in rows]
    # What truncation removes is still part of the text: a lone surrogate in it is an error.
    with pytest.raises(NeedsReference):
        encoder._encode([text + "\ud800"], EncodeRequest(max_length=10))


@pytest.mark.parametrize("name", ["word_level", "nfkd"])
def test_where_hf_does_the_work(name: str) -> None:
    encoder = Encoder(small_pipelines()[name], Settings.read({}, threads=1, route="hf"))
    text = "one two, three \u00e9"
    growing = encoder.incremental()
    kept: list[int] = []
    for word in text.split(" "):
        growing.append(word + " ")
        assert growing.ids == expected(encoder, growing.text)
        assert growing.stable == 0
        assert growing.ids_from(1) == growing.ids[1:]
        growing.update(kept)
        assert kept == growing.ids
    assert growing.count == len(growing.ids)
    assert encoder.count(text) == len(expected(encoder, text)) == encoder.count_batch([text])[0]
    assert encoder.count_until(text, 1) is None
    assert encoder.count_until(text, 100) == encoder.count(text)
    assert encoder.cut(text, 2) == longest_prefix(encoder, text, 2, True)
    assert encoder.intervals(text).count(2, 9) == len(expected(encoder, text[2:9], False))
    assert any(call.startswith("incremental: ") for call in encoder.explain()["hf_calls"])


@pytest.mark.parametrize("split", [False, True])
def test_counts_where_hf_does_the_work(split: bool) -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1, route="hf"))
    reference = corpus.load_tokenizer("tiny_qwen2")
    reference.encode_special_tokens = split
    texts = ["one <|end|> two", "", "three", "<|end|>" * 3, "and four"]
    lengths = [len(encoding.ids) for encoding in reference.encode_batch(texts)]
    assert lengths[0] > 4 or not split
    given: dict[str, Any] = {"split_special_tokens": split}
    assert encoder.count_batch(texts, **given) == lengths
    assert [encoder.count(text, **given) for text in texts] == lengths
    assert [encoder.count_until(text, 5, **given) for text in texts] == [n if n <= 5 else None for n in lengths]
    text, most = texts[3], lengths[3] - 1
    longest = max(end for end in range(len(text)) if len(reference.encode(text[:end]).ids) <= most)
    assert encoder.cut(text, most, **given) == text[:longest]


def test_counts_are_calls() -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1))
    encoder.count("one")
    encoder.count("one")
    assert encoder.explain()["calls"]["native"] == 2
    encoder.count_batch(["one", "two"])
    encoder.count_until("one", 3)
    encoder.cut("one", 3)
    assert encoder.explain()["calls"]["native"] == 6


def test_seams_that_do_not_hold_are_not_used(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(NativeRoute, "_by_parts", lambda self, text: [])
        encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1))
    growing = encoder.incremental()
    growing.append("one two three")
    assert growing.ids == expected(encoder, "one two three")
    assert growing.stable == 0
    assert encoder.count("one two three") == len(growing.ids)
    assert "not split at seams" in caplog.text
    assert encoder.explain()["core"]["seams_checked"] is False
    assert encoder_of("tiny_qwen2").incremental().stable >= 0
    assert encoder_of("tiny_qwen2").explain()["core"]["seams_checked"] is True


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2", "unigram_t5", "wordpiece_cased"])
def test_appends_only_take_the_text(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However many there are, the text is read once, when somebody asks."""
    read: list[int] = []
    settle = IncrementalEncoder._settle

    def counted(growing: IncrementalEncoder, now: Settled, middle: Middle, text: str) -> None:
        read.append(len(now.head) + len(now.tail or "") + len(text))
        settle(growing, now, middle, text)

    monkeypatch.setattr(IncrementalEncoder, "_settle", counted)
    for unit in ("a", " ", "e\u0301", "a word "):
        growing, text = encoder_of(name).incremental(), unit * 700
        for character in text:
            growing.append(character)
        assert growing.text == text
        assert growing.ids == expected(encoder_of(name), text)
        for character in text:
            growing.append(character)
        assert growing.count == len(expected(encoder_of(name), text + text))
        assert sum(read) <= 3 * len(text)
        read.clear()


def test_bad_texts() -> None:
    encoder = encoder_of("tiny_qwen2")
    growing = encoder.incremental()
    growing.append("a good ")
    bad: list[Any] = [None, 3, b"bytes", "a \ud800 b"]
    for text in bad:
        for call in (growing.append, growing.prepend, encoder.count, encoder.intervals):
            with pytest.raises(TypeError):
                call(text)
        with pytest.raises(TypeError):
            encoder.count_until(text, 10)
        with pytest.raises(TypeError):
            encoder.count_batch(["a", text])
    growing.append("text")
    assert growing.ids == expected(encoder, "a good text")
    with pytest.raises(ValueError, match="start"):
        growing.ids_from(-1)
    no_list: Any = (1, 2)
    with pytest.raises(TypeError, match="a list of ids"):
        growing.update(no_list)


def test_update_writes_from_the_first_id_that_may_have_changed() -> None:
    growing = encoder_of("tiny_qwen2").incremental()
    growing.append("one two three four ")
    kept: list[int] = []
    growing.update(kept)
    stable = growing.stable
    assert stable > 2
    # Who changes what is settled sees that it was left alone; of another length, it is no longer what was left.
    kept[1] = -1
    growing.append("and five ")
    growing.update(kept)
    assert kept[1] == -1
    assert kept[2:] == growing.ids[2:]
    kept.append(5)
    growing.update(kept)
    assert kept == growing.ids


def test_update_rewrites_the_whole_list_after_prepend_and_restore() -> None:
    growing = encoder_of("tiny_qwen2").incremental()
    growing.append("one two three four ")
    state = growing.snapshot()
    kept: list[int] = []
    growing.update(kept)
    growing.prepend("zero ")
    growing.update(kept)
    assert kept == growing.ids
    growing.restore(state)
    growing.update(kept)
    assert kept == growing.ids


def test_update_rewrites_a_list_that_proves_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1, verify=0.5))
    growing = encoder.incremental()
    # Wrong from its beginning on, which the first call (not compared) does not see, and the second does.
    settle = Middle.settle
    monkeypatch.setattr(Middle, "settle", lambda middle, text, *rest: settle(middle, text.upper(), *rest))
    growing.append("one two three four ")
    kept: list[int] = []
    growing.update(kept)
    assert kept != expected(encoder, growing.text)
    growing.append("and five ")
    growing.update(kept)
    assert kept == expected(encoder, growing.text)
    assert encoder.explain()["route"] == "hf"


def test_whole_lists_repeatedly() -> None:
    """Each is a list of its own, whatever was asked for before."""
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1))
    text = "".join(corpus.texts("books_en", 150_000))
    ids = encoder.encode_list(text)
    assert len(ids) > 5 * 8192
    held = list[list[int]]()
    rng = random.Random(3)
    growing = encoder.incremental(add_special_tokens=False)
    for start in range(0, len(text), 3_000):
        growing.append(text[start : start + 3_000])
        if rng.random() < 0.5:
            held.append(growing.ids)
        if rng.random() < 0.1:
            growing.restore(growing.snapshot())
    for _ in range(40):
        assert growing.ids == ids
    for some in held:
        assert some == ids[: len(some) - 3] + some[-3:]


def test_settled_ids_of_another_core_are_refused() -> None:
    cores = [
        Encoder(corpus.load_tokenizer(name))._runner.state.snapshot().native for name in ("tiny_qwen2", "tiny_llama2")
    ]
    assert cores[0] is not None
    assert cores[1] is not None
    one, other = cores[0].core, cores[1].core
    settled = one.settled_ids()
    one.settle_part(settled, "one two three", 0, 7)
    assert settled.list_from([5], 0) == [5, *one.encode_part("one two")]
    assert settled.list_from([], 99) == []
    assert one.settled_ids(settled, 1).list_from([], 0) == settled.list_from([], 0)[:1]
    for call in (lambda: other.settle_part(settled, "text"), lambda: other.settled_ids(settled, 1)):
        with pytest.raises(ValueError, match="another core"):
            call()
    with pytest.raises(IndexError):
        one.settle_part(settled, "text", 2, 9)
    with pytest.raises(TypeError):
        settled.list_from(None, 0)
    before = settled.list_from([], 0)
    del one, cores
    assert settled.list_from([], 0) == before


def test_threads_share_everything() -> None:
    encoder = encoder_of("tiny_qwen2", 8)
    text = "\n".join(corpus.texts("code", 20_000))
    ids, intervals = expected(encoder, text), encoder.intervals(text)
    part = len(expected(encoder, text[777:9_999], False))
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        growing = encoder.incremental()
        end = 0
        while end < len(text):
            end, before = end + rng.randint(1, 900), end
            growing.append(text[before:end])
        if growing.ids != ids or encoder.count(text) != len(ids) or intervals.count(777, 9_999) != part:
            wrong.append(str(seed))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_error_halfway_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lack of memory, for example, in any of the calls of the core."""
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1))
    whole = {name: getattr(Middle, name) for name in ("settle", "part")}
    left = [0]

    def sometimes(name: str) -> Any:
        def limited(self: Any, *arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise MemoryError
            made = whole[name](self, *arguments, **named)
            if left[0] == 1 and name == "settle":
                left[0] = 0
                raise MemoryError  # the ids are there already
            return made

        return limited

    for name in whole:
        monkeypatch.setattr(Middle, name, sometimes(name))
    rng = random.Random(3)
    growing, text, raised = encoder.incremental(), "", 0
    for step in range(300):
        piece = rng.choice(
            ["a word, another one ", "x", " ", "\n\n", "word" * 200, "12 34, 5.6\n", "one two three. " * 9]
        )
        at_the_end = rng.random() < 0.7
        left[0] = rng.choice([0, 0, 1, 2, 3])
        try:
            (growing.append if at_the_end else growing.prepend)(piece)
            text = text + piece if at_the_end else piece + text
            assert growing.ids == encoder.encode_list(text), step
        except MemoryError:
            raised += 1
        left[0] = 0
        assert growing.text == text
        assert growing.ids == encoder.encode_list(text), step
        assert growing.count == len(growing.ids)
        if len(text) > 5000:
            growing, text = encoder.incremental(), ""
    assert raised > 50


@pytest.mark.parametrize("first", [" " * 3500 + "\n " * 50, "-" * 4000, "a" * 4000])
def test_cut_in_and_after_long_parts(first: str) -> None:
    """Parts with few ids and with many, which nothing divides: prefixes that certainly have too many are not read."""
    encoder = Encoder(corpus.load_tokenizer("qwen3"), Settings.read({}, threads=1))
    text = first + "111" + "\U0001f600" * 700
    few = encoder.count(first, add_special_tokens=False)
    for most in (2, few - 1, few, few + 5, few + 66):
        longest = len(encoder.cut(text, most, add_special_tokens=False))
        assert encoder.count(text[:longest], add_special_tokens=False) <= most
        for end in range(longest + 1, min(longest + 300, len(text)), 7 if most < few else 1):
            assert encoder.count(text[:end], add_special_tokens=False) > most
