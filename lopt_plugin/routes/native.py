"""The native core: the whole pipeline in C++, long texts in chunks on several threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from tokenizers.normalizers import NFC

from ..pipeline import Pipeline
from ..settings import Settings
from . import CannotEncode, Ids, RowOffsets


class NativeUnavailable(Exception):
    """The native route cannot be had for this tokenizer or on this machine; the message says why."""


class NativeRoute:
    """Ids of one Pipeline. Immutable, so it is shared by copies of a tokenizer and by threads.

    `previous` is a route for an earlier state of the same tokenizer: its core is taken over where only the
    post-processor differs. Raises NativeUnavailable.
    """

    name = "native"

    def __init__(self, pipeline: Pipeline, settings: Settings, previous: NativeRoute | None = None) -> None:
        self.pipeline = pipeline
        self.settings = settings
        self._core = previous._core_for(pipeline) if previous is not None else None
        if self._core is None:
            self._core = _build_core(pipeline)
        # Bound once: looking the method up costs as much as the shortest texts.
        self._encode = self._core.encode
        self._lone_surrogate = _lone_surrogate()
        self._prefix = list(pipeline.post_processor.prefix_ids)
        self._suffix = list(pipeline.post_processor.suffix_ids)
        self._parallel_min_chars = settings.parallel_min_chars if settings.threads > 1 else None
        self.special_tokens_added = len(self._prefix) + len(self._suffix)
        self.token_type_ids_are_zero = pipeline.post_processor.token_type_ids_are_zero

    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        return self.encode_limited(text, add_special_tokens, split_special_tokens, None, False)

    def encode_limited(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> list[int]:
        """`encode_list` of which at most `limit` ids are kept, special tokens included; the text's end if `keep_end`.

        `limit` must be more than `special_tokens_added`. Raises CannotEncode for a lone surrogate.
        """
        try:
            if self._parallel_min_chars is None or len(text) < self._parallel_min_chars:
                ids: list[int] = self._encode(text, 1, 0, split_special_tokens)
            else:
                ids = self._encode(text, self.settings.threads, self.settings.chunk_chars, split_special_tokens)
        except self._lone_surrogate as error:
            raise CannotEncode("lone surrogate") from error
        if limit is not None:
            kept = limit - self.special_tokens_added if add_special_tokens else limit
            if len(ids) > kept:
                del ids[: len(ids) - kept] if keep_end else ids[kept:]
        if add_special_tokens:
            if self._prefix:
                ids[:0] = self._prefix
            if self._suffix:
                ids += self._suffix
        return ids

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Ids:
        threads, chunk_chars = self._threads_and_chunk(len(text))
        try:
            ids: Ids = self._core.encode_array(text, threads, chunk_chars, split_special_tokens)
        except self._lone_surrogate as error:
            raise CannotEncode("lone surrogate") from error
        if add_special_tokens and self.special_tokens_added:
            return np.concatenate([np.array(self._prefix, np.int32), ids, np.array(self._suffix, np.int32)])
        return ids

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Ids, RowOffsets]:
        threads, _ = self._threads_and_chunk(sum(map(len, texts)))
        try:
            ids, row_offsets = self._core.encode_batch(list(texts), threads, split_special_tokens)
        except self._lone_surrogate as error:
            raise CannotEncode("lone surrogate") from error
        if add_special_tokens and self.special_tokens_added:
            return self._with_special_tokens(ids, row_offsets)
        return ids, row_offsets

    def info(self) -> dict[str, Any]:
        return dict(self._core.info())

    def chunks(self, chars: int) -> int | None:
        """Into how many chunks a text of that length is cut; None where the core chooses their length itself."""
        threads, chunk_chars = self._threads_and_chunk(chars)
        if threads == 1:
            return 1
        return None if chunk_chars == 0 else max(1, -(-chars // chunk_chars))

    def _threads_and_chunk(self, chars: int) -> tuple[int, int]:
        if self._parallel_min_chars is None or chars < self._parallel_min_chars:
            return 1, 0
        return self.settings.threads, self.settings.chunk_chars

    def _with_special_tokens(self, ids: Ids, row_offsets: RowOffsets) -> tuple[Ids, RowOffsets]:
        rows = len(row_offsets) - 1
        before, after = len(self._prefix), len(self._suffix)
        shifted = row_offsets + np.arange(rows + 1, dtype=np.int64) * (before + after)
        result = np.empty(int(shifted[-1]), dtype=np.int32)
        is_text = np.ones(len(result), dtype=bool)
        for k, token in enumerate(self._prefix):
            result[shifted[:-1] + k] = token
            is_text[shifted[:-1] + k] = False
        for k, token in enumerate(self._suffix):
            result[shifted[1:] - after + k] = token
            is_text[shifted[1:] - after + k] = False
        result[is_text] = ids
        return result, shifted

    def _core_for(self, pipeline: Pipeline) -> Any:
        same = dataclasses.replace(pipeline, post_processor=self.pipeline.post_processor) == self.pipeline
        return self._core if same else None


def _build_core(pipeline: Pipeline) -> Any:
    try:
        from ..native import _core
    except ImportError as error:
        raise NativeUnavailable(f"the native core is not installed: {error}") from error
    from .. import character_classes

    classes = character_classes.load()
    model = pipeline.model
    try:
        return _core.Core(
            vocabulary=model.vocabulary,
            merges=model.merges,
            ignore_merges=model.ignore_merges,
            class_pages=classes.pages.tobytes(),
            class_cells=classes.cells.tobytes(),
            compose_pairs=classes.compose_pairs.astype("<u4").tobytes(),
            byte_classes=_byte_classes(classes),
            scanner=pipeline.scanner,
            refinements=[(r.matcher, r.behavior, r.invert, r.after_byte_level) for r in pipeline.refinements],
            add_prefix_space=pipeline.add_prefix_space,
            normalize=NFC().normalize_str if pipeline.normalizer == "nfc" else None,
            added_tokens=[
                (t.content, t.id, t.single_word, t.lstrip, t.rstrip, t.normalized, t.special)
                for t in pipeline.added_tokens
            ],
        )
    except ValueError as error:
        raise NativeUnavailable(str(error)) from error


def _lone_surrogate() -> type[Exception]:
    from ..native import _core

    error: type[Exception] = _core.LoneSurrogate
    return error


HF_NUMERIC = 1 << 10
HF_PUNCTUATION = 1 << 9


def _byte_classes(classes: Any) -> bytes:
    """For each byte: bit 0 and 1 say whether its stand-in in the byte-level alphabet is HF numeric, HF punctuation."""
    result = bytearray(256)
    for byte, stand_in in enumerate(_byte_level_alphabet()):
        bits = int(classes.cells[int(classes.pages[stand_in >> 7]) * 128 + (stand_in & 127)])
        result[byte] = (1 if bits & HF_NUMERIC else 0) | (2 if bits & HF_PUNCTUATION else 0)
    return bytes(result)


def _byte_level_alphabet() -> list[int]:
    """GPT-2's code point for each byte: printable Latin-1 stands for itself, the rest follow from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(0x100, 0x200))
    return [byte if byte in printable else next(others) for byte in range(256)]
