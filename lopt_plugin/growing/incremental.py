"""The ids of a text that grows at its end, or at its beginning, without encoding again what is settled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .counting import check_text
from .settled import IncrementalState, Settled

if TYPE_CHECKING:
    from ..route_calls import RouteCalls
    from ..route_choice import Snapshot
    from ..routes.native import NativeRoute

# Characters without a seam that are looked at as one word; the native core has the same bound.
_LONG_WORD = 512


def _native_of(snapshot: Snapshot) -> NativeRoute | None:
    native = snapshot.native
    return native if native is not None and native.takes_apart() else None


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
        self._now = Settled(encoder.snapshot())
        self._head_ids: list[int] | None = None
        self._tail_ids: list[int] | None = None
        self._word: Any = None  # of the native core: what has no seam, at the end, if it is one long word

    @property
    def text(self) -> str:
        """The text so far."""
        return self._now.text

    def append(self, text: str) -> None:
        """Adds to the end. Raises TypeError for what the HF tokenizer would not encode; nothing is changed then."""
        check_text(text)
        now = self._current()
        now.pieces.append(text)
        native = _native_of(now.made_for)
        if native is not None and text:
            self._settle(native, now, text)

    def prepend(self, text: str) -> None:
        """Adds to the beginning; as `append`."""
        check_text(text)
        now = self._current()
        now.before.append(text)
        native = _native_of(now.made_for)
        if native is None or not text:
            return
        head = text + now.head
        now.head, self._head_ids = "", None
        if now.from_start:
            now.ids, now.tail, now.from_start = [], None, False
            head = now.text
        if now.tail is None:
            self._word = self._tail_ids = None
            self._settle(native, now, head)
            return
        seam = native.core.first_seam(head)
        if seam is not None:
            now.front.append(self._part(native, head, seam, len(head)))
            head = head[:seam]
        now.head = head

    @property
    def ids(self) -> list[int]:
        """The ids of the text so far, a new list."""
        return self.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """The same from id number `start` on: `ids[start:]`, in the time of what that has.

        With `stable`, as it was before an append, for `start` these are all ids that the append may have changed:
        `mine[stable:] = growing.ids_from(stable)` brings a list up to date. Raises ValueError if `start` is negative.
        """
        if start < 0:
            raise ValueError(f"start={start}: a number of ids, from 0 on, expected")
        now = self._current()
        native = _native_of(now.made_for)
        if native is None:
            return self._by_hf(now)[start:]
        if self._encoder.settings.verify:
            ids = self._from(native, now, 0)
            return self._encoder.verified_ids(now.text, ids, self._add_special_tokens, self._split)[start:]
        return self._from(native, now, start)

    def _from(self, native: NativeRoute, now: Settled, start: int) -> list[int]:
        prefix, suffix = native.special_token_ids if self._add_special_tokens else ([], [])
        head, tail = self._edges(native, now)
        ids: list[int] = []
        for part in (prefix, head, *reversed(now.front), now.ids, tail, suffix):
            if start < len(part):
                ids += part[start:] if start else part
            start = max(0, start - len(part))
        return ids

    @property
    def count(self) -> int:
        """How many ids there are, without building them."""
        now = self._current()
        native = _native_of(now.made_for)
        if native is None:
            return len(self._by_hf(now))
        settled = len(now.ids) + sum(map(len, now.front))
        settled += native.special_tokens_added if self._add_special_tokens else 0
        if self._find_word(native, now):
            word: int = self._word.count()
            return settled + word + (0 if now.tail is None else len(self._head(native, now)))
        head, tail = self._edges(native, now)
        return settled + len(head) + len(tail)

    @property
    def stable(self) -> int:
        """How many of the first ids no later append can change; `prepend` changes them, of course.

        0 where Hugging Face does the work: nothing is known then.
        """
        now = self._current()
        native = _native_of(now.made_for)
        if native is None:
            return 0
        first = native.prefix_length if self._add_special_tokens else 0
        if now.tail is None:
            return first
        return first + len(self._head(native, now)) + sum(map(len, now.front)) + len(now.ids)

    def snapshot(self) -> IncrementalState:
        """The state as it is now. Takes no time that grows with the text, but with how often it was prepended to."""
        now = self._current()
        kept = replace(now, front=now.front.copy(), before=now.before.copy())
        return IncrementalState(kept, len(now.ids), len(now.pieces))

    def restore(self, state: IncrementalState) -> None:
        """Goes back to a state of this encoder, or of another one of the same tokenizer with the same options."""
        settled = state.settled
        self._now = replace(
            settled,
            front=settled.front.copy(),
            ids=settled.ids[: state.ids],
            before=settled.before.copy(),
            pieces=settled.pieces[: state.pieces],
        )
        self._head_ids = self._tail_ids = self._word = None

    def _current(self) -> Settled:
        """What is settled, for the tokenizer as it is now."""
        now, made_for = self._now, self._encoder.snapshot()
        if now.made_for is made_for:
            return now
        text = now.text
        self._now = anew = Settled(made_for, pieces=[text])
        self._head_ids = self._tail_ids = self._word = None
        native = _native_of(made_for)
        if native is not None and text:
            self._settle(native, anew, text)
        return anew

    def _settle(self, native: NativeRoute, now: Settled, text: str) -> None:
        """Takes in text at the end."""
        before = now.head if now.tail is None else now.tail
        # Of the last character's place the one behind it was not known.
        known = max(len(before) - 2, 0)
        rest = before + text
        self._tail_ids = None
        last = native.core.last_seam(rest, known)
        in_groups = last is None and len(rest) >= _LONG_WORD
        if in_groups:
            last = native.core.last_group(rest)
        if self._word is not None and (last is not None or not self._word.append(text)):
            self._word = None
        if in_groups and last is not None and now.tail is None:
            now.from_start = True
            now.ids += self._part(native, rest, 0, last, inside=False)
            now.head, now.tail, self._head_ids = "", rest[last:], None
            return
        if now.tail is None:
            self._head_ids = None
            if last is None:
                now.head = rest
                return
            first = native.core.first_seam(rest, known)
            now.head = rest[:first]
            now.ids += self._part(native, rest, first, last)
        elif last is not None:
            now.ids += self._part(native, rest, 0, last)
        now.tail = rest if last is None else rest[last:]

    def _edges(self, native: NativeRoute, now: Settled) -> tuple[list[int], list[int]]:
        """Ids of the head and of the tail."""
        head = self._head(native, now)
        if self._tail_ids is None:
            if not now.tail:
                self._tail_ids = []
            elif self._find_word(native, now):
                self._tail_ids = self._word.ids()
            else:
                self._tail_ids = self._part(native, now.tail, 0, len(now.tail))
        return head, self._tail_ids

    def _head(self, native: NativeRoute, now: Settled) -> list[int]:
        """Ids of the head."""
        if self._head_ids is None:
            if now.tail is None and self._find_word(native, now):
                self._head_ids = self._word.ids()
            else:
                self._head_ids = self._part(native, now.head, 0, len(now.head), inside=False)
        return self._head_ids

    def _find_word(self, native: NativeRoute, now: Settled) -> bool:
        """Whether what has no seam, at the end of the text, is a long word."""
        last = now.head if now.tail is None else now.tail
        if self._word is None and len(last) >= _LONG_WORD:
            self._word = native.core.growing_word(last)
        return self._word is not None

    def _part(self, native: NativeRoute, text: str, begin: int, end: int, inside: bool = True) -> list[int]:
        threads = native.threads_for(end - begin)
        ids: list[int] = native.core.encode_part(text, begin, end, inside, self._split, threads)
        return ids

    def _by_hf(self, now: Settled) -> list[int]:
        self._encoder.count_hf_call("incremental: " + now.made_for.reason)
        return self._encoder.hf.encode_list(now.text, self._add_special_tokens, self._split)
