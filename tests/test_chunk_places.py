"""The characters that places and seams rely on are what the oracle takes them for, and cuts are boundaries anywhere."""

from __future__ import annotations

import re

import corpus
import numpy as np
import pytest
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from lopt_plugin import character_classes
from lopt_plugin.character_classes.table import LETTER, MARK, NFC_FOLLOWS, NUMBER, SPACE
from lopt_plugin.pipeline.chunking import Chunkable, read_chunking
from lopt_plugin.routes.chunks import places, seams
from lopt_plugin.routes.chunks.places import AddedTokens
from lopt_plugin.routes.chunks.vocabulary import VocabularyCuts

# Unigram; Metaspace; added tokens behind a BertNormalizer.
NEVER = {"t5_small", "tiny_metaspace", "tiny_metaspace_first", "wordpiece_added"}
SMALL = [name for name in corpus.tokenizer_names() if name.startswith("tiny_") and name not in NEVER]
PIPELINES = ["wordpiece", "wordpiece_uncased", "clip", "nfkd", "word_level", *SMALL]
CONTEXTS = [("", ""), ("It's ", " word's"), ("12", "34"), ("\n  ", "  \n"), ("A'S", "'Sa"), ("(中", "\u0301 x")]


def matching(pattern: str) -> list[str]:
    """Every character that the pattern, of one character, matches."""
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    return re.findall(pattern, text)


def bits_of(characters: list[str]) -> np.ndarray:
    return character_classes.load().bits()[[ord(c) for c in characters]]


LETTERS = matching(f"[{places.LETTERS_AND_DIGITS}]")
BEHIND = matching(places._CUT.pattern.split(")", 1)[1])


def test_letters_and_digits() -> None:
    assert len(LETTERS) > 32_000
    assert (bits_of(LETTERS) & (LETTER | NUMBER)).all()


def test_what_ends_every_run() -> None:
    stops = sorted(seams._STOPS)
    assert not (bits_of(stops) & (LETTER | MARK)).any()
    solid = sorted(seams._PUNCTUATION) + [c for c in LETTERS if seams._surely_no_blank(c)]
    assert len(solid) > 32_000
    assert not (bits_of(solid) & SPACE).any()
    assert "'" not in BEHIND
    assert not (bits_of(BEHIND) & (LETTER | MARK | NUMBER)).any()


def test_starters() -> None:
    """Neither they nor what they decompose into, by any form, takes part in what stands before them."""
    starters = matching(places._STARTER.pattern)
    assert not (bits_of(starters) & NFC_FOLLOWS).any()
    assert set(BEHIND) <= set(starters)
    for form in (normalizers.NFD(), normalizers.NFKD(), normalizers.NFC(), normalizers.NFKC()):
        first = [form.normalize_str(character)[0] for character in starters]
        assert not (bits_of(first) & NFC_FOLLOWS).any()


@pytest.mark.parametrize("name", [name for name in PIPELINES if name not in ("tiny_gemma", "tiny_llama2")])
def test_cuts_are_boundaries_anywhere(name: str) -> None:
    tokenizer = small_pipelines()[name] if name in small_pipelines() else corpus.load_tokenizer(name)
    chunkable = read_chunking(tokenizer)
    assert isinstance(chunkable, Chunkable)
    behind = [" "] if chunkable.only_before_blanks else BEHIND
    some = [*"azAZ09", *LETTERS[62:400:25], *LETTERS[400::1500]]
    wholes, lefts, rights = [], [], []
    for before, after in CONTEXTS:
        for letter in some:
            for character in behind:
                lefts.append(before + letter)
                rights.append(character + after)
                wholes.append(lefts[-1] + rights[-1])
    ids = [[e.ids for e in tokenizer.encode_batch_fast(t, add_special_tokens=False)] for t in (wholes, lefts, rights)]
    wrong = [text for text, whole, left, right in zip(wholes, *ids, strict=True) if whole != left + right]
    assert wrong == []


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD", "StripAccents", "BertNormalizer"])
def test_no_place_inside_a_combining_sequence(name: str) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer, tokenizer.pre_tokenizer = getattr(normalizers, name)(), pre_tokenizers.ByteLevel(False)
    chunkable = read_chunking(tokenizer)
    assert isinstance(chunkable, Chunkable)
    anywhere = places.Places(chunkable, AddedTokens([], None), None)
    text = "e\u0301\u0323\u1100\u1161\u11a8 x"
    assert [anywhere.free(text, first, len(text)) for first in range(1, 8)] == [6, 6, 6, 6, 6, 6, 7]


def test_added_tokens_are_not_touched() -> None:
    tokens = [AddedToken("<end>", normalized=False), AddedToken("a b", rstrip=True, normalized=False)]
    added = AddedTokens(tokens, None)
    text = "word <end>  word a b word"
    quiet = [place for place in range(len(text) + 1) if added.quiet(text, place)]
    assert quiet == [0, 1, 2, 3, 13, 14, 15, 22, 23, 24, 25]


def test_added_tokens_in_normalized_text() -> None:
    lowercase = normalizers.Lowercase()
    added = AddedTokens([AddedToken("<end>", normalized=True)], lowercase, ["<|x|>"])
    for text in ("a<END>b", "a<|X|>b", "a<|x|>b"):
        assert not any(added.quiet(text, place) for place in range(len(text)))
    far = "word " * 40 + "<END>"
    assert added.quiet(far, 5)


def test_vocabulary_cuts() -> None:
    cuts = VocabularyCuts(["a", "b", "c", "▁", "ab", "▁a", "bc", "<0x0A>", "<0xEE>"], [(" ", "▁")])
    pairs = [left + right for left in "abc ?" for right in "abc ?" if cuts.between(left, right)]
    # Not those of an entry, nor with what is no entry.
    assert pairs == ["aa", "ac", "a ", "ba", "bb", "b ", "ca", "cb", "cc", "c ", " b", " c", "  "]
    assert cuts.foreign_character(["x"]) == "\ue000"
    assert cuts.foreign_character(["x\ue000"]) == "\ue001"
    spoilt = VocabularyCuts(["<0xEE>", "<0xEE>a"], [])
    assert spoilt.foreign_character([]) is None


def test_an_entry_of_the_separator_is_no_harm() -> None:
    cuts = VocabularyCuts(["a", "\x00", "a\x00", "b"], [])
    assert not cuts.between("a", "\x00")
    assert not cuts.between("\x00", "b")
    assert cuts.between("a", "b")


def test_no_tokenizer_of_the_data_is_refused_but_unigram() -> None:
    for name in corpus.tokenizer_names():
        found = read_chunking(corpus.load_tokenizer(name))
        assert isinstance(found, Chunkable) == (name not in NEVER), name


def test_tokenizers_are_not_changed() -> None:
    tokenizer = Tokenizer.from_str(corpus.tokenizer_json("tiny_tekken"))
    before = tokenizer.to_str()
    read_chunking(tokenizer)
    assert tokenizer.to_str() == before
