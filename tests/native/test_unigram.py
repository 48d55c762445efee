"""Unigram natively, against the reference: ids and offsets compared with ==."""

from __future__ import annotations

import functools
import itertools
import random
import unicodedata
from dataclasses import replace
from typing import Any

import corpus
import hard_texts
import native_cores
import numpy as np
import pytest
import tier
import tokenizers
import unigrams
from native_cores import core_of
from short_texts import SHORT_TEXTS
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from lopt_plugin.encoder import Encoder
from lopt_plugin.native._core import OffsetsUnknownError
from lopt_plugin.pipeline import Unsupported, read_pipeline
from lopt_plugin.pipeline.normalizers import Precompiled
from lopt_plugin.routes import core_values, hard_texts as check_texts
from lopt_plugin.routes.native_core import build_core
from lopt_plugin.settings import Settings
from lopt_plugin.unicode_tables import load, normalizers as sets
from lopt_plugin.unicode_tables.derive import graphemes, oracle

ALL = [*unigrams.SMALL, *unigrams.LARGE]
# Parts of clusters: letters, marks of two bytes and of three, Hangul, an emoji, what precedes, controls.
PARTS = ["e", "E", " ", "ا", "か", "中", "\u1100", "\u1161", "\u11a8", "가", "\u00a8", "ﬁ", "\u2122", "\U0001f469"]
PARTS += ["\u0301", "\u0308", "\u0344", "\u3099", "\u094d", "\u200d", "\ufe0f", "\u0600", "\U000110bd"]
PARTS += ["\r", "\n", "\x01", "\u200b", "\u2581", "\u3000"]


@functools.cache
def core_and_tokenizer(name: str) -> tuple[Any, Tokenizer]:
    tokenizer = corpus.load_tokenizer(name)
    return core_of(tokenizer), tokenizer


def wrong(core: Any, tokenizer: Tokenizer, texts: list[str]) -> tuple[list[str], int]:
    """At most five texts with other ids or offsets than the reference's; how many have offsets that are not known."""
    found, unknown = [], 0
    for text, encoding in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
        expected = (encoding.ids, encoding.offsets)
        if core.encode(text) != encoding.ids:
            found.append(text)
            continue
        try:
            if core.encode_with_offsets(text, as_lists=True) != expected:
                found.append(text)
        except OffsetsUnknownError:
            unknown += 1
    return found[:5], unknown


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ALL)
def test_hard_texts_and_documents(name: str) -> None:
    core, tokenizer = core_and_tokenizer(name)
    texts = check_texts.hard_texts([token.content for token in tokenizer.get_added_tokens_decoder().values()])
    texts += [text for family in hard_texts.families() for text in hard_texts.texts(family)]
    texts += [text for each in corpus.corpora() for text in corpus.texts(each, tier.pick(40_000, 2_000_000))]
    assert wrong(core, tokenizer, texts)[0] == []


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ALL)
def test_clusters(name: str) -> None:
    """Every row of three parts, in the middle of a text and at its beginning."""
    core, tokenizer = core_and_tokenizer(name)
    rows = [a + b + c for a in PARTS for b in PARTS for c in PARTS]
    texts = ["x ".join(rows[first : first + 29]) for first in range(0, len(rows), 29)]
    texts += rows[:: tier.pick(17, 1)]
    found, unknown = wrong(core, tokenizer, texts)
    assert found == []
    assert (unknown > 0) == (name != "unigram_bytes")


def test_letters_that_begin_keys() -> None:
    """Of two, three and more bytes, before marks; the ids are bytes, so they show what became of each."""
    pieces = [("<unk>", -1.0), *((f"<0x{byte:02X}>", -2.0) for byte in range(256))]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.normalizer = unigrams.precompiled()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    decomposed = (unicodedata.normalize("NFD", character) for character in oracle.to_text(oracle.SCALAR_VALUES))
    letters = sorted({letter[0] for letter in decomposed if len(letter) > 1})[:: tier.pick(7, 1)]
    marks = "\u0301\u0308\u0323\u0344\u093c\u094d\u3099\u200d"
    texts = [letter.join(["", *marks, *("a" + mark for mark in marks), ""]) for letter in letters]
    assert wrong(core_of(tokenizer), tokenizer, texts)[0] == []


@pytest.mark.parametrize("name", [name for name in ALL if name != "unigram_bytes"])
def test_every_character_after_a_letter_and_before_a_mark(name: str) -> None:
    core, tokenizer = core_and_tokenizer(name)
    points = oracle.SCALAR_VALUES[:: tier.pick(23, 1)]
    for first in range(0, len(points), 2048):
        characters = oracle.to_text(points[first : first + 2048])
        for text in ("e".join(characters), "\u0301 a".join(characters)):
            assert core.encode(text) == tokenizer.encode(text, add_special_tokens=False).ids


def test_random_models() -> None:
    """Scores tie, or differ by rounding; texts are divided among threads as well."""
    for seed in range(tier.pick(150, 5_000)):
        rng = random.Random(seed)
        tokenizer = unigrams.random_tokenizer(rng)
        core = core_of(tokenizer)
        texts = unigrams.random_texts(rng, tokenizer, 25)
        assert (seed, wrong(core, tokenizer, texts)[0]) == (seed, [])
        text = "".join(texts)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert (seed, core.encode(text, threads=2, chunk_chars=rng.randint(1, 40))) == (seed, ids)


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", unigrams.SMALL)
def test_short_texts(name: str) -> None:
    core, tokenizer = core_and_tokenizer(name)
    assert native_cores.different(core, tokenizer, SHORT_TEXTS) == []


def test_fused_unknown_characters_may_be_a_piece() -> None:
    """With scores above 10, two unknown characters score more than the piece that they are."""
    tokenizer = Tokenizer(models.Unigram([("<unk>", 100.0), ("ab", 20.0), ("<0x61>", 20.0), ("c", 20.0)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    core = core_of(tokenizer)
    texts = ["ab", "abc", "ba", "aab", "abab", "a", "<unk>", "<unk>a", "c<unk>c"]
    assert wrong(core, tokenizer, texts) == ([], 0)
    assert core.encode("ab") == [1]


@pytest.mark.parametrize(
    ("normalizer", "is_native"),
    [
        (normalizers.NFKD(), True),
        (normalizers.Lowercase(), True),
        (normalizers.Sequence([normalizers.Strip(left=False), normalizers.Replace(Regex(" {2,}"), "\u2581")]), True),
        (normalizers.Strip(left=True, right=False), False),
        (normalizers.Nmt(), False),
        (normalizers.Replace("x", ""), False),
        (normalizers.Replace("xx", "y"), False),
        (normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), False),
    ],
)
def test_a_space_before_the_first_character_only(normalizer: Any, is_native: bool) -> None:
    """The reference asks for its offset in the text, which is not 0 if something before it was removed."""
    pieces = ["<unk>", *"\u2581abxy", "\u2581a", "ab"]
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0 - number) for number, piece in enumerate(pieces)], unk_id=0))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    if not is_native:
        with pytest.raises(Unsupported, match="after such a normalizer"):
            read_pipeline(tokenizer)
        return
    texts = [first + "ab" for first in ("", " ", "  ", "x", "xx", "\u0301", "\x01", "\u200b", "\ufb01", "\u3000", "X")]
    assert wrong(core_of(tokenizer), tokenizer, texts) == ([], 0)
    # After the token "A", the ring that NFKD makes of U+00C5 has the offset 0 as well.
    tokenizer.add_tokens([AddedToken("A", normalized=True)])
    with pytest.raises(Unsupported, match="added tokens of normalized text"):
        read_pipeline(tokenizer)


def test_white_space_is_what_whitespace_split_removes() -> None:
    removed, isolated = oracle.removed_and_isolated(pre_tokenizers.WhitespaceSplit())
    assert oracle.to_text(oracle.SCALAR_VALUES[removed]) == sets.white_space()
    assert not isolated.any()


def test_the_grapheme_table_is_a_fresh_derivation() -> None:
    assert np.array_equal(load.grapheme_classes().bits(), graphemes.derive().bits())


def _changed(change: Any) -> Tokenizer:
    tokenizer = corpus.load_tokenizer("unigram_t5")
    change(tokenizer)
    return tokenizer


def _words(scheme: str, split: bool = True) -> Any:
    metaspace = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])


VERSION = tuple(map(int, tokenizers.__version__.split(".")[:2]))
can_sample = pytest.mark.skipif(VERSION < (0, 23), reason="models cannot sample before tokenizers 0.23")


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        pytest.param("it is random", lambda t: setattr(t.model, "alpha", 0.1), marks=can_sample),
        pytest.param("it is random", lambda t: setattr(t.model, "nbest_size", 2), marks=can_sample),
        ("without an unknown id", lambda t: setattr(t, "model", models.Unigram([("a", 0.0)]))),
        ("pre-tokenizer None with a model Unigram", lambda t: setattr(t, "pre_tokenizer", None)),
        ("with a model Unigram", lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel())),
        ("'first' after WhitespaceSplit", lambda t: setattr(t, "pre_tokenizer", _words("first"))),
        ("without split after WhitespaceSplit", lambda t: setattr(t, "pre_tokenizer", _words("always", split=False))),
        ("BertNormalizer with a model Unigram", lambda t: setattr(t, "normalizer", normalizers.BertNormalizer())),
    ],
)
def test_what_is_left_to_the_reference(reason: str, change: Any) -> None:
    with pytest.raises(Unsupported, match=reason):
        build_core(read_pipeline(_changed(change)))


@pytest.mark.parametrize(
    ("reason", "charsmap"),
    [
        ("is too short", b"\4\0\0"),
        ("has no trie", b"\0\0\0\0"),
        ("has no trie", b"\3\0\0\0abcd"),
        ("has no trie", b"\x08\0\0\0abcd"),
        ("points outside its trie", b"\4\0\0\0\0\xff\xff\x7fX\0"),
    ],
)
def test_a_broken_character_map_is_refused(monkeypatch: pytest.MonkeyPatch, reason: str, charsmap: bytes) -> None:
    """The reference panics on most of them."""
    monkeypatch.setattr(core_values, "_reference", lambda state: str)
    pipeline = replace(read_pipeline(corpus.load_tokenizer("unigram_t5")), normalizer=(Precompiled(charsmap),))
    with pytest.raises(Unsupported, match=reason):
        build_core(pipeline)


@can_sample
def test_a_model_that_begins_to_sample_is_left_to_the_reference() -> None:
    tokenizer = corpus.load_tokenizer("unigram_t5")
    encoder = Encoder(tokenizer, Settings.read({}, threads=1))
    assert encoder.explain()["route"] == "native"
    assert encoder.encode_list("A few words") == tokenizer.encode("A few words").ids
    tokenizer.model.alpha = 0.5
    encoder.encode_list("A few words")
    assert encoder.explain()["route"] == "hf"
    assert "it is random" in encoder.explain()["reason"]


@pytest.mark.parametrize("score", [1e280, -1e300, 1e308])
def test_scores_whose_sum_may_be_infinite(score: float) -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", score), ("b", -score)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    with pytest.raises(Unsupported, match="too large"):
        build_core(read_pipeline(tokenizer))
    encoder = Encoder(tokenizer)
    assert encoder.explain()["route"] == "hf"
    assert encoder.encode_list("ab" * 20) == tokenizer.encode("ab" * 20).ids


def test_unknown_characters_beside_and_inside_pieces() -> None:
    """Pieces may end among unknown characters, which no piece begins with."""
    pieces = [("<unk>", 0.0), ("a", -1.0), ("a\u4e2d", -3.0), ("a\u4e2d\u4e2db", -9.0), ("b", -1.0), ("\u00e9", -2.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    core = core_of(tokenizer)
    texts = ["".join(row) for count in range(1, 7) for row in itertools.product("a\u4e2db\u00e8", repeat=count)]
    assert wrong(core, tokenizer, texts) == ([], 0)


def test_cut_after_a_character_that_is_removed_first() -> None:
    """Its offsets are those of the reference library, which does not count it, and no places to divide the text at."""
    backend = corpus.load_tokenizer("unigram_t5")
    core, _ = native_cores.core_and_reference("unigram_t5")
    text = "\x0eñ´ssss|\x81ssssss|\x81" + "|s\x81" * 20
    counts = [len(backend.encode(text[:end], add_special_tokens=False).ids) for end in range(len(text) + 1)]
    for most in range(max(counts)):
        longest = max(end for end, count in enumerate(counts) if count <= most)
        assert core.cut(text, most, False, 1) == longest
