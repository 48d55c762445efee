"""Launches that run beside those of the current stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


class SideStream:
    """A second stream of the device. Without a device everything runs at once, in order."""

    def __init__(self, device: torch.device) -> None:
        self._stream = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)
            self._begun, self._done = torch.cuda.Event(), torch.cuda.Event()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Launches here run after what the current stream has been given so far; `join` must follow."""
        if self._stream is None:
            yield
            return
        self._begun.record()
        self._stream.wait_event(self._begun)
        with torch.cuda.stream(self._stream):
            yield
            self._done.record()

    def join(self) -> None:
        """Later launches on the current stream run after those of `entered`."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_event(self._done)
