"""Listed characters have the classes that boundaries and seams rely on; certain boundaries hold in any context."""

from __future__ import annotations

import contextlib
import re

import corpus
import numpy as np
import pytest
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from lopt_plugin.pipeline import Unsupported
from lopt_plugin.pipeline.chunking import read_chunking
from lopt_plugin.routes.hf_chunks import boundaries, seams
from lopt_plugin.routes.hf_chunks.boundaries import AddedTokens, Boundaries, VocabularyCuts
from lopt_plugin.unicode_tables import load
from lopt_plugin.unicode_tables.table import LETTER, MARK, NFC_FOLLOWS, NUMBER, SPACE

# Unigram; Metaspace; added tokens after a BertNormalizer.
NEVER = {"t5_small", "unigram_t5", "unigram_bytes", "tiny_metaspace", "tiny_metaspace_first", "wordpiece_added"}
SMALL = [name for name in corpus.tokenizer_names() if name.startswith("tiny_") and name not in NEVER]
PIPELINES = ["wordpiece", "wordpiece_uncased", "clip", "nfkd", "word_level", *SMALL]
CONTEXTS = [("", ""), ("It's ", " word's"), ("12", "34"), ("\n  ", "  \n"), ("A'S", "'Sa"), ("(中", "\u0301 x")]


def matching(pattern: str) -> list[str]:
    """Every character that the pattern, of one character, matches."""
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    return re.findall(pattern, text)


def bits_of(characters: list[str]) -> np.ndarray:
    return load.character_classes().bits()[[ord(c) for c in characters]]


LETTERS = matching(f"[{boundaries.LETTERS_AND_DIGITS}]")
AFTER = matching(boundaries._BOUNDARY.pattern.split(")", 1)[1])


def test_letters_and_digits() -> None:
    assert len(LETTERS) > 32_000
    assert (bits_of(LETTERS) & (LETTER | NUMBER)).all()


def test_what_ends_every_run() -> None:
    stops = sorted(seams._STOPS)
    assert not (bits_of(stops) & (LETTER | MARK)).any()
    solid = sorted(seams._PUNCTUATION) + [c for c in LETTERS if seams._surely_not_space(c)]
    assert len(solid) > 32_000
    assert not (bits_of(solid) & SPACE).any()
    assert "'" not in AFTER
    assert not (bits_of(AFTER) & (LETTER | MARK | NUMBER)).any()


def test_starters() -> None:
    """Neither they nor what they decompose into, in any form, combine with what comes before them."""
    starters = matching(boundaries._STARTER.pattern)
    assert not (bits_of(starters) & NFC_FOLLOWS).any()
    assert set(AFTER) <= set(starters)
    for form in (normalizers.NFD(), normalizers.NFKD(), normalizers.NFC(), normalizers.NFKC()):
        first = [form.normalize_str(character)[0] for character in starters]
        assert not (bits_of(first) & NFC_FOLLOWS).any()


@pytest.mark.parametrize("name", [name for name in PIPELINES if name not in ("tiny_gemma", "tiny_llama2")])
def test_certain_boundaries_hold_in_any_context(name: str) -> None:
    tokenizer = small_pipelines()[name] if name in small_pipelines() else corpus.load_tokenizer(name)
    chunkable = read_chunking(tokenizer)
    following = [" "] if chunkable.only_before_spaces else AFTER
    some = [*"azAZ09", *LETTERS[62:400:25], *LETTERS[400::1500]]
    wholes, lefts, rights = [], [], []
    for before, after in CONTEXTS:
        for letter in some:
            for character in following:
                lefts.append(before + letter)
                rights.append(character + after)
                wholes.append(lefts[-1] + rights[-1])
    ids = [[e.ids for e in tokenizer.encode_batch_fast(t, add_special_tokens=False)] for t in (wholes, lefts, rights)]
    wrong = [text for text, whole, left, right in zip(wholes, *ids, strict=True) if whole != left + right]
    assert wrong == []


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD", "StripAccents", "BertNormalizer"])
def test_no_edge_inside_a_combining_sequence(name: str) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer, tokenizer.pre_tokenizer = getattr(normalizers, name)(), pre_tokenizers.ByteLevel(False)
    anywhere = Boundaries(tokenizer, read_chunking(tokenizer))
    text = "e\u0301\u0323\u1100\u1161\u11a8 x"
    assert [anywhere.overlap_edge(text, first, len(text)) for first in range(1, 8)] == [6, 6, 6, 6, 6, 6, 7]


def test_added_tokens_are_not_touched() -> None:
    tokens = [AddedToken("<end>", normalized=False), AddedToken("a b", rstrip=True, normalized=False)]
    added = AddedTokens(tokens, None)
    text = "word <end>  word a b word"
    clear = [place for place in range(len(text) + 1) if not added.may_touch(text, place)]
    assert clear == [0, 1, 2, 3, 13, 14, 15, 22, 23, 24, 25]


def test_added_tokens_in_normalized_text() -> None:
    lowercase = normalizers.Lowercase()
    added = AddedTokens([AddedToken("<end>", normalized=True)], lowercase, ["<|x|>"])
    for text in ("a<END>b", "a<|X|>b", "a<|x|>b"):
        assert all(added.may_touch(text, place) for place in range(len(text)))
    far = "word " * 40 + "<END>"
    assert not added.may_touch(far, 5)


def test_vocabulary_cuts() -> None:
    cuts = VocabularyCuts(["a", "b", "c", "▁", "ab", "▁a", "bc", "<0x0A>", "<0xEE>"], [(" ", "▁")])
    pairs = [left + right for left in "abc ?" for right in "abc ?" if cuts.between(left, right)]
    # Neither pairs in an entry, nor characters that are not entries.
    assert pairs == ["aa", "ac", "a ", "ba", "bb", "b ", "ca", "cb", "cc", "c ", " b", " c", "  "]
    assert cuts.foreign_character(["x"]) == "\ue000"
    assert cuts.foreign_character(["x\ue000"]) == "\ue001"
    taken = VocabularyCuts(["<0xEE>", "<0xEE>a"], [])
    assert taken.foreign_character([]) is None


def test_the_separator_may_be_an_entry() -> None:
    cuts = VocabularyCuts(["a", "\x00", "a\x00", "b"], [])
    assert not cuts.between("a", "\x00")
    assert not cuts.between("\x00", "b")
    assert cuts.between("a", "b")


def test_no_tokenizer_of_the_data_is_refused_but_unigram() -> None:
    for name in corpus.tokenizer_names():
        with pytest.raises(Unsupported) if name in NEVER else contextlib.nullcontext():
            read_chunking(corpus.load_tokenizer(name))


def test_tokenizers_are_not_changed() -> None:
    tokenizer = Tokenizer.from_str(corpus.tokenizer_json("tiny_tekken"))
    before = tokenizer.to_str()
    read_chunking(tokenizer)
    assert tokenizer.to_str() == before
