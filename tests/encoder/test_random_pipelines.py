"""Every call gives what the reference gives: random tokenizers, and texts of long runs."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tier
from random_pipelines import CONTENTS, NAMES, RANDOM_NAMES, UNITS, load, text, tokenizer
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers
from tokenizers.pre_tokenizers import ByteLevel, Digits, Punctuation, Sequence, Split

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.native._core import NeedsReference
from lopt_plugin.pipeline.split_patterns import CLIP, O200K, THREE_DIGITS
from lopt_plugin.settings import Settings

SEEDS = tier.pick(12, 300)
TEXTS = 4  # of each tokenizer


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

    def count(self, text: str, split_special_tokens: bool = False) -> int:
        return len(self.ids(text, split_special_tokens))

    def counts(self, text: str, split_special_tokens: bool = False) -> list[int]:
        """Of each prefix."""
        return [self.count(text[:end], split_special_tokens) for end in range(len(text) + 1)]


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
    split = rng.random() < 0.3
    number = reference.count(text, split)
    assert encoder.count(text, False, split_special_tokens=split) == number
    limit = max(0, rng.choice([0, 1, 5, number // 2, number - 1, number, number + 3]))
    until = encoder.count_until(text, limit, False, split_special_tokens=split)
    assert until == (number if number <= limit else None)
    cut = encoder.cut(text, limit, False, split_special_tokens=split)
    assert text.startswith(cut)
    assert reference.count(cut, split) <= limit
    # Where the native core gives up, the search by the reference may end early, too, and then logs a warning.
    if cuts_natively(encoder, text, limit, split):
        for longer in range(len(cut) + 1, min(len(cut) + 4, len(text)) + 1):
            assert reference.count(text[:longer], split) > limit
    intervals = encoder.intervals(text)
    for _ in range(3):
        begin, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert intervals.count(begin, end) == reference.count(text[begin:end])


def cuts_natively(encoder: Encoder, text: str, limit: int, split: bool) -> bool:
    native = encoder._runner.state.snapshot().native
    assert native is not None
    with contextlib.suppress(NeedsReference):
        return native.core.cut(text, limit, split) is not None
    return False


def check_growing(rng: random.Random, encoder: Encoder, reference: Reference, text: str) -> None:
    split = rng.random() < 0.3
    growing = encoder.incremental(add_special_tokens=False, split_special_tokens=split)
    ends = sorted(rng.choices(range(len(text) + 1), k=rng.randint(1, 5)))
    for begin, end in zip([0, *ends], [*ends, len(text)], strict=True):
        growing.append(text[begin:end])
        if rng.random() < 0.7:
            ids = reference.ids(text[:end], split)
            assert rng.random() < 0.5 or growing.count == len(ids)
            assert growing.ids == ids
        if rng.random() < 0.2:
            before = growing.snapshot()
            growing.prepend(text[:50])
            assert growing.ids == reference.ids(text[:50] + text[:end], split)
            growing.restore(before)


CHECKS: list[Callable[[random.Random, Encoder, Reference, str], None]] = [check_whole, check_counts, check_growing]


def cases(rng: random.Random, name: str) -> Iterator[tuple[Encoder, Reference, str]]:
    backend, units = tokenizer(rng, name)
    encoder = Encoder(backend, Settings.read({}, threads=rng.choice([1, 2]), parallel_min_chars=500))
    assert "self-check" not in encoder.explain()["reason"]
    if encoder._runner.state.snapshot().native is None:
        return  # such as two tokens of one content; the reference answers
    for _ in range(TEXTS):
        yield encoder, Reference(backend), text(rng, units)


@pytest.mark.parametrize("name", [*NAMES, *RANDOM_NAMES])
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
        # White space of which there are no ids comes from characters that have some.
        ("unigram_t5", [normalizers.Replace("ab", " ")], "", ["ab" * 600, "aba"]),
    ],
)
def test_what_a_normalizer_removes_or_joins(
    name: str, steps: list[normalizers.Normalizer], content: str, parts: list[str]
) -> None:
    backend = load(name)
    backend.normalizer = normalizers.Sequence(steps)
    if content:
        backend.add_tokens([AddedToken(content, normalized=True)])
    check_parts(backend, parts)


def check_parts(backend: Tokenizer, parts: list[str], split_special_tokens: bool = False) -> None:
    """The parts appended one by one, and cut where `cut` searches longest."""
    encoder, reference = Encoder(backend, Settings.read({}, threads=1)), Reference(backend)
    native = encoder._runner.state.snapshot().native
    assert native is not None
    growing = encoder.incremental(add_special_tokens=False, split_special_tokens=split_special_tokens)
    for end in range(1, len(parts) + 1):
        growing.append(parts[end - 1])
        assert growing.ids == reference.ids("".join(parts[:end]), split_special_tokens)
    chosen = "".join(parts)
    counts = reference.counts(chosen, split_special_tokens)
    limits = {*counts[:: 1 if len(counts) < 700 else len(counts) // 100], *range(12)}
    check_cuts(native.core, counts, chosen, split_special_tokens, limits, (8, 512))


def added(content: str, **flags: bool) -> AddedToken:
    return AddedToken(content, normalized=True, **flags)


@pytest.mark.every_parameter
@pytest.mark.parametrize(
    ("normalizer", "tokens", "parts"),
    [
        # Jamo become what begins a token that the number before them forbids.
        (normalizers.NFC(), [added("\uac00" * 4, single_word=True)], ["\u2167" + "\u1100\u1161" * 4 + "'s" * 300]),
        # A mark takes a token's last character.
        (normalizers.NFC(), [added("a")], ["t" * 600 + "a", "\u0301" + "the" * 10]),
        # Of two spaces, each comes from the second. A token may take the spaces before it: no seam is after them.
        (
            normalizers.Replace("  ", "  "),
            [AddedToken("[CLS]" * 4, normalized=False, lstrip=True)],
            ["[C" + (" " * 20 + "LS][CLS][CLS][C") * 60, "a"],
        ),
        # One token stands beside another, so it is no single word, but it is one at the end of a prefix.
        (
            normalizers.Sequence([normalizers.Replace(" ", "xy"), normalizers.NFD()]),
            [added(".  ..x\u0301\u0323  ", single_word=True)],
            [".  ..x\u0301\u0323  " * 20 + "x" + ".  ..x\u0301\u0323  " * 10],
        ),
        # Capitals become a special token, here text, which hides another one but at the end of a prefix.
        (normalizers.Lowercase(), [added("rri", special=True), added("rr")], ["THEN" * 25, "RRI" + "ONE" * 3]),
    ],
)
def test_tokens_of_normalized_text(
    normalizer: normalizers.Normalizer, tokens: list[AddedToken], parts: list[str]
) -> None:
    backend = load("tiny_qwen2")
    backend.normalizer = normalizer
    backend.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    for token in tokens:
        backend.add_tokens([token])
    for split in (False, True):
        check_parts(backend, parts, split)


@pytest.mark.every_parameter
@pytest.mark.parametrize(
    ("steps", "parts"),
    [
        # All but the space that ByteLevel adds is removed.
        ([ByteLevel(add_prefix_space=True, use_regex=True), Punctuation("removed")], ["'" * 600, "'" * 600, " '"]),
        # Alone, the text from the middle of a group of digits on has other groups.
        ([Split(Regex(THREE_DIGITS), "removed", invert=True), Split(Regex(CLIP), "isolated")], ["12" * 300, "1"]),
        # Alone, an apostrophe and what follows it are no end of the word before.
        ([Split(Regex(O200K), "isolated"), Punctuation("isolated")], ["'saB's'saBaBaB's" * 60, "aB's"]),
    ],
)
def test_steps_that_see_more_than_a_pre_token(steps: list[Any], parts: list[str]) -> None:
    backend = load("tiny_tekken")
    if not isinstance(steps[0], ByteLevel):
        steps = [*steps, ByteLevel(add_prefix_space=False, use_regex=False)]
    backend.pre_tokenizer = Sequence(steps)
    check_parts(backend, parts)


def test_a_single_word_before_a_token() -> None:
    """It is a token only if all of the token after it is there."""
    backend = load("wordpiece_uncased")
    backend.normalizer = normalizers.BertNormalizer(clean_text=False, strip_accents=False)
    backend.add_tokens([added("\u200bx\u200b", single_word=True), AddedToken("word" * 4, normalized=False)])
    check_parts(backend, ["\u200b" * 2 + "x\u200b", "word" * 4])


def test_all_characters_stay_but_something_is_prepended() -> None:
    backend = Tokenizer(models.BPE({byte: number for number, byte in enumerate(sorted(ByteLevel.alphabet()))}, []))
    backend.normalizer = normalizers.Prepend("x y")
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    check_parts(backend, ["\u0663" * 20])


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
    core: Any,
    counts: list[int],
    text: str,
    split_special_tokens: bool,
    limits: set[int] | None = None,
    long_words: tuple[int, ...] = (1, 2, 3, 512),
) -> None:
    """`counts`: the ids of each prefix; `long_words`: words of that many characters are searched as the longest are."""
    for most in limits or {*counts}:
        longest = max(end for end, count in enumerate(counts) if count <= most)
        for long_word in long_words:
            with contextlib.suppress(NeedsReference):
                cut = core.cut(text, most, split_special_tokens, long_word)
                assert cut in (longest, None), (text, most, long_word)


@pytest.mark.parametrize("name", [*NAMES, *RANDOM_NAMES])
def test_cut_of_words_of_any_length(name: str) -> None:
    """Where a token of single words, or a special one, is cut off, the tokens inside it may come to light."""
    compared = 0
    for seed in range(tier.pick(30, 1_000)):
        rng = random.Random(f"{name} {seed}")
        backend, _ = tokenizer(rng, name)
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


SNOWMEN = "babc*c*ca*ca*caa**cca*a*a*a*a*a**ca*cba**aba*ba*a**c**c*a*ca*a"


@pytest.mark.parametrize(
    ("name", "inner", "outer", "normalized", "chosen"),
    [
        ("wordpiece_uncased", "1", "\u00e9 1", False, "1\u00e9 1c\u00e9 1\u00e9 1\u00e9 1a b  "),
        ("tiny_o200k", "-", "1--", True, " 1--cc1--cbcbaa1--c1-- "),
        ("tiny_starcoder", "b", "\u2603 b", False, "\u2603 bcb cccb b\u2603 bc-b"),  # \u2603 is one of its added tokens
        ("tiny_metaspace", "\u2603", "a\u2603", True, SNOWMEN.replace("*", "\u2603")),
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
    check_cuts(native.core, Reference(backend).counts(chosen), chosen, False, long_words=(1,))


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
