"""Unigram tokenizers for tests, and random ones: scores that tie or nearly do, unknown characters, every pipeline."""

from __future__ import annotations

import random
from typing import Any

import corpus
from random_sentencepiece import ALPHABETS, BYTE_TOKENS, METASPACES, SIGN
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

SMALL = ["unigram_bytes", "unigram_t5"]
LARGE = [name for name in ("t5_small",) if name in corpus.tokenizer_names()]

# Sums of these differ by their order only, or not at all.
SCORES = [-0.1, -0.2, -0.3, -0.7, -1.0, -2.0, -3.0, -2.7142077840697407, -10.0, 0.0, 1.5]
PRE_TOKENIZERS: list[Any] = [
    *METASPACES,
    *(
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme=scheme)])
        for scheme in ("always", "always", "never")
    ),
]
TOKENS = [
    AddedToken("<left>", lstrip=True, normalized=False),
    AddedToken("<right>", rstrip=True),
    AddedToken("ab", single_word=True, normalized=False),
    AddedToken("<s>", special=True, normalized=False),
]


def precompiled() -> Any:
    """The normalizer of unigram_t5, a new one."""
    return corpus.load_tokenizer("unigram_t5").normalizer


def random_tokenizer(rng: random.Random) -> Tokenizer:
    alphabet = rng.choice(ALPHABETS)
    characters = [*alphabet, SIGN]
    names = {rng.choice(characters): None for _ in range(rng.randint(1, len(characters)))}
    for _ in range(rng.randint(0, 30)):
        names["".join(rng.choices(characters, k=rng.randint(1, 6)))] = None
    names |= dict.fromkeys(BYTE_TOKENS if rng.random() < 0.3 else rng.sample(BYTE_TOKENS, 100))
    pieces = [("<unk>", rng.choice(SCORES)), *((name, rng.choice(SCORES)) for name in names)]
    unknown = 0 if rng.random() < 0.8 else rng.randrange(len(pieces))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=unknown, byte_fallback=rng.random() < 0.5))
    tokenizer.pre_tokenizer = rng.choice(PRE_TOKENIZERS)
    runs = normalizers.Sequence([normalizers.Strip(left=False), normalizers.Replace(Regex(" {2,}"), SIGN)])
    normalizer = rng.choice([None, None, runs, normalizers.NFKC(), normalizers.Lowercase(), precompiled])
    if normalizer is not None:
        tokenizer.normalizer = normalizer() if callable(normalizer) else normalizer
    if rng.random() < 0.5:
        asks_for_offset = normalizer is not None and getattr(tokenizer.pre_tokenizer, "prepend_scheme", "") == "first"
        tokens = [token for token in TOKENS if not (asks_for_offset and token.normalized)]  # else left to the reference
        tokenizer.add_tokens(rng.sample(tokens, min(3, len(tokens))))
    return tokenizer


def random_texts(rng: random.Random, tokenizer: Tokenizer, count: int) -> list[str]:
    names = [name.replace(SIGN, rng.choice([SIGN, " "])) for name in tokenizer.get_vocab()]
    names = [name for name in names if not name.startswith("<0x")]
    names += [token.content for token in TOKENS]
    units = [*names, " ", "  ", "\n", "\t", "\u3000", SIGN, "\u2603", "e\u0301", "\r\n"]
    return ["".join(rng.choices(units, k=rng.choice([1, 2, 5, 30]))) for _ in range(count)]
