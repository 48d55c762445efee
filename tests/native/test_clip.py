"""CLIP: a scanner that leaves spaces out, and a model that puts a suffix after the last character of a word.

tiny_clip and clip_vit are also among the tokenizers of the other native tests.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import corpus
import native_cores
import pytest
import random_models
import tier
from native_cores import route_of
from random_models import STAND_INS, stand_ins
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.pipeline import Pipeline, Unsupported, read_pipeline, split_patterns as patterns
from lopt_plugin.settings import Settings

SUFFIX = "</w>"
LITERALS = ["<|startoftext|>", "<|endoftext|>"]
TO_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
CLIP_SPLIT = pre_tokenizers.Split(Regex(patterns.CLIP), "removed", invert=True)


def changed(name: str, **components: Any) -> Tokenizer:
    tokenizer = corpus.load_tokenizer(name)
    for component, value in components.items():
        setattr(tokenizer, component, value)
    # Before tokenizers 0.23, a normalizer that is set later does not reach the tokens that were added before.
    return Tokenizer.from_str(tokenizer.to_str())


def without_added_tokens(name: str) -> Tokenizer:
    state = json.loads(corpus.tokenizer_json(name))
    return Tokenizer.from_str(json.dumps({**state, "added_tokens": [], "post_processor": None}))


def reason_of(model: models.BPE) -> str:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    with pytest.raises(Unsupported) as raised:
        read_pipeline(tokenizer)
    return str(raised.value)


def test_the_scan_is_the_two_splits_one_after_the_other() -> None:
    """The fast scan against the obvious one: the pattern's matches, each divided by ByteLevel's pattern."""
    fast, _ = native_cores.core_and_reference("tiny_clip")
    steps = [("clip", "removed", True, False), ("gpt2", "isolated", False, False)]
    slow = native_cores.make_core(random_models.BYTES, [], refinements=steps)
    rng = random.Random(1)
    pieces = [
        *LITERALS,
        *(t[:-1] for t in LITERALS),
        *(t[1:] for t in LITERALS),
        "<|",
        "<",
        "|>",
        "'s",
        "'ll",
        "'",
        "''",
    ]
    pieces += [*"aA1 \n.!\u00e9\u4e2d\u00b2\u3000\u0301\u200b", "word", "  ", "123", "!!!", "'r", "'re", "\u017f"]
    for _ in range(20_000):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 60)))
        assert fast.pre_tokens(text).tolist() == slow.pre_tokens(text).tolist(), text


@pytest.mark.parametrize("with_tokens", [False, True])
def test_literals_at_every_place_of_a_window(with_tokens: bool) -> None:
    tokenizer = corpus.load_tokenizer("tiny_clip") if with_tokens else without_added_tokens("tiny_clip")
    core = route_of(tokenizer).core
    texts = [
        before * place + around + literal + after
        for literal in (
            *LITERALS,
            "<|startoftext|",
            "<|StartOfText|>",
            "<|ENDOFTEXT|>",
            "<|end",
            "<",
            "<|",
            "'s",
            "'ll",
        )
        for before in ("a", "b ", "!", "\u00e9", "<")
        for place in (*range(0, 5), *range(45, 70))
        for around, after in (("", ""), ("", "!!'s"), ("!", "x"), (" ", " " + "c" * 70), ("'", "'t <|endoftext|>" * 9))
    ]
    assert native_cores.different(core, tokenizer, texts) == []
    assert native_cores.different(core, tokenizer, texts[::3], threads=3, chunk_chars=11) == []
    if with_tokens:
        tokenizer.encode_special_tokens = True
        assert native_cores.different(core, tokenizer, texts, split_special_tokens=True) == []


def test_every_chunk_length_and_number_of_threads() -> None:
    tokenizer = without_added_tokens("tiny_clip")
    core = route_of(tokenizer).core
    text = "It's  <|startoftext|>!!'s \u00c9T\u00c9\n\t42nd '''ll<|endoftext|> \u4f60\u597d, world</w> '\u017f \u3000x"
    (expected,) = native_cores.expected(tokenizer, [text])
    for threads, chunk in itertools.product(range(1, 9), range(1, len(text.encode()) + 2)):
        assert core.encode(text, threads, chunk) == expected


@pytest.mark.parametrize("name", [name for name in ("tiny_clip", "clip_vit") if name in native_cores.ALL])
def test_hard_texts_of_several_seeds(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    for family in corpus.conformance_families():
        for seed in tier.pick((2,), (2, 3)):
            texts = corpus.conformance(family, seed)
            assert native_cores.different(core, reference, texts) == []
            assert native_cores.different(core, reference, texts[:60], threads=4, chunk_chars=701) == []


WHITE_SPACE = [" ", "  ", "\r\n", *"\t\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u202f\u3000"]


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("normalizer", ["own", "none", "longer"])
def test_offsets_beside_white_space(normalizer: str, trims: bool) -> None:
    """What is left out, at both ends and between pre-tokens, and bytes of characters that several ids share."""
    reference = corpus.load_tokenizer("tiny_clip")
    if normalizer == "none":
        reference = Tokenizer.from_str(json.dumps({**json.loads(reference.to_str()), "normalizer": None}))
    elif normalizer == "longer":
        reference.normalizer = normalizers.Sequence(
            [normalizers.Replace("a", "\u3000b\u3000"), normalizers.Replace(Regex(r"\s+"), "\u2003"), normalizers.NFC()]
        )
    reference.post_processor = processors.ByteLevel(trim_offsets=trims)
    native = route_of(reference)
    rng = random.Random(f"{normalizer} {trims}")
    pieces = [*WHITE_SPACE, *"a1\u00e9\u0130\u4e2d\U0001f44d\u0660", "the", "e\u0301", "'s", "?!", "<|endoftext|>"]
    for number in range(1200):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 12)))
        whole = reference.encode(text, add_special_tokens=False)
        ids, offsets = whole.ids, whole.offsets
        assert native.text_with_offsets(text, False, None, False, as_lists=True) == (ids, offsets), text
        if not trims:
            limit, keep_end = rng.randint(1, 6), number % 2 == 0
            part = slice(-limit, None) if keep_end else slice(limit)
            found = native.text_with_offsets(text, False, limit, keep_end, as_lists=True)
            assert found == (ids[part], offsets[part]), text


@pytest.mark.parametrize("name", [name for name in ("tiny_clip", "clip_vit") if name in native_cores.ALL])
def test_every_code_point(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    code_points = [chr(c) for c in range(0, 0x110000, tier.pick(5, 1)) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(code_points), 50_000):
        some = code_points[start : start + 50_000]
        texts = ["".join(f"x{c} {c}'s " for c in some[k : k + 500]) for k in range(0, len(some), 500)]
        assert native_cores.different(core, reference, texts) == []


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.ByteLevel(add_prefix_space=True),
        TO_BYTES,
        pre_tokenizers.Sequence([CLIP_SPLIT, TO_BYTES]),
        pre_tokenizers.Sequence([CLIP_SPLIT, pre_tokenizers.ByteLevel(False), pre_tokenizers.Digits(True)]),
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), CLIP_SPLIT, TO_BYTES]),
    ],
)
@pytest.mark.parametrize("name", ["tiny_clip", "tiny_qwen2", "tiny_cl100k"])
def test_suffix_and_scanner_work_without_each_other(name: str, pre_tokenizer: pre_tokenizers.PreTokenizer) -> None:
    """Words with a suffix by other splits, and CLIP's splits for words without one."""
    for normalizer in (None, normalizers.Lowercase()):
        tokenizer = changed(name, pre_tokenizer=pre_tokenizer, normalizer=normalizer)
        core = route_of(tokenizer).core
        for family in corpus.conformance_families():
            texts = [text[:2000] for text in corpus.conformance(family, 5)[: tier.pick(20, 50)]]
            assert native_cores.different(core, tokenizer, ["", " ", *texts]) == []
            assert native_cores.different(core, tokenizer, texts[:20], threads=2, chunk_chars=97) == []


def test_clip_and_byte_level_without_a_suffix() -> None:
    pre_tokenizer = pre_tokenizers.Sequence([CLIP_SPLIT, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer = changed("tiny_starcoder", pre_tokenizer=pre_tokenizer)
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    assert (pipeline.scanner, pipeline.refinements) == ("clip", ())
    core = route_of(tokenizer).core
    for family in corpus.conformance_families():
        assert native_cores.different(core, tokenizer, corpus.conformance(family, 6)) == []


def random_model_with_suffix(rng: random.Random) -> tuple[models.BPE, random_models.Model]:
    """A random model; merges of its are also made at the end of a word, at any rank, and some only there."""
    plain = random_models.random_model(rng)
    merges: list[tuple[str, str]] = []
    for left, right in plain.merges:
        kind = rng.randrange(4)
        if kind != 0:
            merges.append((left, right))
        if kind != 1:
            merges.insert(rng.randint(0, len(merges)), (left, right + SUFFIX))
    entries = [*STAND_INS, *(c + SUFFIX for c in STAND_INS)]
    parts = {part for merge in merges for part in (*merge, "".join(merge))} | set(plain.vocabulary)
    entries += sorted(parts - set(entries))
    rng.shuffle(entries)
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    return models.BPE(vocab=vocabulary, merges=merges, end_of_word_suffix=SUFFIX), plain


def test_random_models() -> None:
    for seed in range(tier.pick(150, 400)):
        rng = random.Random(seed)
        model, plain = random_model_with_suffix(rng)
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = TO_BYTES
        core = route_of(tokenizer).core
        for word in random_models.random_words(rng, plain, 60):
            ids = [token.id for token in model.tokenize(stand_ins(word.encode()))]
            assert core.encode_word(word.encode(), True) == ids, (seed, word)
            assert core.encode_word(word.encode(), False) == ids, (seed, word)
            assert core.encode(word) == ids, (seed, word)
            assert core.encode(word) == ids, "from the cache"


def byte_vocabulary(*more: str, suffix: str = SUFFIX) -> dict[str, int]:
    entries = [*STAND_INS, *(c + suffix for c in STAND_INS), *more]
    return {entry: number for number, entry in enumerate(dict.fromkeys(entries))}


@pytest.mark.parametrize("suffix", ["</w>", "\u2581", "ab", "Ġ</w>"])
def test_texts_that_hold_the_suffix(suffix: str) -> None:
    merges = [("c", "d"), ("c", "d" + suffix), ("x", "cd" + suffix)]
    vocabulary = byte_vocabulary("cd", "cd" + suffix, "xcd" + suffix, suffix=suffix)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, end_of_word_suffix=suffix))
    tokenizer.pre_tokenizer = TO_BYTES
    core = route_of(tokenizer).core
    texts = ["".join(t) for n in range(1, 5) for t in itertools.product(["c", "d", "x", "a", " ", suffix], repeat=n)]
    assert native_cores.different(core, tokenizer, texts) == []


@pytest.mark.parametrize(
    "merge",
    [
        ("a" + SUFFIX, "b"),  # goes on after a word's end
        ("a", SUFFIX),  # the suffix by itself
        ("a<", "/w>"),  # the suffix out of the text's own characters
        ("</w", ">"),
        (SUFFIX, "a"),
    ],
)
def test_merges_that_mistake_text_for_the_suffix_are_refused(merge: tuple[str, str]) -> None:
    vocabulary = byte_vocabulary(*merge, "".join(merge))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[merge], end_of_word_suffix=SUFFIX))
    tokenizer.pre_tokenizer = TO_BYTES
    explained = Encoder(tokenizer, Settings.read({}, threads=1)).explain()
    assert explained["route"] == "hf"
    assert explained["reason"].startswith("a merge takes text for the end-of-word suffix")


def test_models_that_are_not_supported_say_so() -> None:
    vocabulary = byte_vocabulary()
    del vocabulary["a" + SUFFIX], vocabulary["b"]
    one_less = {entry: number for entry, number in byte_vocabulary().items() if entry != "a" + SUFFIX}
    assert "'</w>' lacks 1 of the 486" in reason_of(models.BPE(one_less, [], end_of_word_suffix=SUFFIX))
    assert "lacks 2 of the 486" in reason_of(models.BPE(vocabulary, [], end_of_word_suffix=SUFFIX))
    assert "ignore_merges" in reason_of(
        models.BPE(byte_vocabulary(), [], end_of_word_suffix=SUFFIX, ignore_merges=True)
    )
    assert "continuing_subword_prefix '##'" in reason_of(
        models.BPE(byte_vocabulary(), [], end_of_word_suffix=SUFFIX, continuing_subword_prefix="##")
    )
    for wrong, changes in (
        ("lacks a byte with", {"vocabulary": {c: k for k, c in enumerate(STAND_INS)}}),
        ("merges are ignored", {"vocabulary": byte_vocabulary(), "ignore_merges": True}),
    ):
        with pytest.raises(ValueError, match=wrong):
            native_cores.make_core(**{"merges": [], "end_of_word_suffix": SUFFIX, **changes})
    for suffix in ("a", "\u0120"):
        with pytest.raises(ValueError, match="also a byte"):
            native_cores.make_core(byte_vocabulary(suffix=suffix), [], end_of_word_suffix=suffix)
    core = native_cores.make_core(byte_vocabulary(), [], end_of_word_suffix=SUFFIX)
    with pytest.raises(ValueError, match="no text holds"):
        core.encode_word(b"a\xfe", True)


@pytest.mark.parametrize("length", [63, 64, 65, 1000, 40_000, tier.pick(100_000, 300_000)])
def test_long_words(length: int) -> None:
    core, reference = native_cores.core_and_reference("tiny_clip")
    words = [
        "a" * length,
        "ab" * (length // 2),
        "\u4e2d" * (length // 3),
        "!" * length,
        "'" * length,
        "x " * (length // 2),
    ]
    texts = [before + word + after for word in words for before, after in (("", ""), ("a ", " b"), ("1", "1"))]
    assert native_cores.different(core, reference, texts) == []
    assert native_cores.different(core, reference, texts[::4], threads=3, chunk_chars=max(100, length // 7)) == []


def test_memory_of_a_long_word_is_given_back() -> None:
    core, reference = native_cores.core_and_reference("tiny_clip")
    text = "ab" * 4_000_000 + " end"
    ids = core.encode_array(text)
    assert ids[-1] == reference.encode("end", add_special_tokens=False).ids[0]
    assert core.encode("the end") == reference.encode("the end", add_special_tokens=False).ids


def test_the_encoder_takes_the_native_route() -> None:
    for name in (name for name in ("tiny_clip", "clip_vit") if name in native_cores.ALL):
        tokenizer = corpus.load_tokenizer(name)
        encoder = Encoder(tokenizer, Settings.read({}, threads=2))
        explained = encoder.explain()
        assert explained["route"] == "native"
        assert "</w>" in explained["pipeline"]["model"]
        text = "A  Photo of\na CAT\u2019s d\u00e9j\u00e0 vu <|endoftext|>"
        assert encoder.encode_list(text) == tokenizer.encode(text).ids
