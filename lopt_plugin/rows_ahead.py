"""Texts that other threads encode while their lists are asked for one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .native._core import TextsAhead
    from .routes.native import NativeRoute


class Finish(NamedTuple):
    """What becomes of a text's ids; see `NativeRoute.finished`."""

    add_special_tokens: bool
    limit: int | None
    keep_end: bool


class RowsAhead:
    """Ids of texts, each to be taken once, from any thread. Made by `Encoder.native_ahead`.

    told: is given the seconds that asking and waiting took, when the last one is taken; failed: an error that no text
    explains.
    """

    def __init__(
        self,
        native: NativeRoute,
        texts: TextsAhead,
        finish: Finish,
        told: Callable[[float], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._native = native
        self._texts = texts
        self._finish = finish
        self._told = told
        self._failed = failed
        kept = math.inf if finish.limit is None else finish.limit
        # Longer ids are cut; where special tokens are added, all have to be looked at.
        self._whole_up_to = -1 if finish.add_special_tokens and native.special_tokens_added else kept
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
                ids = self._native.finished(ids, *self._finish)
        except ValueError:
            # What is wrong with the text, by its name in the core.
            return None
        except Exception as error:
            self._failed(error)
            return None
        self._seconds += perf_counter() - start
        self._left -= 1
        if not self._left:
            self._told(self._seconds)
        if self._look_at is not None and len(ids) > self._short_up_to:
            self._look_at(ids)
        return ids
