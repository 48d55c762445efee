"""Compares what an accelerated tokenizer gives with Hugging Face's, text by text, by every way that ids come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from .texts import Sample

_CONTEXT_CHARS = 40
_CONTEXT_TOKENS = 3


@dataclass(frozen=True)
class Difference:
    """The first place where something differs.

    way     the call that differs
    index   of the token
    text    the text around it, with the token's own part between «»
    """

    origin: str
    way: str
    index: int
    text: str
    expected_ids: list[int]
    found_ids: list[int]
    expected_tokens: list[str]
    found_tokens: list[str]
    detail: str = ""


@dataclass
class Counts:
    """What was compared. `size`: bytes of UTF-8, `tokens`: those of Hugging Face, each text once."""

    texts: int = 0
    size: int = 0
    tokens: int = 0
    comparisons: int = 0
    offsets: int = 0
    different: int = 0
    first: Difference | None = None


class Comparison:
    """`chunked` is the same tokenizer with short chunks, None to leave that out."""

    def __init__(self, original: Any, accelerated: Any, chunked: Any | None, offsets: bool) -> None:
        self.original = original
        self.accelerated = accelerated
        self.chunked = chunked
        self.offsets = offsets
        self.counts = Counts()

    def compare(self, samples: Sequence[Sample]) -> None:
        """Texts together: each by itself, and all in one batch."""
        expected = [self._text(sample) for sample in samples]
        batch = self.accelerated.lopt.encode_batch_ids([sample.text for sample in samples])
        for row, (sample, ids) in enumerate(zip(samples, expected, strict=True)):
            self._ids(sample, "encode_batch_ids", ids, batch.row(row).tolist())

    def _text(self, sample: Sample) -> list[int]:
        text, counts = sample.text, self.counts
        counts.texts += 1
        counts.size += len(text.encode("utf-8"))
        expected = self.original(text, return_offsets_mapping=self.offsets)
        ids: list[int] = expected["input_ids"]
        counts.tokens += len(ids)
        self._ids(sample, 'tokenizer(text)["input_ids"]', ids, self.accelerated(text)["input_ids"])
        self._ids(sample, "encode_ids", ids, self.accelerated.lopt.encode_ids(text).tolist())
        if self.chunked is not None:
            self._ids(sample, "encode_ids in short chunks", ids, self.chunked.lopt.encode_ids(text).tolist())
        if self.offsets:
            found = self.accelerated(text, return_offsets_mapping=True)
            self._ids(sample, 'tokenizer(text, return_offsets_mapping=True)["input_ids"]', ids, found["input_ids"])
            self._offsets(sample, ids, expected["offset_mapping"], found["offset_mapping"])
        return ids

    def _ids(self, sample: Sample, way: str, expected: list[int], found: list[int]) -> None:
        self.counts.comparisons += 1
        if list(found) != list(expected):
            self._differs(sample, way, expected, list(found), _first_difference(expected, found))

    def _offsets(self, sample: Sample, ids: list[int], expected: Any, found: Any) -> None:
        self.counts.comparisons += 1
        self.counts.offsets += len(expected)
        expected, found = list(map(tuple, expected)), list(map(tuple, found))
        if expected != found:
            index = _first_difference(expected, found)
            pair = [one[index] if index < len(one) else None for one in (expected, found)]
            detail = f"offsets {pair[0]}, found {pair[1]}"
            self._differs(sample, "offset_mapping", ids, ids, index, detail)

    def _differs(
        self, sample: Sample, way: str, expected: list[int], found: list[int], index: int, detail: str = ""
    ) -> None:
        self.counts.different += 1
        if self.counts.first is not None:
            return
        around = slice(max(0, index - _CONTEXT_TOKENS), index + _CONTEXT_TOKENS + 1)
        tokens = self.original.convert_ids_to_tokens
        self.counts.first = Difference(
            sample.origin,
            way,
            index,
            self._around(sample.text, index),
            expected[around],
            found[around],
            tokens(expected[around]),
            tokens(found[around]),
            detail,
        )

    def _around(self, text: str, index: int) -> str:
        offsets = self.original(text, return_offsets_mapping=True)["offset_mapping"]
        begin, end = offsets[index] if index < len(offsets) else (len(text), len(text))
        parts = (text[max(0, begin - _CONTEXT_CHARS) : begin], text[begin:end], text[end : end + _CONTEXT_CHARS])
        return "{}«{}»{}".format(*(repr(part)[1:-1] for part in parts))


def _first_difference(expected: Sequence[Any], found: Sequence[Any]) -> int:
    pairs = enumerate(zip_longest(expected, found, fillvalue=None))
    return next(index for index, (one, other) in pairs if one != other)
