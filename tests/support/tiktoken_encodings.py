"""Encodings of tiktoken without its network: made of tokenizers in tests/data and ../shared, or of random entries."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Iterable

import corpus
import tiktoken

from lopt_plugin.pipeline.split_patterns import CL100K, GPT2, KIMI, O200K, QWEN2, QWEN3_5, SEED, TEKKEN
from lopt_plugin.pipeline.tiktoken_encoding import CL100K_TIKTOKEN
from lopt_plugin.unicode_tables.byte_level import alphabet

# As tiktoken's own registry spells r50k_base, p50k_base and gpt2.
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
PATTERNS = {
    "o200k": O200K,
    "cl100k": CL100K,
    "cl100k_tiktoken": CL100K_TIKTOKEN,
    "qwen2": QWEN2,
    "qwen3_5": QWEN3_5,
    "seed": SEED,
    "tekken": TEKKEN,
    "kimi": KIMI,
    "gpt2": GPT2,
    "r50k": R50K,
}
# A tokenizer of tests/data whose entries go with the pattern.
TOKENIZERS = {
    "o200k": "tiny_o200k",
    "cl100k": "tiny_cl100k",
    "cl100k_tiktoken": "tiny_cl100k",
    "qwen2": "tiny_qwen2",
    "qwen3_5": "tiny_qwen3_5",
    "seed": "tiny_seed",
    "tekken": "tiny_tekken",
    "kimi": "tiny_kimi",
    "gpt2": "tiny_roberta",
    "r50k": "tiny_roberta",
}
SPECIAL_TOKENS = ("<|endoftext|>", "<|start|>", "<|end|>", "<|inst")
# They reach across the boundaries that patterns make, so that the ids of other pre-tokens are other ids.
ACROSS = (b"\n ", b" \n ", b"\n  ", b"\r\n", b"\n\n", b"  ", b"12", b"123", b"1234", b"a.", b".a", b"'sa", b"a'", b"aA")
ALL_BYTES = {bytes([byte]): byte for byte in range(256)}


@functools.cache
def encoding_of(pattern: str) -> tiktoken.Encoding:
    """An encoding with one of PATTERNS, and the entries of a small tokenizer and ACROSS."""
    return rebuilt(TOKENIZERS[pattern], PATTERNS[pattern], ACROSS, SPECIAL_TOKENS)


def rebuilt(
    tokenizer: str, pat_str: str, more: Iterable[bytes] = (), special: Iterable[str] | None = None
) -> tiktoken.Encoding:
    """An encoding whose entries and ids are those of a byte-level tokenizer, and more entries.

    Its special tokens are the tokenizer's added tokens; or, if given, these, with new ids.
    """
    parts = json.loads(corpus.tokenizer_json(tokenizer))
    byte_of = {character: byte for byte, character in enumerate(alphabet())}
    added = {token["content"]: token["id"] for token in parts["added_tokens"]}
    ranks = {
        bytes(byte_of[character] for character in name): number
        for name, number in parts["model"]["vocab"].items()
        if name not in added and set(name) <= byte_of.keys()
    }
    next_ranks = itertools.count(max(ranks.values()) + 1)
    ranks |= {entry: next(next_ranks) for entry in (*ALL_BYTES, *more) if entry not in ranks}
    last = max(*ranks.values(), *added.values())
    ids = added if special is None else {token: last + 1 + number for number, token in enumerate(special)}
    return tiktoken.Encoding(tokenizer, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=ids)


def random_encoding(seed: int) -> tiktoken.Encoding:
    """Entries over three letters in any order of ranks: many are made in no way, or in more ways than one."""
    rng = random.Random(seed)
    entries = {"".join(rng.choices("abc", k=rng.randint(2, 6))).encode() for _ in range(rng.randint(3, 40))}
    ranks = [*ALL_BYTES, *sorted(entries)]
    if seed % 2:
        rng.shuffle(ranks)
    return tiktoken.Encoding(
        f"random {seed}",
        pat_str=rng.choice(list(PATTERNS.values())),
        mergeable_ranks={entry: rank for rank, entry in enumerate(ranks)},
        special_tokens={"<|endoftext|>": 1000},
    )
