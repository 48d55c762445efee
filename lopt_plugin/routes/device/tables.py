"""A pipeline as the tables that the kernels read, or the reason why they cannot do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...character_classes import alphabet
from ...pipeline import BytePairModel, Pipeline
from ...pipeline.merges import Merge
from ...pipeline.normalizer_steps import MapCharacters, NormalizationForm
from ...triton_kernels.classify.table import KindTable
from ...triton_kernels.lookup.table import EntryTable
from ...triton_kernels.merge.table import PairTable

# Split patterns that have a kernel.
PATTERNS = ("gpt2", "qwen2", "cl100k", "o200k", "tekken", "deepseek_v3")


@dataclass(frozen=True)
class HostTables:
    """pattern: the name of the split pattern."""

    kinds: KindTable
    entries: EntryTable
    pairs: PairTable
    pattern: str


def unsupported(pipeline: Pipeline) -> str | None:
    """Why the kernels cannot do this pipeline; None if they can.

    Of normalizers, those are known that leave every part of a text alone that they leave alone as a whole: then it is
    enough to ask about the whole text, whatever added tokens it holds.
    """
    model = pipeline.model
    if not isinstance(model, BytePairModel):
        return f"there are no kernels for a {type(model).__name__}"
    if model.dropped_bytes:
        return "the vocabulary lacks bytes, which are dropped from words"
    if model.end_of_word_suffix:
        return "words end in a suffix"
    if pipeline.scanner not in PATTERNS:
        return f"there is no kernel for the split pattern {pipeline.scanner}"
    if pipeline.refinements or pipeline.metaspace is not None or pipeline.add_prefix_space:
        return "there are no kernels for further split steps, Metaspace and add_prefix_space"
    if not isinstance(pipeline.normalizer, tuple):
        return "there are no kernels for this normalizer"
    for step in pipeline.normalizer:
        if not isinstance(step, (NormalizationForm, MapCharacters)):
            return f"there are no kernels for the normalizer {type(step).__name__}"
    return None


def host_tables(pipeline: Pipeline, core: Any) -> HostTables:
    """Tables of a supported pipeline; some tenths of a second. `core`: the native core of the same pipeline.

    Raises ValueError, with the reason, for a vocabulary that is not what it should be.
    """
    from ...character_classes import load
    from ...character_classes.kinds import kind_table

    model = pipeline.model
    assert isinstance(model, BytePairModel)
    vocabulary = model.vocabulary
    if min(vocabulary.values(), default=0) < 0 or max(vocabulary.values(), default=0) >= 1 << 30:
        raise ValueError("an id is negative or too large")
    byte_ids = np.array([vocabulary.get(character, 0) for character in alphabet()], dtype=np.int32)
    try:
        merges = [
            (vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in _pairs(model.merges)
        ]
    except KeyError as error:
        raise ValueError(f"a merge names {error}, which is no entry") from error
    entries = dict(_entries(model, core))
    if not all(bytes([byte]) in entries for byte in range(0x80)):
        raise ValueError("a character of one byte is no entry")  # what `triton_kernels.batch` counts on
    return HostTables(kind_table(load()), EntryTable.of(entries), PairTable.of(merges, byte_ids), pipeline.scanner)


def _pairs(merges: Sequence[Merge]) -> Iterator[tuple[str, str]]:
    for merge in merges:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield left, right


def _entries(model: BytePairModel, core: Any) -> Iterator[tuple[bytes, int]]:
    """The entries that become themselves where they are a whole word: all under ignore_merges, else what BPE says."""
    to_bytes = str.maketrans({character: chr(byte) for byte, character in enumerate(alphabet())})
    for name, number in model.vocabulary.items():
        try:
            data = name.translate(to_bytes).encode("latin-1")
        except UnicodeEncodeError:
            continue  # not in the byte-level alphabet: no text becomes this
        if data and (model.ignore_merges or _becomes(core, data) == [number]):
            yield data, number


def _becomes(core: Any, data: bytes) -> list[int] | None:
    try:
        ids: list[int] = core.encode_word(data, True)
    except ValueError:  # a byte that no text holds
        return None
    return ids
