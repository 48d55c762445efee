"""Counts the ids of a text or of a part of it, and finds how long a prefix fits into a number of ids.

All of this relies on seams: places at which a text may be split whatever surrounds them (native/text/seam.hpp has the
rule and the reasons). Without a native route nothing is known about seams, and the reference encodes the whole text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from ..routes.hf import HfRoute
from ..routes.native import NativeRoute
from ..routes.request import EncodeRequest
from .checks import an_int
from .gpu_policy import GpuUse
from .operations import Operation
from .prefix_search import proof_of, search_prefix
from .route_choice import Snapshot
from .runner import Runner

# A text, and the maximum number of ids of the text or of a prefix.
Limit: TypeAlias = tuple[str, int]


def _native(snapshot: Snapshot, gpu: GpuUse, given: Any, request: EncodeRequest) -> NativeRoute | None:
    native = snapshot.native
    return native if native is not None and native.seams_checked else None


def _cut(route: NativeRoute | HfRoute, given: Limit, request: EncodeRequest) -> int:
    if isinstance(route, HfRoute):
        return search_prefix(route.count, proof_of(route.backend), *given, request)
    length = route.cut(*given, request)
    return search_prefix(route.count, None, *given, request) if length is None else length


def _intervals(route: NativeRoute | HfRoute, text: str, request: EncodeRequest) -> Callable[[int, int], int]:
    if isinstance(route, HfRoute):
        route.count(text, request)  # raises where there is nothing to count
        return lambda start, end: route.count(text[start:end], request)
    added = route.post_processing.ids_added(request)
    count = route.core.intervals(text, request.split_special_tokens).count
    return lambda start, end: count(start, end) + added


COUNT: Operation[str, int] = Operation(_native, lambda route, *given: route.count(*given), operator.eq)
COUNT_BATCH: Operation[list[str], list[int]] = Operation(
    _native, lambda route, *given: route.count_batch(*given), operator.eq, len
)
COUNT_UNTIL: Operation[Limit, int | None] = Operation(
    _native, lambda route, *given: route.count_until(*given), operator.eq
)
CUT: Operation[Limit, int] = Operation(_native, _cut, operator.eq)
# Nothing to compare: what is given back counts later.
_INTERVALS: Operation[str, Callable[[int, int], int]] = Operation(_native, _intervals, lambda *_: True)


class Intervals:
    """Counts the ids of any part of a text. Made by `tokenizer.lopt.intervals`.

    It is built in one pass over the text, and takes 8 bytes for about 64 characters. A count then encodes only the text
    between each end of the range and the nearest seam inside it, however long the range is. Later changes of the
    tokenizer have no effect. Safe to use from several threads.

    Attributes:
        text: The text.

    Raises:
        TypeError: For a text that the reference cannot encode; the error is the reference's.

    >>> prepared = tokenizer.lopt.intervals("Hello world")
    >>> prepared.text
    'Hello world'
    """

    def __init__(self, runner: Runner, text: str, request: EncodeRequest) -> None:
        self.text = text
        self._count, _ = runner.run("intervals", _INTERVALS, text, request)

    def count(self, start: int, end: int) -> int:
        """Counts the ids of `text[start:end]`, encoded by itself.

        Args:
            start: The first character.
            end: The character after the last one.

        Returns:
            The number of ids.

        Raises:
            IndexError: Unless 0 <= start <= end <= len(text).
            TypeError: For a position that is not an int.

        >>> prepared = tokenizer.lopt.intervals("Hello world, once more")
        >>> prepared.count(5, 12) == tokenizer.lopt.count(" world,", add_special_tokens=False)
        True
        """
        start, end = an_int(start, "start"), an_int(end, "end")
        if not 0 <= start <= end <= len(self.text):
            raise IndexError(f"intervals: 0 <= start <= end <= {len(self.text)} expected, got {start} and {end}")
        return self._count(start, end)
