"""The chunks of a batch for the device, and the rows of all its parts, merged in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import NativeRoute
from ..request import EncodeRequest

if TYPE_CHECKING:
    from ...native._core import TextsToPack

Numbers = npt.NDArray[np.int64]


class Part(NamedTuple):
    """Some rows of a batch: their numbers, and as torch tensors ids [n] and row offsets [len(numbers) + 1]."""

    numbers: Numbers
    ids: Any
    row_offsets: Any


class DeviceRows:
    """Rows that stay on the device: a part for each chunk."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, numbers: Numbers, ids: Any, row_offsets: Any) -> None:
        """Copies the ids and row offsets of a chunk, torch tensors."""
        self._parts.append(Part(numbers, ids.clone(), row_offsets.clone()))

    def parts(self) -> list[Part]:
        return self._parts


class HostRows:
    """Rows of at most `most` ids on the host, in one array, where torch's threads copy the ids of each chunk once."""

    def __init__(self, most: int) -> None:
        # Only what is written takes memory.
        self._ids = np.empty(most, dtype=np.int32)
        self._count = 0
        self._numbers: list[Numbers] = []
        self._offsets = [np.zeros(1, dtype=np.int64)]

    def add(self, numbers: Numbers, ids: Any, row_offsets: Any) -> None:
        """Copies the ids and row offsets of a chunk, torch tensors."""
        import torch

        begin, self._count = self._count, self._count + len(ids)
        torch.from_numpy(self._ids[begin : self._count]).copy_(ids)
        self._numbers.append(numbers)
        self._offsets.append(row_offsets[1:].cpu().numpy() + begin)

    def parts(self) -> list[Part]:
        """The only part, if there are rows."""
        import torch

        if not self._numbers:
            return []
        self._ids.resize(self._count, refcheck=False)
        offsets = torch.from_numpy(np.concatenate(self._offsets))
        return [Part(np.concatenate(self._numbers), torch.from_numpy(self._ids), offsets)]


def in_order(parts: Sequence[Part], device: Any) -> tuple[Any, Any]:
    """Ids, int32 [n], and row offsets, int64 [rows + 1], on `device`. Every row must be in exactly one part."""
    import torch

    if len(parts) == 1:
        return parts[0].ids.to(device), parts[0].row_offsets.to(device)

    offsets = [part.row_offsets.cpu().numpy() for part in parts]
    order = np.argsort(np.concatenate([part.numbers for part in parts]))
    of_part = np.repeat(np.arange(len(parts)), [len(part.numbers) for part in parts])[order]
    begins, ends = (np.concatenate([part[cut] for part in offsets])[order] for cut in (slice(-1), slice(1, None)))
    # Neighbouring rows of one part are one piece.
    starts = np.flatnonzero(np.append(True, (np.diff(of_part) != 0) | (begins[1:] != ends[:-1])))
    pieces = zip(of_part[starts], begins[starts], ends[np.append(starts[1:], len(order)) - 1], strict=True)
    ids = [part.ids.to(device) for part in parts]
    joined = torch.cat([ids[part][begin:end] for part, begin, end in pieces])
    return joined, torch.from_numpy(np.append(0, np.cumsum(ends - begins))).to(device)


def ids_around(native: NativeRoute, request: EncodeRequest) -> tuple[list[int], list[int]]:
    """The ids before and after every text."""
    around = native.post_processing
    return (around.prefix, around.suffix) if request.add_special_tokens else ([], [])


def separators(prefix: list[int], suffix: list[int]) -> int:
    """The smallest number of separators of a text, a byte each: one for each id around it, and one that ends it."""
    return len(prefix) + max(1, len(suffix))


class Chunk(NamedTuple):
    """The numbers of some texts, and their total bytes in UTF-8."""

    numbers: Numbers
    utf8_bytes: int


class Chunks(NamedTuple):
    """A batch: its texts, the chunks for the device, the numbers of the texts for the host, the threads for packing."""

    texts: TextsToPack
    on_device: list[Chunk]
    on_host: Numbers
    threads: int
