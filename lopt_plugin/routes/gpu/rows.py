"""Selects the texts of a batch for the device, in chunks that fit, and puts the rows of all parts in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...pipeline import Pipeline
from ...pipeline.pipeline import MapCharacters
from ...triton_kernels.common.limits import SEPARATOR_SHARE
from ..native import NativeRoute
from ..request import EncodeRequest, NeedsReference


class Part(NamedTuple):
    """Some rows of a batch: their numbers, and as torch tensors ids [n] and row offsets [len(numbers) + 1]."""

    numbers: Sequence[int]
    ids: Any
    row_offsets: Any


def in_order(parts: Sequence[Part], rows: int, device: Any) -> tuple[Any, Any]:
    """Ids, int32 [n], and row offsets, int64 [rows + 1], on `device`. Every row must be in exactly one part."""
    import torch

    if [number for part in parts for number in part.numbers] == list(range(rows)):
        if len(parts) == 1:
            return parts[0].ids.to(device), parts[0].row_offsets.to(device)
        shift = 0
        offsets = [torch.zeros(1, dtype=torch.int64, device=device)]
        for part in parts:
            offsets.append(part.row_offsets[1:].to(device) + shift)
            shift += len(part.ids)
        return torch.cat([part.ids.to(device) for part in parts]), torch.cat(offsets)
    lengths = torch.zeros(rows, dtype=torch.int64, device=device)
    moved = []
    for numbers, ids, row_offsets in parts:
        places = torch.as_tensor(np.asarray(numbers, dtype=np.int64), device=device)
        row_offsets = row_offsets.to(device)
        lengths[places] = row_offsets[1:] - row_offsets[:-1]
        moved.append((places, ids.to(device), row_offsets))
    offsets = torch.zeros(rows + 1, dtype=torch.int64, device=device)
    torch.cumsum(lengths, 0, out=offsets[1:])
    result = torch.empty(int(offsets[-1]), dtype=torch.int32, device=device)
    for places, ids, row_offsets in moved:
        shifts = offsets[places] - row_offsets[:-1]
        targets = torch.arange(len(ids), device=device)
        result[targets + torch.repeat_interleave(shifts, row_offsets[1:] - row_offsets[:-1])] = ids
    return result, offsets


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
