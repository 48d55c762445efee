"""Random tokenizers: a model with any normalizer, pre-tokenizer and added tokens; and texts about what they look at."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import corpus
import native_cores
import random_models
import random_sentencepiece
import unigrams
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from lopt_plugin.pipeline.split_patterns import MATCHERS

WORD_PIECE = ["wordpiece_uncased", "wordpiece_added"]
NAMES = [*native_cores.SMALL, *WORD_PIECE, *unigrams.SMALL]
# Of each, a new one with other merges, or pieces, for every tokenizer.
RANDOM_NAMES = ["random_bytes", "random_characters", "random_unigram"]
# Those whose pre-tokenizer can be any that divides bytes, and those whose normalizer can be any.
BYTES = {*native_cores.BYTE_LEVEL, "random_bytes"} - {"tiny_clip"}
NORMALIZED = {*BYTES, "tiny_clip", *unigrams.SMALL, "random_unigram"}

# fmt: off
CONTENTS = [
    "a", "ab", "A", "aa", "<x>", "<", "|>", "--", "=", "'s", "1", "12", "_", "\u2603", "\u00e9", "e\u0301", "\u0301",
    "\u00c5", "\ufb01", "\u03a9", "\u4e2d", "\u2581", " ", "  ", " a", "a ", "\n", "\t", "a b 1 ! c - d = e",
    "\u00e9\u00e9", "\uac00\uac00",
]
UNITS = [
    "a", "A", "b", "ab", " a", "a ", " ", "  ", "\n", "\n ", "\t", "\r\n", "1", "12", "123", "'", "'s", "!", "-", "=",
    "<", "<|", "|>", "!\n", "e\u0301", "\u0301", "\u4e2d", "\u4e2d\u6587", "\u3002", "\u3042", "\uac00", "\u1100\u1161",
    "\u0928\u094d", "\u0e01\u0e49", "\U0001f600", "\u200d", "\u2581", "\u00a0", "\u00e9", "\u0130", "\u0416", "\ufb01",
    "\x00", "aA", "a1", "\u2603", "\u00c5", "_", "\u03a9", "the ", "ing", "\x01", "\u200b", "\u0345", "\u2167",
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
    normalizers.Strip,
    unigrams.precompiled,
    lambda: normalizers.Prepend("x y"),
    lambda: normalizers.Replace(Regex(" {2,}"), " "),
    lambda: normalizers.Replace(Regex(r"\s+"), " "),
    lambda: normalizers.Replace(Regex("\n+"), ""),
    lambda: normalizers.Replace("\u200b", ""),
    lambda: normalizers.Replace("ab", ""),
    lambda: normalizers.Replace("ab", " "),
    lambda: normalizers.Replace("x\u00e9", "e"),
]
BEHAVIORS = ["isolated", "isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]

RandomTokenizer: TypeAlias = tuple[Tokenizer, list[str]]


def load(name: str) -> Tokenizer:
    """A new tokenizer, which the caller may change."""
    made = corpus.load_tokenizer(name) if name in corpus.tokenizer_names() else small_pipelines()[name]
    return Tokenizer.from_str(made.to_str())


def tokenizer(rng: random.Random, name: str) -> RandomTokenizer:
    """A tokenizer with other components and more added tokens, which may begin, end or contain each other; and texts.

    The texts are the contents of its added tokens and, for a random model, what it knows.
    """
    made, units = _model(rng, name)
    if name in NORMALIZED and rng.random() < 0.5:
        made.normalizer = normalizers.Sequence([rng.choice(NORMALIZERS)() for _ in range(rng.randint(1, 3))])
    if name in WORD_PIECE and rng.random() < 0.5:
        flags = {flag: rng.random() < 0.5 for flag in ("clean_text", "handle_chinese_chars", "lowercase")}
        made.normalizer = normalizers.BertNormalizer(strip_accents=rng.choice([None, True, False]), **flags)
    if name in BYTES and rng.random() < 0.5:
        made.pre_tokenizer = _byte_pre_tokenizer(rng)
    for _ in range(rng.randint(0, 4)):
        flags = {flag: rng.random() < 0.25 for flag in ("lstrip", "rstrip", "single_word", "special")}
        content = rng.choice(CONTENTS) * rng.choice([1, 1, 1, 2, 3])
        made.add_tokens([AddedToken(content, normalized=rng.random() < 0.6, **flags)])
    return made, [*(token.content for token in made.get_added_tokens_decoder().values()), *units]


def text(rng: random.Random, units: list[str], most: int = 4_000) -> str:
    """A text of at most so many characters: random ones, and long runs of units, of UNITS and of REMOVED."""
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
            unit = rng.choice(units)
            begin, rest = unit[: rng.randint(1, len(unit))], rng.choice(REMOVED) * rng.choice([1, 10, 600])
            parts.append(rng.choice([begin, unit, unit * 30, begin + rest + unit[len(begin) :]]))
    return "".join(parts)[:most]


def _model(rng: random.Random, name: str) -> RandomTokenizer:
    if name == "random_bytes":
        model = random_models.random_model(rng)
        return model.reference(rng.random() < 0.2), [*model.characters]
    if name == "random_characters":
        made = random_sentencepiece.random_tokenizer(rng)
        return made.tokenizer, made.pieces
    if name == "random_unigram":
        unigram = unigrams.random_tokenizer(rng)
        return unigram, [piece.replace("\u2581", " ") for piece in unigram.get_vocab() if not piece.startswith("<0x")]
    return load(name), []


def _byte_pre_tokenizer(rng: random.Random) -> Any:
    """Split steps, and among them ByteLevel."""
    steps = [_split(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    place = rng.choice([len(steps), len(steps), rng.randint(0, len(steps))])
    adds_space = place == 0 and rng.random() < 0.4
    steps.insert(place, pre_tokenizers.ByteLevel(add_prefix_space=adds_space, use_regex=rng.random() < 0.4))
    return pre_tokenizers.Sequence(steps)


def _split(rng: random.Random) -> Any:
    kind, behavior = rng.random(), rng.choice(BEHAVIORS)
    if kind < 0.2:
        return pre_tokenizers.Digits(individual_digits=rng.random() < 0.5)
    if kind < 0.4:
        return pre_tokenizers.Punctuation(behavior)
    return pre_tokenizers.Split(Regex(rng.choice([*MATCHERS])), behavior, invert=rng.random() < 0.3)
