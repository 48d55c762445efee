"""Offsets of the native core against those of the reference library, for every tokenizer."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import corpus
import native_cores
import numpy as np
import pytest
import random_models
import representatives
import strategies
import tier
import unigrams
from hypothesis import given
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.native import _core
from lopt_plugin.settings import Settings

WORD_PIECE = [name for name in corpus.tokenizer_names() if name.startswith(("wordpiece_", "bert_"))]
TELLING = [*native_cores.ALL, *WORD_PIECE, *unigrams.SMALL]

Both = tuple[list[int], list[tuple[int, int]]]


def expected(reference: Tokenizer, text: str) -> Both:
    encoding = reference.encode(text, add_special_tokens=False)
    return encoding.ids, encoding.offsets


def found(core: Any, text: str, **options: Any) -> Both | None:
    """None where the core says that the reference has to be asked."""
    try:
        ids, offsets = core.encode_with_offsets(text, **options)
    except _core.OffsetsUnknownError:
        return None
    assert ids.dtype == offsets.dtype == np.int32
    assert offsets.shape == (len(ids), 2)
    return ids.tolist(), [tuple(row) for row in offsets.tolist()]


@functools.lru_cache(maxsize=2)
def core_and_reference(name: str) -> tuple[Any, Tokenizer]:
    """Without the post-processor, which may trim offsets."""
    core, reference = native_cores.core_and_reference(name)
    reference = Tokenizer.from_str(reference.to_str())
    reference.post_processor = processors.Sequence([])
    return core, reference


def may_be_left(name: str) -> bool:
    """Where accents are stripped, a few characters may change places; a character map has a few for whole clusters.

    Falcon's vocabulary lacks some bytes.
    """
    return "uncased" in name or name in ("wordpiece_added", "unigram_t5", "falcon")


def assert_same(name: str, texts: Any, **options: Any) -> int:
    """Compares all texts and returns how many the core had to leave."""
    core, reference = core_and_reference(name)
    left = 0
    texts = list(texts)
    for text, encoding in zip(texts, reference.encode_batch(texts, add_special_tokens=False), strict=True):
        given_out = found(core, text, **options)
        if given_out is None and may_be_left(name):
            left += 1
            continue
        assert given_out == (encoding.ids, encoding.offsets), text
        lists = core.encode_with_offsets(text, as_lists=True, **options)
        assert lists == given_out
        assert list(map(hash, lists[1])) == list(map(hash, given_out[1]))
    return left


@pytest.mark.parametrize("name", TELLING)
def test_conformance(name: str) -> None:
    for family in corpus.conformance_families():
        texts = corpus.conformance(family, seed=3)[: tier.pick(15, 40)]
        assert_same(name, [text for text in texts if len(text) < 20_000])


@pytest.mark.parametrize("name", TELLING)
def test_corpora(name: str) -> None:
    for kind in corpus.corpora():
        texts = corpus.texts(kind, tier.pick(10_000, 30_000))
        assert assert_same(name, texts) <= len(texts) // 20


@pytest.mark.parametrize(
    "name",
    [
        *["tiny_roberta", "tiny_falcon", "tiny_clip", "tiny_metaspace_first", "wordpiece_uncased"],
        *tier.pick([], ["qwen3"]),
    ],
)
def test_each_code_point_in_context(name: str) -> None:
    points = [c for c in range(0, 0x110000, tier.pick(7, 1)) if not 0xD800 <= c < 0xE000]
    contexts = ["{}", "a{}b", " {} {}\u0301", "e\u0301{}中"]
    step = 61
    texts = (
        "".join(contexts[(at // step) % 4].replace("{}", chr(c)) for c in points[at : at + step])
        for at in range(0, len(points), step)
    )
    core, reference = core_and_reference(name)
    for batch in iter(lambda: list(itertools.islice(texts, 500)), []):
        for text, encoding in zip(batch, reference.encode_batch(batch, add_special_tokens=False), strict=True):
            given_out = found(core, text)
            if given_out is None and may_be_left(name):
                continue
            assert given_out == (encoding.ids, encoding.offsets), text


@pytest.mark.parametrize("name", TELLING)
def test_threads_and_chunks(name: str) -> None:
    core, _ = core_and_reference(name)
    rng = random.Random(5)
    texts = ["".join(rng.choices([*representatives.SNIPPETS, " the", "中文字", "e\u0301"], k=300)) for _ in range(4)]
    for text in texts:
        whole = found(core, text)
        for threads, chunk_chars in ((1, 1), (1, 7), (2, 64), (3, 100), (8, 33)):
            assert found(core, text, threads=threads, chunk_chars=chunk_chars) == whole
            if whole is not None:
                ids, offsets = whole
                for limit in (1, len(ids) // 2, len(ids) + 5):
                    cut = found(core, text, threads=threads, chunk_chars=chunk_chars, limit=limit)
                    assert cut == (ids[:limit], offsets[:limit])
                    cut = found(core, text, threads=threads, chunk_chars=chunk_chars, limit=limit, keep_end=True)
                    assert cut == (ids[-limit:], offsets[-limit:])


@pytest.mark.parametrize(
    "name", ["tiny_qwen2", "tiny_roberta", "tiny_llama2", "tiny_metaspace_first", "tiny_clip", "wordpiece_uncased"]
)
@given(text=strategies.texts())
def test_any_text(name: str, text: str) -> None:
    if name not in TELLING:
        pytest.skip(f"{name} is not beside the checkout")
    assert_same(name, [text])


def byte_level(
    *,
    added: tuple[AddedToken, ...] = (),
    normalizer: normalizers.Normalizer | None = None,
    add_prefix_space: bool = False,
    post_processor: processors.PostProcessor | None = None,
) -> Tokenizer:
    reference = corpus.load_tokenizer("tiny_qwen2")
    merged = Tokenizer(reference.model)
    if normalizer is not None:
        merged.normalizer = normalizer
    merged.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    if post_processor is not None:
        merged.post_processor = post_processor
    merged.add_tokens([*added])
    return merged


ADDED = (
    AddedToken("<mask>", lstrip=True, special=True),
    AddedToken("<|right|>", rstrip=True),
    AddedToken("<|both|>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("word", single_word=True),
    AddedToken("Cafe\u0301", normalized=True),
    AddedToken("Caf\u00e9!", normalized=False),
    AddedToken("a", single_word=True, lstrip=True),
    AddedToken("\u2003x", normalized=False),
    AddedToken("Ġy ", normalized=False),
    AddedToken("  ", normalized=False, rstrip=True),
)
PIECES = [
    *[token.content for token in ADDED],
    *[" ", "  ", "\n", "\u2003", "\u00a0", "Ġ", "x", "a", "word", "Caf\u00e9", "Cafe\u0301", "e\u0301", "\u0301"],
    *["中", "👍🏽", "\u1100\u1161\u11a8", "the", " the", "\u0344", "q\u0307\u0323", "\u212b"],
]


@pytest.mark.parametrize("trim", [None, False, True])
@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("nfc", [False, True])
def test_added_tokens_normalizer_and_trimming(nfc: bool, add_prefix_space: bool, trim: bool | None) -> None:
    """trim: None for none, else the post-processor's add_prefix_space."""
    reference = byte_level(
        added=ADDED,
        normalizer=normalizers.NFC() if nfc else None,
        add_prefix_space=add_prefix_space,
        post_processor=None if trim is None else processors.ByteLevel(add_prefix_space=trim, trim_offsets=True),
    )
    native = native_cores.route_of(reference)
    rng = random.Random(f"{nfc} {add_prefix_space} {trim}")
    for number in range(1500):
        text = "".join(rng.choices(PIECES, k=rng.randint(0, 9)))
        split = number % 7 == 0
        reference.encode_special_tokens = split
        whole = reference.encode(text)
        assert native.text_with_offsets(text, split, None, False, as_lists=True) == (whole.ids, whole.offsets), text
        limit, keep_end = rng.randint(1, 6), number % 2 == 0
        reference.enable_truncation(limit, direction="left" if keep_end else "right")
        cut = reference.encode(text)
        reference.no_truncation()
        assert native.text_with_offsets(text, split, limit, keep_end, as_lists=True) == (cut.ids, cut.offsets), text


def test_trimming_at_the_end_of_a_text() -> None:
    """Where spaces alone make a token, what is left of it is empty."""
    reference = byte_level(post_processor=processors.ByteLevel(add_prefix_space=True, trim_offsets=True))
    encoder = Encoder(reference, Settings.read({}, threads=1))
    for text in (" ", "  ", "a ", "a  ", " a", "\n a", "a\u00a0", " \u3000 ", "   a   b   "):
        ids, offsets = encoder.encode_with_offsets(text)
        encoding = reference.encode(text)
        assert (ids.tolist(), list(map(tuple, offsets.tolist()))) == (encoding.ids, encoding.offsets)
    assert encoder.explain()["calls"]["hf"] == 0


@pytest.mark.parametrize("spares", [False, True])
def test_trimming_of_many_spaces(spares: bool) -> None:
    """Names of 2 ** n spaces, and of those followed by a letter."""
    spaces = ["\u0120" * 2**power for power in range(11)]
    names = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *spaces[1:], *(name + "a" for name in spaces)]
    merges = [(name, name) for name in spaces[:-1]] + [(name, "a") for name in spaces]
    reference = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, merges))
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    reference.post_processor = processors.ByteLevel(add_prefix_space=spares, trim_offsets=True)
    encoder = Encoder(reference, Settings.read({}, threads=1))
    rng = random.Random(9)
    counts = [1, 2, 3, 254, 255, 256, 257, 300, 511, 512, 1023, 1024, 2000]
    for _ in range(300):
        text = "".join(" " * rng.choice(counts) + rng.choice("ab\u00e9\n") for _ in range(rng.randint(1, 5)))
        ids, offsets = encoder.encode_with_offsets(text)
        whole = reference.encode(text)
        assert ids.tolist() == whole.ids
        assert offsets.tolist() == [list(offset) for offset in whole.offsets], text
    assert encoder.explain()["hf_calls"] == {}


def test_long_text_on_several_threads() -> None:
    reference = byte_level(added=ADDED, normalizer=normalizers.NFC())
    encoder = Encoder(reference, Settings.read({}, threads=3, parallel_min_chars=1000))
    rng = random.Random(11)
    ascii_only = [piece for piece in PIECES if piece.isascii()]
    for pieces in (PIECES, ascii_only, ["中文字", "👍🏽"], ["x "]):
        text = "".join(rng.choices(pieces, k=tier.pick(20_000, 60_000)))
        ids, offsets = encoder.encode_with_offsets(text)
        encoding = reference.encode(text)
        assert ids.tolist() == encoding.ids
        assert list(map(tuple, offsets.tolist())) == encoding.offsets


def test_encode_with_offsets() -> None:
    tokenizer = corpus.load_tokenizer("roberta_base")
    encoder = Encoder(tokenizer)
    text = " Hello wörld <mask>, the end"
    for special in (True, False):
        ids, offsets = encoder.encode_with_offsets(text, special)
        encoding = tokenizer.encode(text, add_special_tokens=special)
        assert ids.tolist() == encoding.ids
        assert offsets.tolist() == [list(offset) for offset in encoding.offsets]
        assert ids.dtype == offsets.dtype == np.int32
    assert encoder.encode_with_offsets("", False)[1].shape == (0, 2)
    assert encoder.explain()["calls"] == {"native": 3, "hf_chunks": 0, "gpu": 0, "hf": 0, "verified": 0}
    with pytest.raises(TypeError):
        encoder.encode_with_offsets(None)  # type: ignore[arg-type]


def test_removed_characters() -> None:
    reference = byte_level()
    reference.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(), pre_tokenizers.Punctuation("removed"), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reference)
    ours = lopt_plugin.accelerate(tokenizer)
    for text in ("a,b 12", ",", "", "中,、文 x!!", "..a.b.."):
        assert ours(text, return_offsets_mapping=True) == tokenizer(text, return_offsets_mapping=True)
    assert ours.lopt.explain()["route"] == "native"
    assert ours.lopt.explain()["calls"]["hf"] == 0


def test_dropped_bytes() -> None:
    """The reference counts the stand-ins of the bytes that it keeps; such offsets are left to it."""
    vocabulary = {entry: number for entry, number in random_models.BYTES.items() if number != 3}
    core = native_cores.make_core(vocabulary, [], dropped_bytes=b"\x03")
    reference = Tokenizer(models.BPE(vocabulary, []))
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ours = lopt_plugin.accelerate(PreTrainedTokenizerFast(tokenizer_object=reference))
    assert ours.lopt.explain()["route"] == "native"
    for text in ("a\x03b", "\x03\r", "\x03\x03\u00e9\u4e2d\x03b"):
        assert found(core, text) is None
    for text in ("a\x03b", "\x03\r", "\x03\x03\u00e9\u4e2d\x03b", "\x03", "a\x04b", "x"):
        assert ours(text, return_offsets_mapping=True)["offset_mapping"] == reference.encode(text).offsets


def nfc(align: Any = None) -> list[Any]:
    return [("form", "NFC", normalizers.NFC().normalize_str, align)]


def test_alignment_that_makes_no_sense_is_refused() -> None:
    for answer in ([], [(0, 1)], [(0, 1), (1, 9)], [(-1, 1), (0, 1)], [(1, 1), (0, 1)]):
        core = native_cores.make_core(random_models.BYTES, [], normalizer=nfc(lambda text, a=answer: a))
        assert found(core, "1\u0344") is None
        assert core.encode("1\u0344") == list("1\u0308\u0301".encode())
    core = native_cores.make_core(random_models.BYTES, [], normalizer=nfc())
    assert found(core, "1\u0344") is None
    assert found(core, "xyz") == ([120, 121, 122], [(0, 1), (1, 2), (2, 3)])


def test_error_of_the_alignment_comes_through() -> None:
    def align(text: str) -> list[tuple[int, int]]:
        raise KeyError(text)

    core = native_cores.make_core(random_models.BYTES, [], normalizer=nfc(align))
    with pytest.raises(KeyError):
        core.encode_with_offsets("1\u0344" * 3000)
    with pytest.raises(_core.LoneSurrogateError):
        core.encode_with_offsets("\ud800")


def test_random_models() -> None:
    rng = random.Random(23)
    for _ in range(40):
        model = random_models.random_model(rng)
        reference = model.reference()
        core = native_cores.make_core(model.vocabulary, [list(merge) for merge in model.merges])
        for word in random_models.random_words(rng, model, 20):
            assert found(core, word) == expected(reference, word), (model, word)


def test_unknown_model_keeps_the_hf_route() -> None:
    backend = Tokenizer(models.WordLevel({"a": 0, "u": 1}, unk_token="u"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    encoder = Encoder(backend, Settings.read({}, threads=1))
    ids, offsets = encoder.encode_with_offsets(" a b")
    assert (ids.tolist(), offsets.tolist()) == ([0, 1], [[1, 2], [3, 4]])
