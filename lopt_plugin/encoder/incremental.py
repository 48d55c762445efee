"""Ids of a text that grows at either end; the part that can no longer change is not encoded again."""

from __future__ import annotations

from typing import Any

from ..routes.request import EncodeRequest, NeedsReference
from .checks import an_int, encodable
from .operations import LIST
from .route_choice import Snapshot
from .runner import Runner
from .settled import IncrementalState, Middle, Row, Settled

# From this length on, a stretch without a seam is divided, or kept as growing words; the core has the same bound.
_LONG_WORD = 512


class IncrementalEncoder:
    """The ids of a text that grows. Made by `tokenizer.lopt.incremental`.

    `ids` always equals the encoding of the whole text. `append` only stores the text. It is encoded when a result is
    requested, at the cost of the text added since the last request and the few characters after the last place where
    the text can be divided. (Of a long word, only the new part is read. Different marks that Unicode sorts are encoded
    again at each request, for they change the ids before them.) If Hugging Face does the work
    (`tokenizer.lopt.explain()` says why), every request for ids encodes the whole text. If the tokenizer is changed,
    the whole text is encoded again, once.

    Not safe to use from several threads at once.

    >>> chat = tokenizer.lopt.incremental()
    >>> chat.append("Hello"); chat.append(" world")
    >>> chat.ids == tokenizer.lopt.encode_list("Hello world")
    True
    """

    def __init__(self, runner: Runner, request: EncodeRequest) -> None:
        self._runner = runner
        self._request = request
        self._go_on_with(self._nothing(runner.state.snapshot()))

    def _go_on_with(self, settled: Settled) -> None:
        self._now = settled
        self._waiting: list[str] = []  # the last pieces of the text, of which nothing is settled yet
        self._broken = False  # the text is true, and what was settled of it is not
        self._head_ids: list[int] | None = None
        self._tail_ids: list[int] | None = None
        self._words: Any = None  # the end of the text in the core, if it is long, without a seam, and of Unigram
        # How long a text without a seam must be to search for another place in it, and to try it as words.
        self._search_from = self._words_from = _LONG_WORD
        # A list of the caller's, its length as it was left, and how many of the first ids no append can change.
        self._updated: tuple[list[int], int, int] | None = None

    @property
    def text(self) -> str:
        """The text so far.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello"); chat.append(" world"); chat.text
        'Hello world'
        """
        return self._now.text

    def append(self, text: str) -> None:
        """Adds text at the end.

        Args:
            text: The text to add.

        Raises:
            TypeError: For an object that Hugging Face would not encode. The text is unchanged then.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello"); chat.count == tokenizer.lopt.count("Hello")
        True
        """
        encodable(text)
        self._now.pieces.append(text)
        self._waiting.append(text)

    def prepend(self, text: str) -> None:
        """Adds text at the beginning.

        Args:
            text: The text to add.

        Raises:
            TypeError: For an object that Hugging Face would not encode. The text is unchanged after any error.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append(" world"); chat.prepend("Hello"); chat.text
        'Hello world'
        """
        encodable(text)
        now = self._current()
        now.before.append(text)
        if now.middle is not None and text:
            try:
                self._settle_before(now, now.middle, text)
            except BaseException:
                now.before.pop()
                self._broken = True
                raise

    def _settle_before(self, now: Settled, middle: Middle, text: str) -> None:
        """Takes in text at the beginning."""
        head = text + now.head
        now.head, self._head_ids, self._updated = "", None, None
        if now.from_start:
            # States keep what they have.
            middle.front, middle.ids = [], middle.native.core.settled_ids()
            now.tail, now.row, now.from_start = None, None, False
            head = now.text
        if now.tail is None:
            self._words = self._tail_ids = None
            self._settle(now, middle, head)
            return
        seam = middle.native.core.first_seam(head)
        if seam is not None:
            middle.front.append(middle.part(head, seam, len(head)))
            head = head[:seam]
        now.head = head

    @property
    def ids(self) -> list[int]:
        """The ids of the text so far, a new list.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.ids
        []
        """
        return self.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """Returns the last ids, in time proportional to their number.

        Args:
            start: How many of the first ids to skip.

        Returns:
            `ids[start:]`, a new list.

        Raises:
            ValueError: If `start` is negative.
            TypeError: If it is not an int.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello world"); chat.ids_from(1) == chat.ids[1:]
        True
        """
        if an_int(start, "start") < 0:
            raise ValueError(f"start={start}: a number of ids, from 0 on, expected")
        return self._ids_from(self._current(), start)

    def update(self, ids: list[int]) -> None:
        """Updates a list of yours to the ids of the text so far.

        If it is the list of the last `update`, with the length it had then, only the ids that an append may have
        changed are written. Any other list is rewritten. The encoder keeps a reference to the list until the next
        `update`.

        Args:
            ids: The list, changed in place.

        Raises:
            TypeError: If `ids` is not a list.

        >>> chat, mine = tokenizer.lopt.incremental(), []
        >>> chat.append("Hello"); chat.update(mine)
        >>> chat.append(" world"); chat.update(mine)
        >>> mine == chat.ids
        True
        """
        if not isinstance(ids, list):
            raise TypeError(f"update: a list of ids expected, not {type(ids).__name__}")
        now, updated = self._current(), self._updated
        start = 0
        if updated is not None and updated[0] is ids and updated[1] == len(ids):
            start = updated[2]
        changed, self._updated = self._ids_from(now, start), None
        ids[start:] = changed
        # Ids that are compared with Hugging Face's may prove to differ from the first one on.
        if now.middle is not None and not self._runner.settings.verify:
            self._updated = ids, len(ids), self._stable(now, now.middle) + now.row_ids

    def _ids_from(self, now: Settled, start: int) -> list[int]:
        middle, runner = now.middle, self._runner
        if middle is None:
            return self._by_hf(now)[start:]
        if not runner.settings.verify or not runner.verification.is_due():
            return self._by_parts(now, middle, start)
        ids = self._by_parts(now, middle, 0)
        try:
            runner.verify(now.made_for, LIST, now.text, self._request, ids)
        except NeedsReference:
            ids = runner.hf.encode_list(now.text, self._request)
        return ids[start:]

    def _by_parts(self, now: Settled, middle: Middle, start: int) -> list[int]:
        around = middle.native.post_processing if self._request.add_special_tokens else None
        prefix, suffix = (around.prefix, around.suffix) if around is not None else ([], [])
        head, tail = self._edges(now, middle)
        first: list[int] = []
        for part in (prefix, head, *reversed(middle.front)):
            if start < len(part):
                first += part[start:] if start else part
            start = max(0, start - len(part))
        ids: list[int] = middle.ids.list_from(first, start)
        start = max(0, start - len(middle.ids))
        if now.row is not None:
            ids += now.row.ids.list_from([], start)
            start = max(0, start - now.row_ids)
        for part in (tail, suffix):
            ids += part[start:] if start else part
            start = max(0, start - len(part))
        return ids

    @property
    def count(self) -> int:
        """The number of ids, without making a list of them.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello world"); chat.count == len(chat.ids)
        True
        """
        now = self._current()
        middle = now.middle
        if middle is None:
            return len(self._by_hf(now))
        settled = len(middle) + now.row_ids + middle.native.post_processing.ids_added(self._request)
        if self._find_words(now, middle):
            words: int = self._words.count()
            return settled + words + (0 if now.tail is None else len(self._head(now, middle)))
        head, tail = self._edges(now, middle)
        return settled + len(head) + len(tail)

    @property
    def stable(self) -> int:
        """The number of leading ids that no later append can change (`prepend` can).

        0 if Hugging Face does the work, because nothing is known then.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello world, once more"); stable = chat.ids[:chat.stable]
        >>> chat.append("!"); chat.ids[:len(stable)] == stable
        True
        """
        now = self._current()
        return 0 if now.middle is None else self._stable(now, now.middle)

    def _stable(self, now: Settled, middle: Middle) -> int:
        first = len(middle.native.post_processing.prefix) if self._request.add_special_tokens else 0
        return first if now.tail is None else first + len(self._head(now, middle)) + len(middle)

    def snapshot(self) -> IncrementalState:
        """Returns the current state. Appended text is encoded first; apart from that, only `prepend` calls cost time.

        Returns:
            The state, for `restore`.

        >>> chat = tokenizer.lopt.incremental()
        >>> chat.append("Hello"); state = chat.snapshot()
        >>> chat.append(" world"); chat.restore(state); chat.text
        'Hello'
        """
        return self._current().state()

    def restore(self, state: IncrementalState) -> None:
        """Goes back to an earlier state.

        Args:
            state: A state of this encoder, or of another one of the same tokenizer with the same options.

        >>> chat, other = tokenizer.lopt.incremental(), tokenizer.lopt.incremental()
        >>> chat.append("Hello"); other.restore(chat.snapshot())
        >>> other.append(" world"); other.text, chat.text
        ('Hello world', 'Hello')
        """
        self._go_on_with(Settled.of(state))

    def _nothing(self, snapshot: Snapshot) -> Settled:
        native = snapshot.native
        if native is None or not native.seams_checked:
            return Settled(snapshot, None)
        return Settled(snapshot, Middle(native, self._request.split_special_tokens, native.core.settled_ids()))

    def _current(self) -> Settled:
        """What is settled of the whole text, for the tokenizer as it is now."""
        now, made_for = self._now, self._runner.state.snapshot()
        if now.made_for is made_for and not self._broken:
            text = "".join(self._waiting)
        else:
            text = now.text
            self._go_on_with(now := self._nothing(made_for))
            now.pieces.append(text)
        self._waiting = []
        if now.middle is not None and text:
            # After an error halfway, such as running out of memory, the next call encodes the whole text again.
            self._broken = True
            self._settle(now, now.middle, text)
            self._broken = False
        return now

    def _settle(self, now: Settled, middle: Middle, text: str) -> None:
        """Takes in text at the end."""
        if now.row is not None and now.tail is not None:
            text = self._after_row(now, middle, now.row, now.tail, text)
        before = now.head if now.tail is None else now.tail
        # Whether there is a seam after the last character depends on the next one, which was not known.
        known = max(len(before) - 2, 0)
        rest = before + text
        self._tail_ids = None
        core = middle.native.core
        last = core.last_seam(rest, known) if now.row is None else None
        if self._words is not None and (last is not None or not self._words.append(text)):
            self._words = None
        if last is not None:
            self._search_from = self._words_from = _LONG_WORD
        elif self._words is None and len(rest) >= self._search_from:
            split = self._request.split_special_tokens
            self._words = core.growing_words(rest, now.inside, split)
            place = None
            if self._words is None:
                ids = core.settled_ids() if now.row is None else now.row.ids
                place = core.settle_beginning(ids, rest, now.inside, split)
            if self._words is None and place is None:
                rest = "".join(rest[begin:end] for begin, end in core.kept_parts(rest))
            # Where there was none, there may be one later, but a search costs as much as an encoding.
            self._search_from = _LONG_WORD if place is not None else max(_LONG_WORD, 2 * len(rest))
            if place is not None:
                at, inside, self._tail_ids, is_final, marks = place
                if is_final:
                    middle.ids.extend(ids)
                elif now.row is None:
                    now.row = Row(ids, rest, now.tail is not None, now.tail_inside, len(now.pieces))
                if now.tail is None:
                    now.head, now.from_start, self._head_ids = "", True, None
                now.tail, now.tail_inside = marks + rest[at:], inside
                self._words_from = _LONG_WORD
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
            middle.settle(rest, 0, last, now.tail_inside)
        now.tail, now.tail_inside = (rest, now.tail_inside) if last is None else (rest[last:], True)

    def _after_row(self, now: Settled, middle: Middle, row: Row, tail: str, text: str) -> str:
        """Decides what appended text does to an open row. Returns the text to take in: this one, or more of the end."""
        is_final = middle.native.core.ends_row(tail, text)
        if is_final is None:
            return text
        if is_final:
            middle.ids.extend(row.ids)
            now.row = None
            return text
        self._head_ids = self._words = self._updated = None
        self._search_from = self._words_from = _LONG_WORD
        return now.undo(row)

    def _edges(self, now: Settled, middle: Middle) -> tuple[list[int], list[int]]:
        """Ids of the head and of the tail."""
        head = self._head(now, middle)
        if self._tail_ids is None:
            if not now.tail:
                self._tail_ids = []
            elif self._find_words(now, middle):
                self._tail_ids = self._words.ids()
            else:
                self._tail_ids = middle.part(now.tail, 0, len(now.tail), now.tail_inside)
        return head, self._tail_ids

    def _head(self, now: Settled, middle: Middle) -> list[int]:
        """Ids of the head."""
        if self._head_ids is None:
            if now.tail is None and self._find_words(now, middle):
                self._head_ids = self._words.ids()
            else:
                self._head_ids = middle.part(now.head, 0, len(now.head), inside=False)
        return self._head_ids

    def _find_words(self, now: Settled, middle: Middle) -> bool:
        """Whether what has no seam, at the end of the text, is kept as growing words."""
        last = now.head if now.tail is None else now.tail
        if self._words is None and len(last) >= self._words_from:
            split = self._request.split_special_tokens
            self._words = middle.native.core.growing_words(last, now.inside, split)
            self._words_from = 2 * len(last)
        return self._words is not None

    def _by_hf(self, now: Settled) -> list[int]:
        self._runner.count_reference_call("incremental: " + now.made_for.reason)
        return self._runner.hf.encode_list(now.text, self._request)
