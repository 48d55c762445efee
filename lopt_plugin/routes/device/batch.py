"""One batch through the kernels: copied to the device, split into words, made ids."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ...triton_kernels import text_to_words
from ...triton_kernels.device_words import PADDING
from ...triton_kernels.limits import MASK_TILE
from ...triton_kernels.words_to_ids import Separators, Tables, WordsToIds
from ...triton_kernels.workspace import Workspace
from .packing import Layout
from .tables import HostTables

Pack = Callable[[list[str], npt.NDArray[np.uint8]], npt.NDArray[np.int64]]


class DeviceBatch:
    """Tables, buffers and word cache of one vocabulary on one device. Used by one batch at a time.

    pack: `NativeRoute.pack`.
    observe: called with a stage's name when its kernels are launched; for who measures.
    """

    def __init__(
        self, tables: HostTables, pack: Pack, device: torch.device, cache_slots: int, tile_factor: int
    ) -> None:
        self.device = device
        self._pack = pack
        self.observe: Callable[[str], None] = _nothing
        self._pattern = tables.pattern
        self._pages = torch.from_numpy(tables.kinds.pages.view(np.int16)).to(device)
        self._cells = torch.from_numpy(tables.kinds.cells.copy()).to(device)
        self._workspace = Workspace(device)
        self._words_to_ids = WordsToIds(
            Tables.on(device, tables.entries, tables.pairs), self._workspace, cache_slots, tile_factor
        )
        self._tile = tile_factor * MASK_TILE
        self._staging = torch.empty(0, dtype=torch.int64)

    def encode(self, layout: Layout) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids, int32 [n], and row offsets, int64 [rows + 1], on the device, when they are there.

        Raises CannotEncodeError for a lone surrogate, before anything is done on the device.
        """
        with torch.cuda.device(self.device) if self.device.type == "cuda" else contextlib.nullcontext():
            text_words, ends = self._upload(layout)
            text_bytes = int(ends[-1]) if len(ends) else 0
            self.observe("copy")
            word_starts = self._word_starts(text_words, text_bytes)
            positions = (ends - 1).astype(np.int32)
            separators = Separators(*(self._sent(a) for a in (positions, layout.token_ids, layout.row_ends)))
            ids, row_offsets = self._words_to_ids(text_words, text_bytes, word_starts, separators, self.observe)
            if self.device.type == "cuda":
                # The next batch, on whatever stream, uses the same buffers.
                torch.cuda.current_stream().synchronize()
            return ids, row_offsets

    def _word_starts(self, text_words: torch.Tensor, text_bytes: int) -> torch.Tensor:
        size, take = text_to_words.scratch_size(text_bytes, self._tile), self._workspace.take
        scratch = take("scratch", size, torch.int64)
        word_starts, word_count = take("word_starts", text_bytes + 1, torch.int32), take("word_count", 1, torch.int32)
        pattern, buffers = (self._pages, self._cells, self._pattern), (word_starts, word_count, scratch)
        text_to_words.word_starts_of(text_words, text_bytes, *pattern, *buffers, self._tile, self.observe)
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

    def _upload(self, layout: Layout) -> tuple[torch.Tensor, npt.NDArray[np.int64]]:
        """The text as `device_words.padded` has it, packed in pinned memory; and where its pieces end."""
        most_words = -(-(layout.most_bytes() + PADDING) // 8)
        if len(self._staging) < most_words:
            self._staging = torch.empty(0, dtype=torch.int64)
            self._staging = torch.empty(most_words * 5 // 4, dtype=torch.int64, pin_memory=self.device.type == "cuda")
        staged_bytes = self._staging.view(torch.uint8).numpy()
        offsets = self._pack(layout.pieces, staged_bytes)
        text_bytes = int(offsets[-1])
        words = -(-(text_bytes + PADDING) // 8)
        staged_bytes[text_bytes : 8 * words] = 0
        self.observe("pack")
        text_words = self._workspace.take("text_words", words, torch.int64)
        return text_words.copy_(self._staging[:words], non_blocking=True), offsets[1:]


def _nothing(stage: str) -> None:
    pass
