"""Selects the texts of a batch for the device, in chunks that fit, and computes the chunks one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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


class ChunkLoop:
    """Computes chunks on a device; packs and copies each while the previous one is computed.

    usable: whether the device still works. failed: called once with each error of the device.
    """

    def __init__(
        self, batch: DeviceBatch, on_host: bool, usable: Callable[[], bool], failed: Callable[[Exception], None]
    ) -> None:
        self.parts: list[Part] = []
        self._batch = batch
        self._on_host = on_host
        self._usable = usable
        self._failed = failed
        self._in_flight: tuple[list[int], Sent] | None = None

    def run(
        self,
        chunks: Iterable[list[int]],
        texts: Sequence[str],
        around: Around,
        host: list[int],
        *,
        split_special_tokens: bool,
    ) -> None:
        """Adds results to `parts`, and the numbers of the texts at which the device failed to `host`."""
        with self._batch.entered():
            try:
                for numbers in chunks:
                    if not self._usable():
                        host += numbers
                        continue
                    try:
                        chosen = [texts[number] for number in numbers]
                        sent = self._batch.send(chosen, around, split_special_tokens=split_special_tokens)
                    except NeedsReference:
                        raise
                    except Exception as error:
                        self._finish(host)  # before its memory is freed
                        host += numbers
                        self._failed(error)
                        continue
                    if not self._finish(host):
                        host += numbers  # after a failure nothing that was sent is kept
                    elif self._or_else(host, numbers, lambda sent=sent: self._launch(sent)):  # type: ignore[misc]
                        self._in_flight = numbers, sent
                self._finish(host)
            except BaseException:
                self._batch.discard()
                raise

    def _launch(self, sent: Sent) -> None:
        self._batch.launch(sent, on_host=self._on_host)

    def _finish(self, host: list[int]) -> bool:
        if self._in_flight is None:
            return True
        (numbers, sent), self._in_flight = self._in_flight, None

        def take() -> None:
            self.parts.append(Part(numbers, *self._batch.finish(sent, on_host=self._on_host)))

        return self._or_else(host, numbers, take)

    def _or_else(self, host: list[int], numbers: list[int], work: Callable[[], None]) -> bool:
        """Run `work` unless the device has failed; if it fails, the texts go to the host."""
        if self._usable():
            try:
                work()
                return True
            except Exception as error:
                self._failed(error)
        host += numbers
        return False
