"""Encodes texts on other threads while an engine asks for their ids one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from ..routes.native import NativeRoute
from ..routes.request import EncodeRequest, NeedsReference
from .runner import Runner

if TYPE_CHECKING:
    from ..native._core import TextsAhead


class PrefetchedIds:
    """The ids of texts, each taken once, from any thread. Made by `prefetch`.

    After the last text is taken, the runner counts the call, with the time spent here and in waiting.
    """

    def __init__(self, runner: Runner, native: NativeRoute, texts: TextsAhead, request: EncodeRequest) -> None:
        self._runner = runner
        self._native = native
        self._texts = texts
        self._request = request
        # A list of at most so many ids is given out as it is.
        adds = request.add_special_tokens and native.post_processing.added
        self._whole_up_to = -1 if adds else native.post_processing.room(request)
        # `look_at` is called with the ids of each text that has more than so many, when they are taken.
        self.short_up_to: float = math.inf
        self.look_at: Callable[[list[int]], None] | None = None
        self._left = self._number = len(texts)
        self._seconds = 0.0

    def take(self, row: int) -> list[int] | None:
        """The ids of a text; None if HF must be called."""
        start = perf_counter()
        try:
            ids = self._texts.take(row)
            if len(ids) > self._whole_up_to:
                ids = self._native.post_processing.finish(ids, self._request)
        except NeedsReference:
            # The text is invalid, and the reference has its own error for it.
            return None
        except MemoryError:
            raise
        except Exception as error:
            self._runner.state.failed(self._native, error)
            return None
        self._seconds += perf_counter() - start
        self._left -= 1
        if not self._left:
            self._runner.count(self._native, self._number, self._seconds)
        if self.look_at is not None and len(ids) > self.short_up_to:
            self.look_at(ids)
        return ids


def prefetch(runner: Runner, texts: Sequence[str], request: EncodeRequest) -> PrefetchedIds | None:
    """Starts to encode texts on other threads; None if it is better to encode them on request."""
    snapshot = runner.state.snapshot()
    native = snapshot.native
    if native is None or runner.settings.verify or runner.gpu.route_for(snapshot, texts) is not None:
        return None
    room = native.post_processing.room(request)
    if not request.keeps_end and native.is_over_long(max(texts, key=len, default=""), room):
        return None
    # The caller does its part where it waits.
    ahead = native.core.encode_ahead(list(texts), runner.settings.threads - 1, request.split_special_tokens)
    return PrefetchedIds(runner, native, ahead, request)
