"""Batches for the GPU kernels, and what the reference library makes of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

import corpus
import numpy as np
import numpy.typing as npt
from tokenizers import pre_tokenizers

from lopt_plugin.routes.gpu.character_kinds import kind_table
from lopt_plugin.triton_kernels.classify.table import KindTable
from lopt_plugin.unicode_tables import load

Bytes = npt.NDArray[np.uint8]

# A small tokenizer for each split pattern.
PATTERNS = {
    "gpt2": "roberta_base",
    "qwen2": "qwen3",
    "cl100k": "tiny_cl100k",
    "o200k": "tiny_o200k",
    "tekken": "tiny_tekken",
    "deepseek_v3": "tiny_deepseek_v3",
}

# What must not matter is where a word of 64 bytes, or a tile, ends.
AT_SEAMS = [
    "it's we'll I'VE x'ſ 's's's a'll'd'm! we'lla'sB !'ſa x'ſa",
    "1234567 \u00b2\u00b3\u0664\u0665\u0666 1a12b123c",
    "  a \t b\n \n  c \r\n\r\n\td  ",
    "!!\n\n x?\r\n/\n/a -//\n//\u0301\n//\u0301",
    "中文、日本語カナ\u3099テ1゛\u3097\u3098x",
    "aʰBcʰʰDE ʰA\u0301B aB\u0301ÉÉa",
    "(a.b)_c!d é!é !\u0301a !!\u0301a\x00\x01b \x00",
    "😀👍🏽é\U0001d538\U0001d7d8\U0001d7d9\U0001d7da\U0001d7db",
]


@functools.cache
def table() -> KindTable:
    return kind_table(load.character_classes())


def pack(texts: Iterable[str]) -> Bytes:
    """UTF-8 of all texts, a byte 0xFF after each."""
    return np.frombuffer(b"".join(text.encode() + b"\xff" for text in texts), dtype=np.uint8)


def at_each_place(snippet: str, filling: str = "x", word: int = 64) -> list[str]:
    """Texts that end in the snippet, which begins once at each place of a word where `pack` has them from the start."""
    texts: list[str] = []
    size = 0
    for place in range(word):
        texts.append(filling * ((place - size) % word) + snippet)
        size += len(texts[-1].encode()) + 1
    return texts


@functools.cache
def pre_tokenizer(tokenizer: str) -> pre_tokenizers.PreTokenizer:
    return corpus.load_tokenizer(tokenizer).pre_tokenizer


def reference_starts(tokenizer: str, texts: Iterable[str]) -> Bytes:
    """`starts` of `pack(texts)` as the reference library sees them; its tokenizer ends in ByteLevel."""
    starts: list[int] = []
    offset = 0
    for text in texts:
        # Stand-in characters are one a byte.
        lengths = [len(piece) for piece, _ in pre_tokenizer(tokenizer).pre_tokenize_str(text)]
        starts += itertools.accumulate(lengths, initial=offset)
        offset = starts[-1] + 1
    flags = np.zeros(offset, dtype=np.uint8)
    flags[starts] = 1
    return flags


def batches(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """The texts in lists of about `size` characters."""
    batch: list[str] = []
    count = 0
    for text in texts:
        batch.append(text)
        count += len(text) + 1
        if count >= size:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch
