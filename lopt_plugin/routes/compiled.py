"""Writes compiled files: a pipeline's native core and the ids around a text, for programs without Python."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..pipeline import Pipeline
from ..pipeline.component_state import Unsupported
from ..unicode_tables.forms import form_rows
from .native_core import core_arguments, import_core

SIGNATURE = b"\x93LOPT\r\n\x1a"
FORMAT = 1  # as in native/compiled/file_header.hpp


class Values:
    """Writes numbers, bytes and texts in sequence, as FileReader in native/compiled/file_reader.hpp reads them."""

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, value: int) -> None:
        """Four bytes."""
        self.data += value.to_bytes(4, "little")

    def add(self, *values: int | str | bytes) -> None:
        """Numbers and flags; texts and bytes, preceded by their length."""
        for value in values:
            if isinstance(value, int):
                self.number(value)
            else:
                content = value.encode() if isinstance(value, str) else value
                self.number(len(content))
                self.data += content

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """The number of rows, followed by their values."""
        given = list(rows)
        self.number(len(given))
        for row in given:
            self.add(*row)


def compiled(pipeline: Pipeline, source: str) -> bytes:
    """The file of a pipeline; `source` is a line that says what it was compiled from. Raises Unsupported."""
    out = Values()
    out.add(import_core().CompiledTokenizer.version, source)
    around = pipeline.post_processor
    for ids in (around.prefix_ids, around.suffix_ids):
        out.add(b"".join(number.to_bytes(4, "little") for number in ids))
    kind, given = core_arguments(pipeline)
    out.add(kind)
    {"byte pair": _byte_pair, "unigram": _unigram, "word piece": _word_piece}[kind](out, given)
    return SIGNATURE + FORMAT.to_bytes(4, "little") + zlib.crc32(out.data).to_bytes(4, "little") + out.data


def _byte_pair(out: Values, given: dict[str, Any]) -> None:
    out.rows(given["vocabulary"].items())
    out.add(*(given[name] for name in ("merges", "ignore_merges", "add_prefix_space", "dropped_bytes")))
    out.add(given["end_of_word_suffix"])
    unknown = given["unknown_characters"]
    out.number(unknown is not None)
    if unknown is not None:
        token, fused, byte_fallback = unknown
        out.rows([] if token is None else [[token]])
        out.add(fused, byte_fallback)
    _normalizer(out, given)
    out.add(given["scanner"])
    out.rows(given["refinements"])
    out.data += given["byte_classes"]
    out.rows([] if given["blank_signs"] is None else [given["blank_signs"]])
    out.rows(given["added_tokens"])


def _unigram(out: Values, given: dict[str, Any]) -> None:
    out.rows([name] for name in given["names"])
    out.add(np.array(given["scores"], "<f8").tobytes(), given["unknown_id"], given["byte_fallback"])
    _normalizer(out, given)
    out.add(given["scanner"], given["white_space"], given["prepend_scheme"])
    out.rows(given["added_tokens"])


def _word_piece(out: Values, given: dict[str, Any]) -> None:
    out.rows(given["vocabulary"].items())
    out.add(given["unknown_id"], given["continuing_prefix"], given["max_characters"])
    out.add(*given["characters"])
    out.rows([] if given["text_characters"] is None else [given["text_characters"]])
    out.rows(given["added_tokens"])


def _normalizer(out: Values, given: dict[str, Any]) -> None:
    """The tables that steps use, and the steps, without the reference's functions."""
    out.add(given["class_pages"], given["class_cells"], given["compose_pairs"])
    out.rows([[given["form_pages"], given["form_cells"]]] if given["form_cells"] else [])
    out.number(len(given["normalizer"]))
    for kind, *values in given["normalizer"]:
        if kind == "reference":
            raise Unsupported("a step of its normalizer is always left to Hugging Face")
        out.add(kind)
        if kind == "form":
            form = form_rows(values[0])
            out.add(values[0])
            out.rows(form.decompositions)
            out.rows(form.ranks)
            out.rows(form.compositions)
        elif kind == "characters":
            out.rows(values[0])
        else:
            out.add(*(value for value in values if not callable(value)))
