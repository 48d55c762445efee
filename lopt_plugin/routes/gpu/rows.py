"""Selects the texts of a batch for the device, in chunks that fit, and puts the rows of all parts in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...pipeline import Pipeline
from ...pipeline.normalizers import MapCharacters
from ...triton_kernels.common.limits import SEPARATOR_SHARE
from ..native import NativeRoute
from ..request import EncodeRequest, NeedsReference


class Part(NamedTuple):
    """Some rows of a batch: their numbers, and as torch tensors ids [n] and row offsets [len(numbers) + 1]."""

    numbers: Sequence[int]
    ids: Any
    row_offsets: Any


def in_order(parts: Sequence[Part], device: Any) -> tuple[Any, Any]:
    """Ids, int32 [n], and row offsets, int64 [rows + 1], on `device`. Every row must be in exactly one part."""
    import torch

    if len(parts) == 1:
        return parts[0].ids.to(device), parts[0].row_offsets.to(device)

    def offsets_of(lengths: Any) -> Any:
        return torch.nn.functional.pad(lengths.cumsum(0), (1, 0))

    ids = torch.cat([part.ids.to(device) for part in parts])
    lengths = torch.cat([part.row_offsets.to(device).diff() for part in parts])
    offsets = offsets_of(lengths)
    numbers = [number for part in parts for number in part.numbers]
    if numbers != sorted(numbers):
        order = torch.as_tensor(np.argsort(numbers), device=device)
        begins, lengths = offsets[order], lengths[order]
        offsets = offsets_of(lengths)
        ids = ids[torch.arange(len(ids), device=device) + torch.repeat_interleave(begins - offsets[:-1], lengths)]
    return ids, offsets


def most_bytes(text: str) -> int:
    """An upper bound of the length of a text in UTF-8."""
    return len(text) if text.isascii() else 4 * len(text)


def ids_around(native: NativeRoute, request: EncodeRequest) -> tuple[list[int], list[int]]:
    """The ids before and after every text."""
    around = native.post_processing
    return (around.prefix, around.suffix) if request.add_special_tokens else ([], [])


def separators(prefix: list[int], suffix: list[int]) -> int:
    """The least number of separators of one text, a byte each: one for each id around it, and one that ends it."""
    return len(prefix) + max(1, len(suffix))


class Chunker:
    """Groups the texts for the device into chunks of about `chunk_bytes`; a text is never divided.

    The others go to the host: texts above `longest_bytes`, and those that the normalizer may change.
    """

    def __init__(self, pipeline: Pipeline, native: NativeRoute, chunk_bytes: int, longest_bytes: int) -> None:
        self.chunk_bytes = chunk_bytes
        self.longest_bytes = longest_bytes
        self._native = native
        self._normalizes = bool(pipeline.normalizer)
        steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
        self._ascii_unchanged = not any(isinstance(step, MapCharacters) for step in steps)

    def chunks(self, texts: Sequence[str], request: EncodeRequest, host: list[int]) -> Iterator[list[int]]:
        """Numbers of the texts for the device, by chunk; adds those for the host to `host`."""
        chunk: list[int] = []
        room = self.chunk_bytes
        added = separators(*ids_around(self._native, request))
        for number, text in enumerate(texts):
            needed = most_bytes(text)
            if needed + added > self.longest_bytes or not self._unchanged(text):
                host.append(number)
                continue
            # A separator takes a byte of text, and as much room in other buffers as this many bytes.
            needed += SEPARATOR_SHARE * added
            if needed > room and chunk:
                yield chunk
                chunk, room = [], self.chunk_bytes
            chunk.append(number)
            room -= needed
        if chunk:
            yield chunk

    def _unchanged(self, text: str) -> bool:
        if not self._normalizes or (self._ascii_unchanged and text.isascii()):
            return True
        try:
            return bool(self._native.core.normalize(text) == text)
        except UnicodeEncodeError as error:
            raise NeedsReference(str(error)) from error
