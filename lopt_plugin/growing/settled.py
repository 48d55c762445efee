"""What is settled of a text that grows: its parts, and the ids of those that nothing can change any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..route_choice import Snapshot


@dataclass(frozen=True)
class IncrementalState:
    """A text and its ids at one moment, for `IncrementalEncoder.restore`. Shares memory with the encoder and others."""

    settled: Settled
    ids: int  # of the settled ones, the lists being longer by now
    pieces: int


@dataclass
class Settled:
    """head | middle | tail, with a seam between them; without a seam in the text, all of it is the head.

    The ids of the middle are `front`, its last list first, and then `ids`. `ids` and `pieces` only ever grow: states
    share them.
    """

    made_for: Snapshot
    head: str = ""
    front: list[list[int]] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    tail: str | None = None
    from_start: bool = False  # the middle begins at a place that is no seam if something stands before the text
    before: list[str] = field(default_factory=list)  # what was prepended
    pieces: list[str] = field(default_factory=list)  # what was appended

    @property
    def text(self) -> str:
        return "".join([*reversed(self.before), *self.pieces])
