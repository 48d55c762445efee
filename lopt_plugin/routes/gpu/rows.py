"""Selects the texts of a batch for the device, in chunks that fit, and computes the chunks one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...pipeline import Pipeline
from ...pipeline.pipeline import MapCharacters
from ...triton_kernels.common.limits import SEPARATOR_SHARE
from ..packing import Around
from ..request import NeedsReference

if TYPE_CHECKING:
    from .batch import DeviceBatch, Sent


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


class Chunker:
    """Groups the texts for the device into chunks of about `chunk_bytes`; a text is never divided.

    The others go to the host: texts above `longest_bytes`, and those that the normalizer may change. core: the native
    one.
    """

    def __init__(self, pipeline: Pipeline, core: Any, chunk_bytes: int, longest_bytes: int) -> None:
        self.chunk_bytes = chunk_bytes
        self.longest_bytes = longest_bytes
        self._core = core
        self._normalizes = bool(pipeline.normalizer)
        steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
        self._ascii_unchanged = not any(isinstance(step, MapCharacters) for step in steps)

    def chunks(self, texts: Sequence[str], around: Around, host: list[int]) -> Iterator[list[int]]:
        """Numbers of the texts for the device, by chunk; adds those for the host to `host`."""
        chunk: list[int] = []
        room = self.chunk_bytes
        separators = around.separators
        for number, text in enumerate(texts):
            most_bytes = len(text) if text.isascii() else 4 * len(text)
            if most_bytes + separators > self.longest_bytes or not self._unchanged(text):
                host.append(number)
                continue
            # A separator takes a byte of text, and as much room in other buffers as this many bytes.
            most_bytes += SEPARATOR_SHARE * separators
            if most_bytes > room and chunk:
                yield chunk
                chunk, room = [], self.chunk_bytes
            chunk.append(number)
            room -= most_bytes
        if chunk:
            yield chunk

    def _unchanged(self, text: str) -> bool:
        if not self._normalizes or (self._ascii_unchanged and text.isascii()):
            return True
        try:
            return bool(self._core.normalize(text) == text)
        except UnicodeEncodeError as error:
            raise NeedsReference(str(error)) from error


def compute(
    batch: DeviceBatch,
    chunks: Iterable[list[int]],
    texts: Sequence[str],
    around: Around,
    split_special_tokens: bool,
    on_host: bool,
) -> list[Part]:
    """The rows of all chunks; each chunk is packed and copied while the one before it is computed.

    After an error nothing is in flight.
    """
    parts: list[Part] = []
    in_flight: tuple[list[int], Sent] | None = None

    def finish() -> None:
        if in_flight is not None:
            parts.append(Part(in_flight[0], *batch.finish(in_flight[1], on_host=on_host)))

    with batch.entered():
        try:
            for numbers in chunks:
                sent = batch.send([texts[number] for number in numbers], around, split_special_tokens)
                finish()
                batch.launch(sent, on_host=on_host)
                in_flight = numbers, sent
            finish()
        except BaseException:
            with contextlib.suppress(Exception):  # of a device that is lost
                batch.discard()
            raise
    return parts
