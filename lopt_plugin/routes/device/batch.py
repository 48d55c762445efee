"""One batch through the kernels: copied to the device, split into words, made ids."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...triton_kernels.boundaries import kernel as boundaries
from ...triton_kernels.classify import kernel as classify
from ...triton_kernels.compact import kernel as compact
from ...triton_kernels.device_words import PADDING
from ...triton_kernels.limits import TILE
from ...triton_kernels.words_to_ids import Separators, Tables, WordsToIds
from ...triton_kernels.workspace import Workspace
from .packing import Packed
from .tables import HostTables


class DeviceBatch:
    """Tables, buffers and word cache of one vocabulary on one device. Used by one batch at a time.

    observe: called with a stage's name when its kernels are launched; for who measures.
    """

    def __init__(self, tables: HostTables, device: torch.device, cache_slots: int, tile_factor: int) -> None:
        self.device = device
        self.observe: Callable[[str], None] = _nothing
        self._pattern = tables.pattern
        self._pages = torch.from_numpy(tables.kinds.pages.view(np.int16)).to(device)
        self._cells = torch.from_numpy(tables.kinds.cells.copy()).to(device)
        self._workspace = Workspace(device)
        self._words_to_ids = WordsToIds(
            Tables.on(device, tables.entries, tables.pairs), self._workspace, cache_slots, tile_factor
        )
        self._tile = tile_factor * TILE
        self._staging = torch.empty(0, dtype=torch.int64)

    def encode(self, packed: Packed) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids, int32 [n], and row offsets, int64 [rows + 1], on the device, when they are there."""
        with torch.cuda.device(self.device) if self.device.type == "cuda" else contextlib.nullcontext():
            text_bytes = len(packed.data)
            text_words = self._upload(packed.data)
            text = text_words.view(torch.uint8)[:text_bytes]
            self.observe("copy")
            word_starts = self._word_starts(text)
            separators = Separators(*(self._sent(a) for a in (packed.positions, packed.token_ids, packed.row_ends)))
            ids, row_offsets = self._words_to_ids(text_words, text_bytes, word_starts, separators, self.observe)
            if self.device.type == "cuda":
                # The next batch, on whatever stream, uses the same buffers.
                torch.cuda.current_stream().synchronize()
            return ids, row_offsets

    def _word_starts(self, text: torch.Tensor) -> torch.Tensor:
        count, take = len(text), self._workspace.take
        classes, starts = take("classes", count, torch.uint8), take("starts", count, torch.uint8)
        tile = self._tile
        scratch_size = max(boundaries.scratch_size(count, tile), compact.scratch_size(count, tile))
        scratch = take("scratch", scratch_size, torch.int32)
        classify.classify(text, self._pages, self._cells, classes, tile)
        self.observe("classify")
        boundaries.boundaries(text, classes, self._pattern, starts, scratch, tile)
        self.observe("boundaries")
        word_starts, word_count = take("word_starts", count + 1, torch.int32), take("word_count", 1, torch.int32)
        compact.compact(starts, word_starts, word_count, scratch, tile)
        self.observe("compact")
        return word_starts[: int(word_count) + 1]

    def release(self) -> None:
        """Gives the memory of the buffers back and empties the cache."""
        self._workspace.release()
        self._staging = torch.empty(0, dtype=torch.int64)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def info(self) -> dict[str, Any]:
        return {"workspace_bytes": self._workspace.bytes(), "cached_words": self._words_to_ids.cached_words}

    def _sent(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def _upload(self, data: bytes) -> torch.Tensor:
        """The text as `device_words.padded` has it, by way of pinned memory where there is a device."""
        words = -(-(len(data) + PADDING) // 8)
        if len(self._staging) < words:
            self._staging = torch.empty(0, dtype=torch.int64)
            self._staging = torch.empty(words * 5 // 4, dtype=torch.int64, pin_memory=self.device.type == "cuda")
        staged = self._staging[:words]
        staged[len(data) // 8 :] = 0
        staged.view(torch.uint8)[: len(data)].numpy()[:] = np.frombuffer(data, dtype=np.uint8)
        text_words = self._workspace.take("text_words", words, torch.int64)
        return text_words.copy_(staged, non_blocking=True)


def _nothing(stage: str) -> None:
    pass
