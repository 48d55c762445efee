"""The tables of a pipeline that the kernels read, or the reason why they cannot do it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...pipeline import BytePairModel, Pipeline
from ...pipeline.normalizers import MapCharacters, NormalizationForm
from ...triton_kernels.classify.table import KindTable
from ...triton_kernels.lookup.table import EntryTable
from ...triton_kernels.merge.table import PairTable
from ...unicode_tables.byte_level import alphabet
from .device import GpuUnavailableError

# Split patterns that have a kernel. That of qwen3_5 is qwen2's, with marks for letters.
PATTERNS = ("gpt2", "qwen2", "qwen3_5", "cl100k", "o200k", "tekken", "deepseek_v3")


@dataclass(frozen=True)
class HostTables:
    """pattern: the name of the kernels' split pattern."""

    kinds: KindTable
    entries: EntryTable
    pairs: PairTable
    pattern: str


def check_supported(pipeline: Pipeline) -> None:
    """Raises GpuUnavailableError if the kernels cannot do this pipeline.

    Supports only normalizers that leave every part of a text unchanged if they leave the whole text unchanged: then
    checking the whole text suffices, whatever added tokens it has.
    """
    model = pipeline.model
    if not isinstance(model, BytePairModel):
        raise GpuUnavailableError(f"there are no kernels for a {type(model).__name__}")
    if model.dropped_bytes:
        raise GpuUnavailableError("the vocabulary lacks bytes, which are dropped from pre-tokens")
    if model.end_of_word_suffix:
        raise GpuUnavailableError("pre-tokens end in a suffix")
    if pipeline.scanner not in PATTERNS:
        raise GpuUnavailableError(f"there is no kernel for the split pattern {pipeline.scanner}")
    if pipeline.refinements or pipeline.metaspace is not None or pipeline.add_prefix_space:
        raise GpuUnavailableError("there are no kernels for further split steps, Metaspace and add_prefix_space")
    if not isinstance(pipeline.normalizer, tuple):
        raise GpuUnavailableError("there are no kernels for this normalizer")
    for step in pipeline.normalizer:
        if not isinstance(step, (NormalizationForm, MapCharacters)):
            raise GpuUnavailableError(f"there are no kernels for the normalizer {type(step).__name__}")


def host_tables(pipeline: Pipeline, core: Any) -> HostTables:
    """Tables of a supported pipeline, in some tenths of a second. core: the native core of the same pipeline.

    That it was made says that ids fit and that merges name entries. Raises ValueError for other characters than known.
    """
    from ...unicode_tables.load import character_classes
    from .character_kinds import kind_table

    model = pipeline.model
    assert isinstance(model, BytePairModel)
    vocabulary = model.vocabulary
    byte_ids = np.array([vocabulary.get(character, 0) for character in alphabet()], dtype=np.int32)
    merges = [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in model.merges]
    # All bytes of ASCII are among them, on which `triton_kernels.batch.buffers` relies: none is dropped.
    entries = EntryTable.of(dict(_entries(model, core)))
    marks_are_letters = pipeline.scanner == "qwen3_5"
    kinds = kind_table(character_classes(), marks_are_letters)
    pattern = "qwen2" if marks_are_letters else pipeline.scanner
    return HostTables(kinds, entries, PairTable.of(merges, byte_ids), pattern)


def _entries(model: BytePairModel, core: Any) -> Iterator[tuple[bytes, int]]:
    """The entries that a whole pre-token encodes to: all under ignore_merges, else those that BPE gives."""
    to_bytes = str.maketrans({character: chr(byte) for byte, character in enumerate(alphabet())})
    for name, number in model.vocabulary.items():
        try:
            data = name.translate(to_bytes).encode("latin-1")
        except UnicodeEncodeError:
            continue  # not in the byte-level alphabet: no text encodes to this
        if data and (model.ignore_merges or _encoded(core, data) == [number]):
            yield data, number


def _encoded(core: Any, data: bytes) -> list[int] | None:
    try:
        ids: list[int] = core.encode_word(data, True)
    except ValueError:  # a byte that no text contains
        return None
    return ids
