"""The parts of a growing text that no later append can change, and their ids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..routes.native import NativeRoute
from .route_choice import Snapshot

if TYPE_CHECKING:
    from ..native._core import SettledIds


@dataclass(frozen=True)
class IncrementalState:
    """A text and its ids at one moment, for `IncrementalEncoder.restore`. Shares memory with the encoder and others.

    Its attributes are not for users.
    """

    settled: Settled
    ids: int  # how many of the middle's ids belong to it; there may be more by now
    row_ids: int
    pieces: int


@dataclass
class Middle:
    """The ids between the first seam and the last one: `front`, its last list first, and then `ids`.

    `ids` only ever grow, and states share them.
    """

    native: NativeRoute
    split_special_tokens: bool
    ids: SettledIds
    front: list[list[int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids) + sum(map(len, self.front))

    def settle(self, text: str, begin: int, end: int, inside: bool = True) -> None:
        """Appends the ids of characters [begin, end) of a text. `inside`: they follow a seam."""
        threads = self.native.threads_for(end - begin)
        self.native.core.settle_part(self.ids, text, begin, end, inside, self.split_special_tokens, threads)

    def part(self, text: str, begin: int, end: int, inside: bool = True) -> list[int]:
        """The ids of characters [begin, end) of a text by themselves."""
        threads = self.native.threads_for(end - begin)
        ids: list[int] = self.native.core.encode_part(text, begin, end, inside, self.split_special_tokens, threads)
        return ids

    def with_ids(self, ids: SettledIds) -> Middle:
        """A copy with these ids. Prepending to either does not affect the other."""
        return replace(self, ids=ids, front=self.front.copy())


@dataclass(frozen=True)
class Row:
    """What was settled inside a row at the end of the text that later text may still undo (native: `OpenRow`)."""

    ids: SettledIds  # those between the middle and the tail; they only ever grow, and states share them
    rest: str  # the tail as it was before, or the head if there was no tail
    has_head: bool
    inside: bool
    pieces: int  # how many pieces had been appended


@dataclass
class Settled:
    """head | middle | tail, with a seam between them; without a seam in the text, all of it is the head.

    `pieces` only ever grows, and states share it. If the reference answers, there is no middle, only the text.
    """

    made_for: Snapshot
    middle: Middle | None
    head: str = ""
    tail: str | None = None
    tail_inside: bool = True  # the tail continues a stretch of text: no added token ends before it
    row: Row | None = None  # between the middle and the tail
    from_start: bool = False  # the middle begins at a place that is not a seam once text is prepended
    before: list[str] = field(default_factory=list)  # what was prepended
    pieces: list[str] = field(default_factory=list)  # what was appended

    @property
    def text(self) -> str:
        return "".join([*reversed(self.before), *self.pieces])

    @property
    def inside(self) -> bool:
        """Whether what follows the last seam continues a stretch."""
        return self.tail is not None and self.tail_inside

    @property
    def row_ids(self) -> int:
        """The number of ids in an open row."""
        return 0 if self.row is None else len(self.row.ids)

    def undo(self, row: Row) -> str:
        """Goes back to before the row. Returns the text that has been appended since."""
        self.row = None
        if row.has_head:
            self.tail, self.tail_inside = row.rest, row.inside
        else:
            self.head, self.tail, self.tail_inside, self.from_start = row.rest, None, True, False
        return "".join(self.pieces[row.pieces :])

    def state(self) -> IncrementalState:
        """The state as it is now."""
        kept = replace(self, before=self.before.copy())
        if self.middle is None:
            return IncrementalState(kept, 0, 0, len(self.pieces))
        kept.middle = self.middle.with_ids(self.middle.ids)
        return IncrementalState(kept, len(self.middle.ids), self.row_ids, len(self.pieces))

    @classmethod
    def of(cls, state: IncrementalState) -> Settled:
        """The text of a state, to continue from."""
        settled = state.settled
        middle, row = settled.middle, settled.row
        if middle is not None:
            core = middle.native.core
            middle = middle.with_ids(core.settled_ids(middle.ids, state.ids))
            if row is not None:
                row = replace(row, ids=core.settled_ids(row.ids, state.row_ids))
        return replace(
            settled, middle=middle, row=row, before=settled.before.copy(), pieces=settled.pieces[: state.pieces]
        )
