"""Every call gives what the reference gives: random added tokens and normalizers, and texts of long runs."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import corpus
import native_cores
import pytest
import tier
import unigrams
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Regex, Tokenizer, normalizers

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.native._core import NeedsReference
from lopt_plugin.settings import Settings

NAMES = [*native_cores.SMALL, "wordpiece_uncased", "wordpiece_added", *unigrams.SMALL]
# Those whose normalizer can be any.
NORMALIZED = {*native_cores.BYTE_LEVEL, *unigrams.SMALL}
SEEDS = tier.pick(12, 300)
TEXTS = 4  # of each tokenizer

# fmt: off
CONTENTS = [
    "a", "ab", "A", "aa", "<x>", "<", "|>", "--", "=", "'s", "1", "12", "_", "\u2603", "\u00e9", "e\u0301", "\u0301",
    "\u00c5", "\ufb01", "\u03a9", "\u4e2d", "\u2581", " ", "  ", " a", "a ", "\n", "\t", "a b 1 ! c - d = e",
    "\u00e9\u00e9",
]
UNITS = [
    "a", "A", "b", "ab", " a", "a ", " ", "  ", "\n", "\n ", "\t", "\r\n", "1", "12", "'", "'s", "!", "-", "=", "<",
    "<|", "|>", "e\u0301", "\u0301", "\u4e2d", "\u4e2d\u6587", "\u3002", "\u3042", "\uac00", "\u1100\u1161",
    "\u0928\u094d", "\u0e01\u0e49", "\U0001f600", "\u200d", "\u2581", "\u00a0", "\u00e9", "\u0130", "\u0416", "\ufb01",
    "\x00", "aA", "a1", "\u2603", "\u00c5", "_", "\u03a9", "the ", "ing", "\x01", "\u200b", "\u0345",
]
# Removed by some normalizer, each alone or together.
REMOVED = ["\x01", "\u0301", "\u200b", "ab", "  "]
# fmt: on

# They change, remove or join characters, so that a step meets what an earlier one has made of them.
NORMALIZERS: list[Callable[[], normalizers.Normalizer]] = [
    normalizers.Nmt,
    normalizers.StripAccents,
    normalizers.NFD,
    normalizers.NFC,
    normalizers.NFKC,
    normalizers.Lowercase,
    lambda: normalizers.Replace(Regex(" {2,}"), " "),
    lambda: normalizers.Replace(Regex(r"\s+"), " "),
    lambda: normalizers.Replace("\u200b", ""),
    lambda: normalizers.Replace("ab", ""),
    lambda: normalizers.Replace("x\u00e9", "e"),
]


class ReferenceRaisedError(Exception):
    """The reference itself raised, so nothing is to be compared."""


class Reference:
    """Hugging Face's ids."""

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend

    def ids(self, text: str, split_special_tokens: bool = False) -> list[int]:
        self.backend.encode_special_tokens = split_special_tokens
        try:
            ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        except BaseException as error:  # a Rust panic is not an Exception
            raise ReferenceRaisedError from error
        finally:
            self.backend.encode_special_tokens = False
        return ids

    def count(self, text: str) -> int:
        return len(self.ids(text))

    def counts(self, text: str, split_special_tokens: bool = False) -> list[int]:
        """Of each prefix."""
        return [len(self.ids(text[:end], split_special_tokens)) for end in range(len(text) + 1)]


def load(name: str) -> Tokenizer:
    made = corpus.load_tokenizer(name) if name in corpus.tokenizer_names() else small_pipelines()[name]
    return Tokenizer.from_str(made.to_str())


def tokenizer(rng: random.Random, name: str) -> Tokenizer:
    """The tokenizer with some more added tokens, which may begin, end or contain each other."""
    made = load(name)
    if name in NORMALIZED and rng.random() < 0.5:
        made.normalizer = normalizers.Sequence([rng.choice(NORMALIZERS)() for _ in range(rng.randint(1, 3))])
    for _ in range(rng.randint(0, 4)):
        flags = {flag: rng.random() < 0.25 for flag in ("lstrip", "rstrip", "single_word", "special")}
        content = rng.choice(CONTENTS) * rng.choice([1, 1, 1, 2, 3])
        made.add_tokens([AddedToken(content, normalized=rng.random() < 0.6, **flags)])
    return made


def text(rng: random.Random, contents: list[str]) -> str:
    parts = []
    few = rng.sample([*UNITS, *REMOVED], rng.randint(1, 4))
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(few) * rng.choice([1, 2, 5, 70, 520, 700, 1_300]))
        elif kind < 0.6:
            parts.append("".join(rng.choices(UNITS, k=rng.choice([3, 20, 300]))))
        elif kind < 0.75:
            parts.append("".join(rng.choices(rng.sample(UNITS, 3), k=rng.choice([10, 600]))))
        else:
            content = rng.choice(contents)
            begin, rest = content[: rng.randint(1, len(content))], rng.choice(REMOVED) * rng.choice([1, 10, 600])
            parts.append(rng.choice([begin, content, content * 30, begin + rest + content[len(begin) :]]))
    return "".join(parts)[:4_000]


def check_whole(rng: random.Random, encoder: Encoder, reference: Reference, text: str) -> None:
    ids = reference.ids(text)
    assert encoder.encode_list(text, add_special_tokens=False) == ids
    assert encoder.encode_ids(text, add_special_tokens=False).tolist() == ids
    split = encoder.encode_list(text, add_special_tokens=False, split_special_tokens=True)
    assert split == reference.ids(text, split_special_tokens=True)
    found, offsets = encoder.encode_with_offsets(text, add_special_tokens=False)[:2]
    expected = reference.backend.encode(text, add_special_tokens=False).offsets
    assert (list(found), [tuple(pair) for pair in offsets]) == (ids, expected)
    rows = [text[: len(text) // 3], text[len(text) // 3 :], text]
    batch = encoder.encode_batch_ids(rows, add_special_tokens=False)
    assert [batch.row(number).tolist() for number in range(3)] == [reference.ids(row) for row in rows]


def check_counts(rng: random.Random, encoder: Encoder, reference: Reference, text: str) -> None:
    number = reference.count(text)
    assert encoder.count(text, False) == number
    limit = max(0, rng.choice([0, 1, 5, number // 2, number - 1, number, number + 3]))
    assert encoder.count_until(text, limit, False) == (number if number <= limit else None)
    cut = encoder.cut(text, limit, False)
    assert text.startswith(cut)
    assert reference.count(cut) <= limit
    for longer in range(len(cut) + 1, min(len(cut) + 4, len(text)) + 1):
        assert reference.count(text[:longer]) > limit
    intervals = encoder.intervals(text)
    for _ in range(3):
        begin, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert intervals.count(begin, end) == reference.count(text[begin:end])


def check_growing(rng: random.Random, encoder: Encoder, reference: Reference, text: str) -> None:
    growing = encoder.incremental(add_special_tokens=False)
    ends = sorted(rng.choices(range(len(text) + 1), k=rng.randint(1, 5)))
    for begin, end in zip([0, *ends], [*ends, len(text)], strict=True):
        growing.append(text[begin:end])
        if rng.random() < 0.7:
            ids = reference.ids(text[:end])
            assert rng.random() < 0.5 or growing.count == len(ids)
            assert growing.ids == ids
        if rng.random() < 0.2:
            before = growing.snapshot()
            growing.prepend(text[:50])
            assert growing.ids == reference.ids(text[:50] + text[:end])
            growing.restore(before)


CHECKS: list[Callable[[random.Random, Encoder, Reference, str], None]] = [check_whole, check_counts, check_growing]


def cases(rng: random.Random, name: str) -> Iterator[tuple[Encoder, Reference, str]]:
    backend = tokenizer(rng, name)
    encoder = Encoder(backend, Settings.read({}, threads=rng.choice([1, 2]), parallel_min_chars=500))
    if encoder._runner.state.snapshot().native is None:
        return  # such as two tokens of one content; the reference answers
    contents = [token.content for token in backend.get_added_tokens_decoder().values()]
    for _ in range(TEXTS):
        yield encoder, Reference(backend), text(rng, contents)


@pytest.mark.parametrize("name", NAMES)
def test_every_call(name: str) -> None:
    compared = 0
    for seed in range(SEEDS):
        rng = random.Random(f"{name} {seed}")
        for encoder, reference, chosen in cases(rng, name):
            for check in CHECKS:
                try:
                    check(rng, encoder, reference, chosen)
                except ReferenceRaisedError:
                    continue
                compared += 1
    assert compared > SEEDS * TEXTS


@pytest.mark.every_parameter
@pytest.mark.parametrize(
    ("name", "steps", "content", "parts"),
    [
        # Of the added token, most characters so far are removed.
        ("nfkd", [normalizers.Nmt()], "a b c d e f g h i j", ["a b c d e f g", "\x01" * 600, " h i j"]),
        # What begins the text becomes a space, so none is prepended.
        ("tiny_roberta", [normalizers.Nmt()], "", ["\u200b" * 600, "a" * 600, "\u200b" * 600, "a"]),
        # White space of which there are no ids.
        ("tiny_clip", [normalizers.Lowercase()], "", [" " * 4, "!" * 200, " " * 400, "word" * 30]),
        # A prefix with half of what is removed has more ids.
        ("tiny_qwen2", [normalizers.Replace("ab", "")], "", ["ab" * 815, "c"]),
        # The last step gets what the first one has made.
        ("tiny_tekken", [normalizers.Nmt(), normalizers.Replace(Regex(" {2,}"), " ")], "", ["\u200b" * 900, "a b"]),
        (
            "tiny_qwen2",
            [normalizers.Nmt(), normalizers.NFC()],
            "",
            ["a" * 300 + "e", "\x01" * 600, "\u0301", "b" * 300],
        ),
        ("tiny_qwen2", [normalizers.NFC(), normalizers.Replace("x\u00e9", "")], "", ["x" * 600, "e", "\u0301x" * 600]),
    ],
)
def test_what_a_normalizer_removes_or_joins(
    name: str, steps: list[normalizers.Normalizer], content: str, parts: list[str]
) -> None:
    backend = load(name)
    backend.normalizer = normalizers.Sequence(steps)
    if content:
        backend.add_tokens([AddedToken(content, normalized=True)])
    encoder, reference = Encoder(backend, Settings.read({}, threads=1)), Reference(backend)
    native = encoder._runner.state.snapshot().native
    assert native is not None
    growing = encoder.incremental(add_special_tokens=False)
    for end in range(1, len(parts) + 1):
        growing.append(parts[end - 1])
        assert growing.ids == reference.ids("".join(parts[:end]))
    chosen = "".join(parts)
    counts = reference.counts(chosen)
    for most in {*counts[::100], *range(5)}:
        longest = max(end for end, count in enumerate(counts) if count <= most)
        assert len(encoder.cut(chosen, most, False)) == longest


@pytest.mark.parametrize(
    ("name", "begins", "goes_on", "contents"),
    [
        ("tiny_clip", "\u00c5", "ab", ["\u00c5"]),
        ("tiny_tekken", "\u2603", "a", ["\u2603", "\u2603a"]),
        ("unigram_bytes", "a\u2603", "ab", ["\u2603a"]),
        ("tiny_starcoder", "b", "a", ["a", "aa"]),
    ],
)
def test_cut_before_the_rest_of_a_rejected_token(name: str, begins: str, goes_on: str, contents: list[str]) -> None:
    """The last of the contents must be a single word, and in the whole text it is not: it hides what is inside it."""
    backend = load(name)
    backend.add_tokens([AddedToken(content, normalized=True) for content in contents[:-1]])
    backend.add_tokens([AddedToken(contents[-1], normalized=True, single_word=True)])
    encoder, reference = Encoder(backend, Settings.read({}, threads=1)), Reference(backend)
    chosen = begins + goes_on * 600
    counts = reference.counts(chosen)
    for most in range(8):
        longest = max(end for end, count in enumerate(counts) if count <= most)
        assert encoder.cut(chosen, most, False) == chosen[:longest]


def check_cuts(
    core: Any, counts: list[int], text: str, split_special_tokens: bool, long_words: Sequence[int] = (1, 2, 3, 512)
) -> None:
    """`counts`: the ids of each prefix; `long_words`: words of that many characters are searched as the longest are."""
    for most in {*counts}:
        longest = max(end for end, count in enumerate(counts) if count <= most)
        for long_word in long_words:
            with contextlib.suppress(NeedsReference):
                cut = core.cut(text, most, split_special_tokens, long_word)
                assert cut in (longest, None), (text, most, long_word)


@pytest.mark.parametrize("name", NAMES)
def test_cut_of_words_of_any_length(name: str) -> None:
    """Where a token of single words, or a special one, is cut off, the tokens inside it may come to light."""
    compared = 0
    for seed in range(tier.pick(30, 1_000)):
        rng = random.Random(f"{name} {seed}")
        backend = tokenizer(rng, name)
        native = Encoder(backend, Settings.read({}, threads=1))._runner.state.snapshot().native
        if native is None:
            continue
        reference = Reference(backend)
        for _ in range(10):
            parts = [rng.choice(CONTENTS), rng.choice(UNITS) * rng.randint(1, 6), rng.choice(["", *CONTENTS])]
            chosen = "".join(parts[rng.randint(0, 1) :])
            try:
                check_cuts(native.core, reference.counts(chosen), chosen, False)
            except ReferenceRaisedError:
                continue
            compared += 1
    assert compared > 50


@pytest.mark.parametrize(
    ("name", "inner", "outer", "normalized", "chosen"),
    [
        ("wordpiece_uncased", "1", "\u00e9 1", False, "1\u00e9 1c\u00e9 1\u00e9 1\u00e9 1a b  "),
        ("tiny_o200k", "-", "1--", True, " 1--cc1--cbcbaa1--c1-- "),
        ("tiny_starcoder", "b", "\u2603 b", False, "\u2603 bcb cccb b\u2603 bc-b"),  # \u2603 is one of its added tokens
        ("tiny_metaspace", "\u2603", "a\u2603", True, "a\u2603caa\u2603cbcca\u2603ca\u2603a\u2603cb"),
    ],
)
def test_cut_of_a_text_that_cannot_be_divided_in_a_rejected_token(
    name: str, inner: str, outer: str, normalized: bool, chosen: str
) -> None:
    """Alone, the text from the middle of such a token on has the token inside it, which the whole text does not."""
    backend = load(name)
    backend.add_tokens([AddedToken(inner, normalized=normalized)])
    backend.add_tokens([AddedToken(outer, normalized=normalized, single_word=True)])
    native = Encoder(backend, Settings.read({}, threads=1))._runner.state.snapshot().native
    assert native is not None
    check_cuts(native.core, Reference(backend).counts(chosen), chosen, False, long_words=[1])


@pytest.mark.parametrize("name", NAMES)
def test_cut_around_tokens_inside_a_rejected_one(name: str) -> None:
    """A prefix may end with the outer token, which the whole text, where a letter follows, does not have."""
    compared = 0
    for seed in range(tier.pick(20, 1_000)):
        rng = random.Random(f"{name} {seed}")
        inner = rng.choice(["b", "\u2603", " b", "-", "1"])
        outer = rng.choice(["a", "\u00e9", "1", "\u2603"]) + rng.choice(["", " ", "-"]) + inner
        backend = load(name)
        backend.add_tokens([AddedToken(inner, normalized=rng.random() < 0.5)])
        flags = {"normalized": rng.random() < 0.5, "single_word": rng.random() < 0.8, "special": rng.random() < 0.3}
        backend.add_tokens([AddedToken(outer, **flags)])
        native = Encoder(backend, Settings.read({}, threads=1))._runner.state.snapshot().native
        if native is None:
            continue
        reference = Reference(backend)
        for split in (True, False):
            units = ["a", "b", "c", " ", "-", inner, outer, f"{outer}c"]
            chosen = "".join(rng.choices(units, k=rng.randint(6, 12)))
            try:
                check_cuts(native.core, reference.counts(chosen, split), chosen, split)
            except ReferenceRaisedError:
                continue
            compared += 1
    assert compared > 20
