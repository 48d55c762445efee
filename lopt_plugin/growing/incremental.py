"""The ids of a text that grows at its end, or at its beginning, without encoding again what is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .counting import check_text
from .settled import IncrementalState, Middle, Settled

if TYPE_CHECKING:
    from ..route_calls import RouteCalls
    from ..route_choice import Snapshot

# Characters without a seam that are looked at as one word; the native core has the same bound.
_LONG_WORD = 512


class _Updated(NamedTuple):
    """A list of the caller's, as it was left: of the first `stable` ids none can be changed by an append."""

    ids: list[int]
    length: int
    stable: int


class IncrementalEncoder:
    """The ids of a text to which more is added.

    `ids` is at every moment what encoding the whole text gives. An append costs what encoding it costs, and the text
    behind the last seam, which is encoded again: some characters. (Of a long row of letters, symbols or blanks, in
    byte-level BPE, only what is new is looked at; of other long texts without a seam all.) Where HF does the work
    (`tokenizer.lopt.explain()` says why), the whole text is encoded again when ids are asked for. A tokenizer that is
    changed meanwhile encodes all of the text anew.

    Not safe to use from several threads at once.
    """

    def __init__(self, encoder: RouteCalls, add_special_tokens: bool, split_special_tokens: bool) -> None:
        self._encoder = encoder
        self._add_special_tokens = add_special_tokens
        self._split = split_special_tokens
        self._now = self._nothing(encoder.snapshot())
        self._head_ids: list[int] | None = None
        self._tail_ids: list[int] | None = None
        self._word: Any = None  # of the native core: what has no seam, at the end, if it is one long word
        self._updated: _Updated | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return self._now.text

    def append(self, text: str) -> None:
        """Adds to the end. Raises TypeError for what the HF tokenizer would not encode; nothing is changed then."""
        check_text(text)
        now = self._current()
        now.pieces.append(text)
        if now.middle is not None and text:
            self._settle(now, now.middle, text)

    def prepend(self, text: str) -> None:
        """Adds to the beginning; as `append`."""
        check_text(text)
        now = self._current()
        now.before.append(text)
        middle = now.middle
        if middle is None or not text:
            return
        head = text + now.head
        now.head, self._head_ids, self._updated = "", None, None
        if now.from_start:
            middle.forget()
            now.tail, now.from_start = None, False
            head = now.text
        if now.tail is None:
            self._word = self._tail_ids = None
            self._settle(now, middle, head)
            return
        seam = middle.native.core.first_seam(head)
        if seam is not None:
            middle.front.append(middle.part(head, seam, len(head)))
            head = head[:seam]
        now.head = head

    @property
    def ids(self) -> list[int]:
        """The ids of the text so far, a new list."""
        return self.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """The same from id number `start` on: `ids[start:]`, in the time of what that has.

        Raises ValueError if `start` is negative.
        """
        if start < 0:
            raise ValueError(f"start={start}: a number of ids, from 0 on, expected")
        return self._ids_from(self._current(), start)

    def update(self, ids: list[int]) -> None:
        """Makes `ids` the ids of the text so far.

        Of a list that was given here last, and has the length that it was left with, only what an append may have
        changed is written; it is kept here until the next one is given. Any other list is written as a whole.
        """
        if not isinstance(ids, list):
            raise TypeError(f"update: a list of ids expected, not {type(ids).__name__}")
        now, updated = self._current(), self._updated
        known = updated is not None and updated.ids is ids and updated.length == len(ids)
        start = updated.stable if updated is not None and known else 0
        ids[start:] = self._ids_from(now, start)
        self._updated = None
        # Ids that are compared with Hugging Face's may turn out to differ from the first one on.
        if now.middle is not None and not self._encoder.settings.verify:
            self._updated = _Updated(ids, len(ids), self._stable(now, now.middle))

    def _ids_from(self, now: Settled, start: int) -> list[int]:
        middle = now.middle
        if middle is None:
            return self._by_hf(now)[start:]
        if self._encoder.settings.verify:
            ids = self._by_parts(now, middle, 0)
            return self._encoder.verified_ids(now.text, ids, self._add_special_tokens, self._split)[start:]
        return self._by_parts(now, middle, start)

    def _by_parts(self, now: Settled, middle: Middle, start: int) -> list[int]:
        prefix, suffix = middle.native.special_token_ids if self._add_special_tokens else ([], [])
        head, tail = self._edges(now, middle)
        first: list[int] = []
        for part in (prefix, head, *reversed(middle.front)):
            if start < len(part):
                first += part[start:] if start else part
            start = max(0, start - len(part))
        ids: list[int] = middle.ids.list_from(first, start)
        start = max(0, start - len(middle.ids))
        for part in (tail, suffix):
            ids += part[start:] if start else part
            start = max(0, start - len(part))
        return ids

    @property
    def count(self) -> int:
        """How many ids there are, without building them."""
        now = self._current()
        middle = now.middle
        if middle is None:
            return len(self._by_hf(now))
        settled = len(middle)
        settled += middle.native.special_tokens_added if self._add_special_tokens else 0
        if self._find_word(now, middle):
            word: int = self._word.count()
            return settled + word + (0 if now.tail is None else len(self._head(now, middle)))
        head, tail = self._edges(now, middle)
        return settled + len(head) + len(tail)

    @property
    def stable(self) -> int:
        """How many of the first ids no later append can change; `prepend` changes them, of course.

        0 where Hugging Face does the work: nothing is known then.
        """
        now = self._current()
        return 0 if now.middle is None else self._stable(now, now.middle)

    def _stable(self, now: Settled, middle: Middle) -> int:
        first = middle.native.prefix_length if self._add_special_tokens else 0
        return first if now.tail is None else first + len(self._head(now, middle)) + len(middle)

    def snapshot(self) -> IncrementalState:
        """The state as it is now. Takes no time that grows with the text, but with how often it was prepended to."""
        return self._current().state()

    def restore(self, state: IncrementalState) -> None:
        """Goes back to a state of this encoder, or of another one of the same tokenizer with the same options."""
        self._go_on_with(Settled.of(state))

    def _go_on_with(self, settled: Settled) -> None:
        self._now = settled
        self._head_ids = self._tail_ids = self._word = self._updated = None

    def _nothing(self, snapshot: Snapshot) -> Settled:
        native = snapshot.native
        taken_apart = native is not None and native.takes_apart()
        return Settled(snapshot, Middle(native, self._split) if native is not None and taken_apart else None)

    def _current(self) -> Settled:
        """What is settled, for the tokenizer as it is now."""
        now, made_for = self._now, self._encoder.snapshot()
        if now.made_for is made_for:
            return now
        text = now.text
        self._go_on_with(anew := self._nothing(made_for))
        anew.pieces.append(text)
        if anew.middle is not None and text:
            self._settle(anew, anew.middle, text)
        return anew

    def _settle(self, now: Settled, middle: Middle, text: str) -> None:
        """Takes in text at the end."""
        before = now.head if now.tail is None else now.tail
        # Of the last character's place the one behind it was not known.
        known = max(len(before) - 2, 0)
        rest = before + text
        self._tail_ids = None
        core = middle.native.core
        last = core.last_seam(rest, known)
        in_groups = last is None and len(rest) >= _LONG_WORD
        if in_groups:
            last = core.last_group(rest)
        if self._word is not None and (last is not None or not self._word.append(text)):
            self._word = None
        if in_groups and last is not None and now.tail is None:
            now.from_start = True
            middle.settle(rest, 0, last, inside=False)
            now.head, now.tail, self._head_ids = "", rest[last:], None
            return
        if now.tail is None:
            self._head_ids = None
            if last is None:
                now.head = rest
                return
            first = core.first_seam(rest, known)
            now.head = rest[:first]
            middle.settle(rest, first, last)
        elif last is not None:
            middle.settle(rest, 0, last)
        now.tail = rest if last is None else rest[last:]

    def _edges(self, now: Settled, middle: Middle) -> tuple[list[int], list[int]]:
        """Ids of the head and of the tail."""
        head = self._head(now, middle)
        if self._tail_ids is None:
            if not now.tail:
                self._tail_ids = []
            elif self._find_word(now, middle):
                self._tail_ids = self._word.ids()
            else:
                self._tail_ids = middle.part(now.tail, 0, len(now.tail))
        return head, self._tail_ids

    def _head(self, now: Settled, middle: Middle) -> list[int]:
        """Ids of the head."""
        if self._head_ids is None:
            if now.tail is None and self._find_word(now, middle):
                self._head_ids = self._word.ids()
            else:
                self._head_ids = middle.part(now.head, 0, len(now.head), inside=False)
        return self._head_ids

    def _find_word(self, now: Settled, middle: Middle) -> bool:
        """Whether what has no seam, at the end of the text, is a long word."""
        last = now.head if now.tail is None else now.tail
        if self._word is None and len(last) >= _LONG_WORD:
            self._word = middle.native.core.growing_word(last)
        return self._word is not None

    def _by_hf(self, now: Settled) -> list[int]:
        self._encoder.count_hf_call("incremental: " + now.made_for.reason)
        return self._encoder.hf.encode_list(now.text, self._add_special_tokens, self._split)
