"""Writes compiled files: a pipeline's native core and the ids around a text, for programs without Python."""

from __future__ import annotations

import zlib
from typing import Any

from ..pipeline import Pipeline
from ..pipeline.component_state import Unsupported
from ..pipeline.normalizers import ByReference
from ..unicode_tables.forms import form_rows
from .core_values import CoreValues, describe
from .native_core import import_core

SIGNATURE = b"\x93LOPT\r\n\x1a"
FORMAT = 1  # as in native/compiled/file_header.hpp


class Values(CoreValues):
    """Writes numbers, bytes and texts in sequence, as FileReader in native/compiled/file_reader.hpp reads them."""

    def __init__(self) -> None:
        self.data = bytearray()

    def begin(self, kind: str) -> None:
        self.add(kind)

    def add(self, *values: int | str | bytes) -> None:
        """Numbers and flags, of four bytes; texts and bytes, preceded by their length."""
        for value in values:
            if isinstance(value, int):
                self.data += value.to_bytes(4, "little")
            else:
                content = value.encode() if isinstance(value, str) else value
                self.add(len(content))
                self.data += content

    def fixed(self, data: bytes) -> None:
        self.data += data

    def vocabulary(self, vocabulary: Any) -> None:
        self.rows(vocabulary.items())

    def function(self, function: Any) -> None:
        """Nothing: a program without Python has no reference to ask."""

    def form(self, name: str, normalize: Any, align: Any = None) -> None:
        """The tables of the form instead of the functions."""
        self.add(name)
        for rows in form_rows(name):
            self.rows(rows)


def compiled(pipeline: Pipeline, source: str) -> bytes:
    """The file of a pipeline; `source` is a line that says what it was compiled from. Raises Unsupported."""
    out = Values()
    out.add(import_core().CompiledTokenizer.version, source)
    around = pipeline.post_processor
    for ids in (around.prefix_ids, around.suffix_ids):
        out.add(b"".join(number.to_bytes(4, "little") for number in ids))
    if isinstance(pipeline.normalizer, tuple) and any(isinstance(step, ByReference) for step in pipeline.normalizer):
        raise Unsupported("a step of its normalizer is always left to Hugging Face")
    describe(out, pipeline)
    return SIGNATURE + FORMAT.to_bytes(4, "little") + zlib.crc32(out.data).to_bytes(4, "little") + out.data
