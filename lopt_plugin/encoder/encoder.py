"""Encoder: text to ids and back, by the fastest route that is exact for the tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from ..routes import Ids, Offsets
from ..routes.hf import int32_ids
from ..routes.request import COMMONEST, PLAIN, Columns, EncodeRequest, NeedsReference, Row
from ..settings import Settings
from . import counting
from .call_state import PendingCallState
from .checks import a_bool, a_text, an_int, ids_of, texts_of
from .counting import Intervals
from .decode_stream import DecodeStream, decode_stream
from .decoding import Decoding
from .explain import explanation
from .gpu_policy import check_device
from .incremental import IncrementalEncoder
from .operations import ARRAY, BATCH, COLUMNS, LIST, batch_on
from .route_choice import Snapshot
from .runner import Runner
from .segments import Segments
from .token_batch import TokenBatch


class Encoder:
    """Encodes texts as `backend` would, and notices when `backend` changes (`backend_watch` says what it notices).

    The route is chosen when the encoder is made (at the first use if `lazy`), and again before the first call after a
    change. A tokenizer that has been handed over to the reference stays there. Safe to use from several threads and
    after a fork.

    Every encoding method except `encode_segments` takes `split_special_tokens`: whether special tokens in a text are
    tokenized like any other text. None means the tokenizer's own setting. For a text with a lone surrogate, which the
    reference cannot encode, every method raises the reference's own TypeError.

    >>> import lopt_plugin
    >>> tokenizer = lopt_plugin.from_pretrained(example_folder)
    >>> tokenizer.lopt.encode_list("Hello world") == tokenizer("Hello world")["input_ids"]
    True
    """

    def __init__(self, backend: Tokenizer, settings: Settings | None = None, *, lazy: bool = False) -> None:
        self._runner = Runner(backend, Settings.read() if settings is None else settings)
        self._state = self._runner.state
        self._backend = backend
        self._decoding = Decoding(self._runner)
        self._segments = Segments(self._runner)
        self._split_special_tokens = False
        # It stands here, not in the tokenizer, whose pickle (and the hash of it, by datasets) must not depend on calls.
        self._pending_call_state: PendingCallState | None = None
        if not lazy:
            self._state.snapshot()
            # Building it made other tokenizers, which counts as changes. Compared here, not by the first call.
            self._state.snapshot()

    def _copy_for(self, backend: Tokenizer) -> Encoder:
        """An encoder for a copy of the backend; it shares whatever was built for this one and is still valid."""
        copied = Encoder(backend, self._runner.settings, lazy=True)
        copied._runner.observer = self._runner.observer
        self._state.pass_on(copied._state)
        self._decoding.pass_on(copied._decoding)
        copied._runner.gpu = self._runner.gpu.copy_for(backend)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # Nothing that was built or counted: a pickle, and a hash of it (datasets), does not depend on earlier calls.
        return _restore, (self._backend, self._runner.settings, self._split_special_tokens)

    def _note_call_state(self, request: EncodeRequest) -> None:
        """Notes the truncation and padding that transformers would have written to the backend for this call."""
        wanted = None if request.max_length is None and request.padding is None else request
        pending = self._pending_call_state
        if pending is None or pending.request != wanted:
            self._pending_call_state = PendingCallState(self._runner.hf, wanted)

    def _write_call_state(self) -> None:
        if self._pending_call_state is not None:
            self._pending_call_state.write()
            self._pending_call_state = None

    def _request(self, add_special_tokens: Any, split_special_tokens: bool | None) -> EncodeRequest:
        split = self._split_special_tokens if split_special_tokens is None else split_special_tokens
        return PLAIN[a_bool(add_special_tokens, "add_special_tokens")][a_bool(split, "split_special_tokens")]

    def encode_ids(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> Ids:
        """Encodes one text to an array.

        Args:
            text: The text.
            add_special_tokens: Whether the post-processor adds its ids.
            split_special_tokens: See the class.

        Returns:
            The ids, int32 [n].

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.
            OverflowError: For an id above 2^31 - 1.

        >>> tokenizer.lopt.encode_ids("Hello world").dtype
        dtype('int32')
        """
        request = self._request(add_special_tokens, split_special_tokens)
        return self._runner.run("encode_ids", ARRAY, text if type(text) is str else a_text(text), request)[0]

    def encode_list(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """Encodes one text to a list.

        Args:
            text: The text.
            add_special_tokens: Whether the post-processor adds its ids.
            split_special_tokens: See the class.

        Returns:
            The ids.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.encode_list("")
        []
        """
        split = self._split_special_tokens if split_special_tokens is None else split_special_tokens
        if split is False:
            ids = self._state.short(text, add_special_tokens)
            if ids is not None:
                return ids
        request = self._request(add_special_tokens, split)
        return self._runner.run("encode_list", LIST, text if type(text) is str else a_text(text), request)[0]

    def encode_batch_ids(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        device: Any = None,
        *,
        split_special_tokens: bool | None = None,
    ) -> TokenBatch:
        """Encodes several texts, on the host or on a GPU.

        Args:
            texts: The texts.
            add_special_tokens: Whether the post-processor adds its ids to each.
            device: None or "cpu" for NumPy arrays. A CUDA device, such as "cuda", for torch tensors there: the GPU
                does the work if it can, whatever the batch's size. If there is no such device, the tensors are on the
                CPU, and the log says why.
            split_special_tokens: See the class.

        Returns:
            The ids, int32 [n], and where each row begins, int64 [rows + 1].

        Raises:
            ValueError: For a device that is not a CUDA device.
            ImportError: For a device without torch.
            TypeError: For an argument of another type, or a text with a lone surrogate.
            OverflowError: For an id above 2^31 - 1.

        >>> batch = tokenizer.lopt.encode_batch_ids(["Hello", "Hello world"])
        >>> len(batch), batch.row(1).tolist() == tokenizer.lopt.encode_list("Hello world")
        (2, True)
        """
        request = self._request(add_special_tokens, split_special_tokens)
        texts = texts_of(texts)
        if device in (None, "cpu"):
            return self._runner.run("encode_batch_ids", BATCH, texts, request)[0]
        cuda = check_device(device)
        try:
            return self._runner.run(None, batch_on(cuda), texts, request)[0]
        except NeedsReference:
            return self._runner.gpu.moved(self._runner.run("encode_batch_ids", BATCH, texts, request)[0], cuda)

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> tuple[Ids, Offsets]:
        """Encodes one text, and returns which characters each id came from.

        Args:
            text: The text.
            add_special_tokens: Whether the post-processor adds its ids; their offsets are (0, 0).
            split_special_tokens: See the class.

        Returns:
            The ids, int32 [n], and their offsets, int32 [n, 2]: id i came from `text[offsets[i, 0]:offsets[i, 1]]`.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.
            OverflowError: For an id above 2^31 - 1.

        >>> ids, offsets = tokenizer.lopt.encode_with_offsets("Hello world")
        >>> offsets.shape == (len(ids), 2)
        True
        """
        request = self._request(add_special_tokens, split_special_tokens)._replace(offsets=True, arrays=True)
        columns, _ = self._runner.run("encode_with_offsets", COLUMNS, (a_text(text),), request)
        return int32_ids(columns.ids[0]), np.array(columns.offsets[0], np.int32).reshape(-1, 2)

    def encode_segments(self, segments: Iterable[tuple[str, bool]], add_special_tokens: bool = True) -> list[int]:
        """Encodes a text of trusted and untrusted segments: only trusted ones can have special tokens.

        The segments are joined and encoded as one text. Neighbouring trusted segments form one run, and the special
        tokens of a run are those that Hugging Face finds in the run alone: untrusted text neither adds nor removes any.
        All other text is encoded as with `split_special_tokens=True`. If all segments are trusted, the ids are those of
        `encode_list(joined)`; if none is, those of `encode_list(joined, split_special_tokens=True)`.

        Args:
            segments: Pairs of a text and whether it is trusted.
            add_special_tokens: Whether the post-processor adds its ids.

        Returns:
            The ids.

        Raises:
            ValueError: If the model itself turns untrusted text into a special token, as Unigram may. If trusted text
                next to untrusted text has a special token that is matched only in normalized text, or must be a single
                word.
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> ids = tokenizer.lopt.encode_segments([("<|start|>", True), ("Hello <|end|>", False), ("<|end|>", True)])
        >>> ids.count(tokenizer.convert_tokens_to_ids("<|end|>"))
        1
        """
        return self._segments.encode(segments, a_bool(add_special_tokens, "add_special_tokens"))

    def incremental(
        self, *, add_special_tokens: bool = True, split_special_tokens: bool | None = None
    ) -> IncrementalEncoder:
        """Makes an encoder for a text that grows.

        Args:
            add_special_tokens: Whether the post-processor adds its ids.
            split_special_tokens: See the class.

        Returns:
            An IncrementalEncoder without text.

        >>> growing = tokenizer.lopt.incremental()
        >>> growing.append("Hello"); growing.append(" world")
        >>> growing.ids == tokenizer.lopt.encode_list("Hello world")
        True
        """
        return IncrementalEncoder(self._runner, self._request(add_special_tokens, split_special_tokens))

    def intervals(
        self, text: str, *, add_special_tokens: bool = False, split_special_tokens: bool | None = None
    ) -> Intervals:
        """Prepares a text so that the ids of any part of it can be counted quickly.

        Args:
            text: The text.
            add_special_tokens: Whether each count includes the post-processor's ids.
            split_special_tokens: See the class.

        Returns:
            An Intervals object.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.intervals("Hello world").count(0, 5) == tokenizer.lopt.count("Hello", False)
        True
        """
        return Intervals(self._runner, a_text(text), self._request(add_special_tokens, split_special_tokens))

    def count(self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None) -> int:
        """Counts the ids of a text.

        Args:
            text: The text.
            add_special_tokens: Whether the post-processor's ids count.
            split_special_tokens: See the class.

        Returns:
            The number of ids.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.count("Hello world") == len(tokenizer.lopt.encode_list("Hello world"))
        True
        """
        split = self._split_special_tokens if split_special_tokens is None else split_special_tokens
        request = (
            COMMONEST if add_special_tokens is True and split is False else self._request(add_special_tokens, split)
        )
        return self._runner.run("count", counting.COUNT, text if type(text) is str else a_text(text), request)[0]

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """Counts the ids of each text, on all threads.

        Args:
            texts: The texts.
            add_special_tokens: Whether the post-processor's ids count.
            split_special_tokens: See the class.

        Returns:
            A number for each text.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.count_batch(["Hello", ""], add_special_tokens=False)[1]
        0
        """
        request = self._request(add_special_tokens, split_special_tokens)
        return self._runner.run("count_batch", counting.COUNT_BATCH, texts_of(texts), request)[0]

    def count_until(
        self, text: str, limit: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> int | None:
        """Counts the ids of a text up to a limit.

        Args:
            text: The text. It is not read beyond the limit, not even to find errors.
            limit: The largest number of ids to count to.
            add_special_tokens: Whether the post-processor's ids count.
            split_special_tokens: See the class.

        Returns:
            The number of ids; None if it is more than `limit`.

        Raises:
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.count_until("word " * 100_000, 100) is None
        True
        """
        request = self._request(add_special_tokens, split_special_tokens)
        return self._runner.run("count_until", counting.COUNT_UNTIL, (a_text(text), an_int(limit, "limit")), request)[0]

    def cut(
        self, text: str, max_tokens: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> str:
        """Finds the longest prefix of a text that, encoded by itself, fits into a number of ids.

        Args:
            text: The text.
            max_tokens: The maximum number of ids. A longer prefix may have fewer ids than a shorter one.
            add_special_tokens: Whether the post-processor's ids count.
            split_special_tokens: See the class.

        Returns:
            The prefix. If finding the longest one would take more than linear time, for example in thousands of
            combining marks in a row, a shorter prefix that fits is returned, and a warning is logged.

        Raises:
            ValueError: If even an empty text has more ids.
            TypeError: For an argument of another type, or a text with a lone surrogate.

        >>> tokenizer.lopt.count(tokenizer.lopt.cut("word " * 1000, 100)) <= 100
        True
        """
        request = self._request(add_special_tokens, split_special_tokens)
        given = a_text(text), an_int(max_tokens, "max_tokens")
        return text[: self._runner.run("cut", counting.CUT, given, request)[0]]

    def decode_ids(self, ids: Sequence[int] | Ids, skip_special_tokens: bool = False) -> str:
        """Decodes ids to a text.

        Args:
            ids: The ids, as a list or a one-dimensional array.
            skip_special_tokens: Whether special tokens are left out.

        Returns:
            The text, as the backend decodes it; transformers' `clean_up_tokenization_spaces` is not applied.

        Raises:
            TypeError: If something is not an id.
            OverflowError: For a number below 0 or above 2^32 - 1. An id that the vocabulary does not have adds nothing.

        >>> tokenizer.lopt.decode_ids(tokenizer.lopt.encode_ids("Hello world"))
        'Hello world'
        """
        given = ids if type(ids) is list else ids_of(ids)
        text = self._decoding.decode(given, skip_special_tokens)
        return self._decoding.text("decode_ids", given, skip_special_tokens) if text is None else text

    def decode_batch(
        self, rows: Sequence[Sequence[int] | Ids] | TokenBatch, skip_special_tokens: bool = False
    ) -> list[str]:
        """Decodes several rows of ids.

        Args:
            rows: The rows, each a list or a one-dimensional array of ids; or a TokenBatch.
            skip_special_tokens: Whether special tokens are left out.

        Returns:
            The text of each row, as for `decode_ids`.

        Raises:
            TypeError: If something is not an id.
            OverflowError: As for `decode_ids`.

        >>> tokenizer.lopt.decode_batch(tokenizer.lopt.encode_batch_ids(["Hello", "world"]))
        ['Hello', 'world']
        """
        given = map(rows.row, range(len(rows))) if isinstance(rows, TokenBatch) else rows
        lists = [row if type(row) is list else ids_of(row) for row in given]
        texts = self._decoding.decode_rows(lists, skip_special_tokens)
        return self._decoding.texts("decode_batch", lists, skip_special_tokens) if texts is None else texts

    def decode_stream(self, ids: Sequence[int] | Ids = (), skip_special_tokens: bool = False) -> DecodeStream:
        """Makes a decoder for ids that arrive one by one.

        Args:
            ids: The ids that precede the first one to decode, such as those of a prompt.
            skip_special_tokens: Whether special tokens are left out.

        Returns:
            A DecodeStream. Its `step(id)` works like that of `tokenizers.decoders.DecodeStream` for this tokenizer: it
            returns the next part of the text, or None if a character is incomplete. The time is linear in the text.

        Raises:
            TypeError: If something is not an id.

        >>> stream = tokenizer.lopt.decode_stream()
        >>> "".join(stream.step(number) or "" for number in tokenizer.lopt.encode_list("Hello world"))
        'Hello world'
        """
        return decode_stream(self._decoding, ids_of(ids), a_bool(skip_special_tokens, "skip_special_tokens"))

    def explain(self, text: str | Sequence[str] | None = None) -> dict[str, Any]:
        """Says what is active and why. Nothing is encoded, and no GPU is started.

        Args:
            text: A text or a batch of texts, to see which route it would take and in how many chunks; or None.

        Returns:
            The route and the reason for it, the tokenizer's pipeline, settings, versions, and how often each route
            answered.

        >>> tokenizer.lopt.explain()["route"]
        'native'
        """
        return explanation(self._runner, self._decoding, text)

    def _encode(self, rows: Sequence[Row], request: EncodeRequest) -> tuple[Columns, Snapshot]:
        """The columns of each row, and the state of the backend that they are for. Raises NeedsReference."""
        if request.is_plain and not request.offsets:
            found = self._state.short_and_snapshot(rows, request)
            if found is not None:
                return Columns(found[0]), found[1]
        return self._runner.run(None, COLUMNS, rows, request)


def _restore(backend: Tokenizer, settings: Settings, split_special_tokens: bool) -> Encoder:
    encoder = Encoder(backend, settings, lazy=True)
    encoder._split_special_tokens = split_special_tokens
    return encoder
