"""Seams: the ids of a text are those of its two sides, whatever surrounds them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

import corpus
import native_cores
import pytest
import random_sentencepiece
import representatives
import strategies
import test_normalizers
import tier
import unigrams
import word_pieces
from hypothesis import given, settings
from native_cores import core_of
from short_texts import SHORT_TEXTS
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from lopt_plugin.pipeline import BertOptions, Unsupported

WORD_PIECES = ["wordpiece_added", "wordpiece_cased", "wordpiece_uncased"]
LARGE = [name for name in ("clip_vit", "gemma3", "gpt_oss", "llama2_added_normalized") if name in native_cores.ALL]
NAMES = [*native_cores.SMALL, *WORD_PIECES, *unigrams.SMALL, *LARGE]
SMALL_PIPELINES = [
    "wordpiece",
    "wordpiece_uncased",
    "sentencepiece",
    "sentencepiece_fused",
    "sentencepiece_split",
    "nfkd",
]


def seams_of(core: Any, text: str) -> list[int]:
    seams: list[int] = []
    while (seam := core.first_seam(text, seams[-1] + 1 if seams else 0)) is not None:
        seams.append(seam)
    return seams


def wrong_seams(core: Any, reference: Tokenizer, texts: Iterable[str], most: int = 40) -> list[tuple[str, str]]:
    """Both sides of seams whose ids are not those of the whole: every seam, or `most` of a text.

    A seam must also be one of the prefix that ends one character after it, which is all that `cut` may leave.
    """
    wrong = []
    for text in texts:
        seams = seams_of(core, text)
        if len(seams) > most:
            seams = random.Random(text).sample(seams, most)
        expected = native_cores.expected(
            reference, [text, *(text[:end] for place in seams for end in (place, place + 1))]
        )
        whole = expected[0]
        for place, left, longer in zip(seams, expected[1::2], expected[2::2], strict=True):
            if (
                left + core.encode_part(text, place, inside=True) != whole
                or left + core.encode_part(text, place, place + 1, inside=True) != longer
            ):
                wrong.append((text[max(0, place - 20) : place], text[place : place + 20]))
    return wrong[:5]


def many_texts(rng: random.Random, contents: list[str], count: int) -> list[str]:
    """Short texts of everything that a stage may look at across a place, and added tokens among them."""
    characters = [*representatives.characters(), *representatives.SNIPPETS, *test_normalizers.RICH]
    plain = [" ", "  ", "\n", "a", "B", "1", ".", "\u00e9", "e\u0301", "\u4e2d", "\u2581"]
    beginnings = [content[: len(content) // 2 + 1] for content in contents]
    pools = [characters, plain, contents or plain, beginnings or plain]
    return ["".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(2, 14))) for _ in range(count)]


def random_tokens(rng: random.Random, contents: list[str]) -> list[AddedToken]:
    # The reference panics where a space that one token has taken would begin the next.
    return [
        AddedToken(
            content,
            single_word=rng.random() < 0.4,
            lstrip=rng.random() < 0.4 and not content[0].isspace(),
            rstrip=rng.random() < 0.4,
            normalized=rng.random() < 0.5,
        )
        for content in contents
    ]


@pytest.mark.parametrize("name", NAMES)
def test_hard_texts(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    assert wrong_seams(core, reference, SHORT_TEXTS, 60) == []
    contents = [token.content for token in reference.get_added_tokens_decoder().values()]
    rng = random.Random(name)
    assert wrong_seams(core, reference, many_texts(rng, rng.sample(contents, min(len(contents), 60)), 150)) == []
    for family in corpus.conformance_families():
        assert (
            wrong_seams(core, reference, [text[:300] for text in rng.sample(corpus.conformance(family, 5), 3)], 10)
            == []
        )


@pytest.mark.parametrize("name", SMALL_PIPELINES)
def test_other_pipelines(name: str) -> None:
    reference = small_pipelines()[name]
    core = core_of(reference)
    contents = [token.content for token in reference.get_added_tokens_decoder().values()]
    assert wrong_seams(core, reference, [*SHORT_TEXTS, *many_texts(random.Random(name), contents, 100)], 12) == []


@pytest.mark.parametrize("seed", range(40))
def test_random_sentencepiece(seed: int) -> None:
    rng = random.Random(f"seams {seed}")
    made = random_sentencepiece.random_tokenizer(rng)
    core = core_of(made.tokenizer)
    assert wrong_seams(core, made.tokenizer, [text[:200] for text in made.texts(rng, 25)], 20) == []


@pytest.mark.parametrize("variant", test_normalizers.ALL)
def test_normalizers_with_tokens_of_every_flag(variant: str) -> None:
    rng = random.Random(variant)
    tokenizer = test_normalizers.with_normalizer("tiny_qwen2", test_normalizers.ALL[variant]())
    contents = ["<x>", "Aa", " b", "\u00e9 ", "e\u0301e", "12", "\n\n"]
    tokenizer.add_tokens(random_tokens(rng, [content for content in contents if rng.random() < 0.6]))
    try:
        core = core_of(tokenizer)
    except Unsupported:  # contents that become nothing, or the same
        tokenizer = test_normalizers.with_normalizer("tiny_qwen2", test_normalizers.ALL[variant]())
        core = core_of(tokenizer)
    assert wrong_seams(core, tokenizer, many_texts(rng, contents, 60)) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "name", ["tiny_cl100k", "tiny_roberta", "tiny_falcon", "tiny_llama2", "tiny_metaspace", "tiny_clip"]
)
def test_tokens_of_every_flag(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    tokenizer = corpus.load_tokenizer(name)
    contents = ["<x>", "<x", "x>", "lonely", " b", "a ", "\n", "1", ".", "the", "'s", "\u4e2d", "  "]
    contents = rng.sample(contents, 5)
    tokenizer.add_tokens(random_tokens(rng, contents))
    # Before tokenizers 0.23, a token that is added again with other flags is found as before, too.
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    core = core_of(tokenizer)
    assert wrong_seams(core, tokenizer, many_texts(rng, contents, 60)) == []


@pytest.mark.parametrize("accents", [None, True, False])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_bert_normalizers(accents: bool | None, lowercase: bool, normalized: bool) -> None:
    options = BertOptions(True, True, accents, lowercase)
    tokenizer = word_pieces.of_characters(options, [*"abcABC12.,", "\u00e9", "\u4e2d", "\u0301", "\u0323"])
    tokenizer.add_tokens(
        [AddedToken("[x]", normalized=normalized), AddedToken("ab", single_word=True, normalized=normalized)]
    )
    core = core_of(tokenizer)
    rng = random.Random(f"{accents} {lowercase}")
    assert wrong_seams(core, tokenizer, many_texts(rng, ["[x]", "ab", "[", "x]"], 150)) == []


@pytest.mark.parametrize(
    "splits",
    [
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)],
        [pre_tokenizers.Digits(False), pre_tokenizers.Punctuation("merged_with_next"), pre_tokenizers.ByteLevel(False)],
        [pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.ByteLevel(False)],
        [pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"), pre_tokenizers.ByteLevel(False)],
        [pre_tokenizers.Punctuation("removed"), pre_tokenizers.ByteLevel(False), pre_tokenizers.Digits(True)],
        [pre_tokenizers.ByteLevel(False, use_regex=False), pre_tokenizers.Digits(True)],
        [pre_tokenizers.ByteLevel(True)],
        [pre_tokenizers.ByteLevel(True, use_regex=False)],
    ],
)
def test_split_steps_in_a_row(splits: list[Any]) -> None:
    tokenizer = corpus.load_tokenizer("tiny_starcoder")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    core = core_of(tokenizer)
    assert wrong_seams(core, tokenizer, many_texts(random.Random(1), ["<x>"], 150)) == []


@settings(max_examples=tier.pick(10, 100))
@given(text=strategies.texts())
@pytest.mark.parametrize("name", [*native_cores.SMALL, "wordpiece_uncased"])
def test_any_text(name: str, text: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    assert wrong_seams(core, reference, [text], 8) == []


@pytest.mark.parametrize("name", [*native_cores.SMALL, *WORD_PIECES, *unigrams.SMALL])
def test_ordinary_text_has_seams_at_hand(name: str) -> None:
    """A rule that finds no seams is never wrong: here they must be found, however the text begins and ends."""
    core, _ = native_cores.core_and_reference(name)
    for kind in ("books_en", "code"):
        text = "\n".join(corpus.texts(kind, 20_000))
        seams = [0, *seams_of(core, text), len(text)]
        gaps = [right - left for left, right in itertools.pairwise(seams)]
        assert max(gaps) < 300
        assert len(seams) > len(text) / 40


def test_a_run_of_spaces_that_becomes_one_begins_with_a_seam() -> None:
    """A run and a single space, which is all that a prefix may have of it, begin a word of Unigram."""
    for name in unigrams.SMALL:
        core, _ = native_cores.core_and_reference(name)
        assert core.first_seam("one  two   three") == 3
        assert core.first_seam("one  two   three", 4) == 8


def test_the_text_after_it_may_be_unknown() -> None:
    """What is a seam of the beginning of a text is one of the text."""
    for name in ("tiny_qwen2", "tiny_clip", "tiny_gemma"):
        core, _ = native_cores.core_and_reference(name)
        for text in SHORT_TEXTS:
            seams = set(seams_of(core, text))
            for end in range(1, len(text)):
                last = core.last_seam(text, 0, end)
                assert last is None or (last in seams and last < end)
                assert core.last_seam(text[:end]) == last


def test_arguments() -> None:
    core, reference = test_normalizers.core_and_reference("NFC")
    assert core.first_seam("") is None
    assert core.last_seam("a ") is None  # the character after the space is needed: a mark may follow
    assert core.last_seam("a b") == core.last_seam("a bc") == 1
    assert core.first_seam("a bc", 2) is None
    assert core.last_seam("a bc d", 0, 4) == 1
    assert core.last_seam("a bc de", 1) == 4
    assert core.first_seam("\ud800 \ud800 ab") is None
    assert core.encode_part("a bc", 1, 3) == reference.encode(" b", add_special_tokens=False).ids
    assert core.encode_part("a bc", 2, 2) == []
    for begin, end in ((3, 2), (0, 5), (5, None)):
        with pytest.raises(IndexError):
            core.encode_part("a bc", begin, end)
        with pytest.raises(IndexError):
            core.last_seam("a bc", begin, end)


def test_uncertain_positions_are_no_seams() -> None:
    """A normalizer that only the reference can do, one that puts something in front, and a model without a split."""
    for normalizer in (normalizers.Replace(Regex("[a-c]+"), "b"), normalizers.Prepend("x")):
        tokenizer = test_normalizers.with_normalizer("tiny_qwen2", normalizer)
        assert seams_of(core_of(tokenizer), "one two three") == []
