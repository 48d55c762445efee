"""Texts that other threads encode while an engine asks for their ids one by one."""

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
    """Ids of texts, each to be taken once, from any thread. Made by `prefetch`.

    on_end: is called with the seconds spent here and in waiting, after the last text is taken.
    on_error: is called with an error that no text explains.
    """

    def __init__(
        self,
        native: NativeRoute,
        texts: TextsAhead,
        request: EncodeRequest,
        on_end: Callable[[float], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._native = native
        self._texts = texts
        self._request = request
        self._on_end = on_end
        self._on_error = on_error
        room = native.post_processing.room(request)
        # A list of at most so many ids is given out as it is.
        self._whole_up_to = room
        if request.add_special_tokens and native.post_processing.added:
            self._whole_up_to = -1
        self._short_up_to: float = math.inf
        self._look_at: Callable[[list[int]], None] | None = None
        self._left = len(texts)
        self._seconds = 0.0

    def look_at_longer_than(self, length: int, look_at: Callable[[list[int]], None]) -> None:
        """Has `look_at` called with the ids of each text that has more than so many, when they are taken."""
        self._short_up_to, self._look_at = length, look_at

    def take(self, row: int) -> list[int] | None:
        """Ids of a text; None if HF must be asked."""
        start = perf_counter()
        try:
            ids = self._texts.take(row)
            if len(ids) > self._whole_up_to:
                ids = self._native.post_processing.finish(ids, self._request)
        except NeedsReference:
            # The text is at fault: the reference has its own error for it.
            return None
        except Exception as error:
            self._on_error(error)
            return None
        self._seconds += perf_counter() - start
        self._left -= 1
        if not self._left:
            self._on_end(self._seconds)
        if self._look_at is not None and len(ids) > self._short_up_to:
            self._look_at(ids)
        return ids


def prefetch(runner: Runner, texts: Sequence[str], request: EncodeRequest) -> PrefetchedIds | None:
    """Starts to encode texts on other threads; None where they are better encoded when they are asked for."""
    snapshot = runner.state.snapshot()
    native = snapshot.native
    if native is None or runner.settings.verify or runner.gpu.route_for(snapshot, texts, lists=True) is not None:
        return None
    room = native.post_processing.room(request)
    if not request.keeps_end and native.is_over_long(max(texts, key=len, default=""), room):
        return None
    return PrefetchedIds(
        native,
        native.texts_ahead(texts, request.split_special_tokens),
        request,
        lambda seconds: runner.count_timed(native, seconds, len(texts)),
        lambda error: runner.state.failed(native, error),
    )
