"""The NumPy references of all kernels in a row against Hugging Face's ids: no GPU, torch or Triton is needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise

import corpus
import gpu_texts
import native_cores
import numpy as np
import pytest
from tokenizers import Tokenizer

from lopt_plugin.pipeline import BytePairModel, Pipeline, read_pipeline
from lopt_plugin.routes.device import tables
from lopt_plugin.routes.device.stretches import AddedTokenFinder
from lopt_plugin.triton_kernels.boundaries.naive import boundaries
from lopt_plugin.triton_kernels.classify.naive import classify
from lopt_plugin.triton_kernels.compact.naive import compact
from lopt_plugin.triton_kernels.emit.naive import emit
from lopt_plugin.triton_kernels.lookup.naive import MISSED, SEPARATOR, lookup
from lopt_plugin.triton_kernels.merge.naive import entries_of, merge

SMALL = list(gpu_texts.PATTERNS.values())
LARGE = [
    name
    for name in ("gpt2", "llama3", "gpt4o", "gpt_oss", "deepseek_v3", "mistral_tekken")
    if name in corpus.tokenizer_names()
]
PIECE = 2_000  # characters; a piece that the kernels leave to the host is left out


@functools.lru_cache(maxsize=1)
def converter(name: str) -> tuple[Callable[[list[str]], list[list[int]]], Callable[[str], bool], Tokenizer]:
    """Texts to rows of ids by the references; whether a text is for them; and the tokenizer."""
    core, tokenizer = native_cores.core_and_reference(name)
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline.model, BytePairModel)
    entries = dict(tables._entries(pipeline.model, core))
    host = tables.host_tables(pipeline, core)
    pairs = entries_of(host.pairs)

    @functools.cache
    def merged(word: bytes) -> list[int]:
        return merge(host.pairs.byte_ids[list(word)].tolist(), pairs)[0]

    def convert(texts: list[str]) -> list[list[int]]:
        text = gpu_texts.pack(texts)
        starts = compact(boundaries(text, classify(text, host.kinds), host.pattern))
        data = text.tobytes()
        word_ids = lookup(data, starts, entries)
        words = [
            merged(data[begin:end]) if word_id == MISSED else [] if word_id == SEPARATOR else [int(word_id)]
            for word_id, (begin, end) in zip(word_ids, pairwise(starts), strict=True)
        ]
        ids, row_offsets = emit(words, (np.flatnonzero(word_ids == SEPARATOR) + 1).tolist())
        return [ids[begin:end].tolist() for begin, end in pairwise(row_offsets)]

    finder = AddedTokenFinder(pipeline.added_tokens)

    def takes(text: str) -> bool:
        return finder.takes(text) and len(finder.stretches(text, False)) == 1 and bool(core.normalize(text) == text)

    return convert, takes, tokenizer


def compare(name: str, texts: list[str]) -> int:
    """The characters of those texts that were compared."""
    convert, takes, tokenizer = converter(name)
    texts = [text for text in texts if takes(text)]
    for batch in gpu_texts.batches(texts, 100_000):
        assert convert(batch) == native_cores.expected(tokenizer, batch)
    return sum(map(len, texts))


def documents(kind: str, characters: int) -> list[str]:
    texts = corpus.texts(kind, characters)
    return [text[begin : begin + PIECE] for text in texts for begin in range(0, len(text), PIECE)]


@pytest.mark.parametrize("name", SMALL)
def test_documents_and_hard_texts(name: str) -> None:
    texts = [text for kind in corpus.corpora() for text in documents(kind, 4000)]
    assert compare(name, texts) > sum(map(len, texts)) // 2
    hard = (text[:150] for family in corpus.conformance_families() for text in corpus.conformance(family))
    assert compare(name, list(hard))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_more_documents(name: str) -> None:
    """About half a minute in all."""
    texts = [text for kind in corpus.corpora() for text in documents(kind, 60_000)]
    assert compare(name, texts) > sum(map(len, texts)) // 2
