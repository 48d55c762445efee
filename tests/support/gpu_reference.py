"""The NumPy references of all GPU kernels in a row, as the route calls the kernels; and its comparison with HF's ids.

python tests/support/gpu_reference.py [--tokenizers gpt2,llama3] [--corpora code,zh] [--characters 1000000]

Compares whole corpora and all hard texts and prints how much was compared; the exit code is 1 where ids differ.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import corpus
import gpu_texts
import native_cores
import numpy as np
from gpu_layout import AddedTokenFinder, lay_out
from tokenizers import Tokenizer

from lopt_plugin.pipeline import BytePairModel, Pipeline, read_pipeline
from lopt_plugin.routes.gpu import tables
from lopt_plugin.triton_kernels.classify.naive import classify
from lopt_plugin.triton_kernels.common.word_ids import MISSED, SEPARATOR
from lopt_plugin.triton_kernels.compact.naive import compact
from lopt_plugin.triton_kernels.emit.naive import emit
from lopt_plugin.triton_kernels.lookup.naive import lookup
from lopt_plugin.triton_kernels.merge.naive import entries_of, merge
from lopt_plugin.triton_kernels.pretokenize.naive import boundaries

FAMILIES = ("gpt2", "qwen3", "llama3", "gpt_oss", "gpt4o", "deepseek_v3", "mistral_tekken")
BATCH = 200_000  # characters
# Words whose merges are remembered: the reference takes them one by one, in Python.
REMEMBERED = 1 << 18


class Converter(NamedTuple):
    """convert: texts to rows of ids, by the references. takes: whether the route gives a text to the kernels."""

    convert: Callable[[list[str]], list[list[int]]]
    takes: Callable[[str], bool]
    tokenizer: Tokenizer


class Compared(NamedTuple):
    """What was compared, and the texts, at most five, whose ids differ."""

    texts: int
    characters: int
    ids: int
    different: list[str]


@functools.lru_cache(maxsize=1)
def converter(name: str) -> Converter:
    core, tokenizer = native_cores.core_and_reference(name)
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline.model, BytePairModel)
    entries = dict(tables._entries(pipeline.model, core))
    host = tables.host_tables(pipeline, core)
    pairs = entries_of(host.pairs)
    finder = AddedTokenFinder(pipeline.added_tokens)

    @functools.lru_cache(maxsize=REMEMBERED)
    def merged(word: bytes) -> list[int]:
        return merge(host.pairs.byte_ids[list(word)].tolist(), pairs)[0]

    def convert(texts: list[str]) -> list[list[int]]:
        layout = lay_out((finder.stretches(text, False) for text in texts), (), ())
        text = gpu_texts.pack(layout.pieces)
        starts = compact(boundaries(text, classify(text, host.kinds), host.pattern))
        data = text.tobytes()
        word_ids = lookup(data, starts, entries)
        separators = np.flatnonzero(word_ids == SEPARATOR)
        word_ids[separators] = layout.token_ids
        words = [
            merged(data[begin:end]) if word_id == MISSED else [] if word_id == SEPARATOR else [int(word_id)]
            for word_id, (begin, end) in zip(word_ids.tolist(), pairwise(starts.tolist()), strict=True)
        ]
        ids, row_offsets = emit(words, (separators[layout.row_ends] + 1).tolist())
        flat = ids.tolist()
        return [flat[begin:end] for begin, end in pairwise(row_offsets.tolist())]

    def takes(text: str) -> bool:
        return finder.takes(text) and bool(core.normalize(text) == text)

    return Converter(convert, takes, tokenizer)


def compare(name: str, texts: Iterable[str], batch: int = BATCH) -> Compared:
    """The references' ids and HF's of all texts that the route gives to the kernels."""
    convert, takes, tokenizer = converter(name)
    count = characters = ids = 0
    different: list[str] = []
    for taken in gpu_texts.batches(filter(takes, texts), batch):
        found, expected = convert(taken), native_cores.expected(tokenizer, taken)
        different += [text for text, one, other in zip(taken, found, expected, strict=True) if one != other]
        count += len(taken)
        characters += sum(map(len, taken))
        ids += sum(map(len, expected))
        if len(different) >= 5:
            break
    return Compared(count, characters, ids, different[:5])


def documents(kind: str, characters: int, piece: int) -> list[str]:
    """Documents of a corpus in pieces, so that little is lost with what the kernels leave to the host."""
    texts = corpus.texts(kind, characters)
    return [text[begin : begin + piece] for text in texts for begin in range(0, len(text), piece)]


def hard(name: str, seeds: Iterable[int], longest: int) -> Iterable[str]:
    """Hard texts of every family, and some with the tokenizer's added tokens."""
    contents = [token.content for token in corpus.load_tokenizer(name).get_added_tokens_decoder().values()]
    for seed in seeds:
        for family in corpus.conformance_families():
            for number, text in enumerate(corpus.conformance(family, seed)):
                yield text[:longest]
                if contents and number % 4 == 0:
                    yield text[: longest // 2] + contents[number % len(contents)] + text[longest // 2 : longest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default=",".join(FAMILIES))
    parser.add_argument("--corpora", default=",".join(corpus.corpora()))
    parser.add_argument("--characters", type=int, default=1 << 40, help="of each corpus, at most")
    parser.add_argument("--seeds", type=int, default=1, help="of the hard texts")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.tokenizers.split(","):
        texts = {kind: documents(kind, arguments.characters, 10_000) for kind in arguments.corpora.split(",") if kind}
        texts["hard texts"] = list(hard(name, range(arguments.seeds), 5_000))
        for kind, of_kind in texts.items():
            begin = time.perf_counter()
            found = compare(name, of_kind)
            failed |= bool(found.different)
            print(
                f"{name:15} {kind:12} {found.texts:7,} of {len(of_kind):7,} texts, {found.characters:11,} characters, "
                f"{found.ids:11,} ids, {len(found.different)} different, {time.perf_counter() - begin:.0f} s",
                *map(repr, (text[:200] for text in found.different)),
                flush=True,
            )
    sys.exit(failed)


if __name__ == "__main__":
    main()
