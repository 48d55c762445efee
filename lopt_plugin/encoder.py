"""Encoder: text to ids, by the best route that is exact for the tokenizer, and why that one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from . import growing
from .explanation import explanation
from .gpu_use import check_device
from .route_calls import RouteCalls
from .routes import CannotEncodeError, Ids, Offsets
from .row_kinds import Arrays
from .row_request import RowRequest
from .settings import Settings
from .token_batch import TokenBatch

if TYPE_CHECKING:
    from .left_settings import LeftSettings


class Encoder(RouteCalls):
    """Encodes texts as `backend` would, and notices when `backend` changes (see backend_watch for what is noticed).

    The route is chosen when the encoder is made (at the first use if `lazy`) and again before the first call after a
    change. A tokenizer that has gone to HF stays there. Safe to use from several threads and after a fork. Counts of
    calls may miss a few when threads meet.

    split_special_tokens is the default of the methods' argument of that name; tokenizers set it to their own.
    observer is told of every call.
    """

    def __init__(self, backend: Tokenizer, settings: Settings | None = None, *, lazy: bool = False) -> None:
        super().__init__(backend, settings)
        self.split_special_tokens = False
        # What the calls of the tokenizer since the last one of transformers would have set; None if there were none. It
        # stands here, not in the tokenizer, whose pickle (and hash of it, by datasets) is the same before and after.
        self.left: LeftSettings | None = None
        if not lazy:
            self.snapshot()

    def copy_for(self, backend: Tokenizer) -> Encoder:
        """An encoder for a copy of the backend; what was built for this one is shared, as far as it is still true."""
        copied = Encoder(backend, self.settings, lazy=True)
        copied.observer = self.observer
        self._state.pass_on(copied._state)
        copied.gpu_use = self.gpu_use.copy_for(backend)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # Nothing of what was built or counted: a pickle, and a hash of it (datasets), does not depend on earlier calls.
        return _restore, (self.backend, self.settings, self.split_special_tokens)

    def encode_ids(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> Ids:
        """Ids of one text, int32 [n]. What is not encodable raises the HF tokenizer's own TypeError."""
        split = self._split(split_special_tokens)
        if isinstance(text, str):
            ids = self.native_array(self.snapshot(), plain(text), add_special_tokens, split)
            if ids is not None:
                return ids
        self.count_hf_call("encode_ids: " + self.snapshot().reason)
        return self.timed_hf(lambda: self.hf.encode_array(text, add_special_tokens, split))

    def encode_list(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """The same as a list of Python ints."""
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        if isinstance(text, str):
            ids = self.native_list(self.snapshot(), plain(text), add_special_tokens, split, None, False)
            if ids is not None:
                return ids
        self.count_hf_call("encode_list: " + self.snapshot().reason)
        return self.timed_hf(lambda: self.hf.encode_list(text, add_special_tokens, split))

    def encode_batch_ids(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        device: Any = None,
        *,
        split_special_tokens: bool | None = None,
    ) -> TokenBatch:
        """Ids of several texts: arrays on the host, or, with a `device` such as "cuda", torch tensors there.

        With `device`, the GPU route does the work where it can be had, whatever the batch's size. Where there is no
        such device, the tensors are on the CPU, and the log says why. Raises ValueError for what is no CUDA device.
        """
        split = self._split(split_special_tokens)
        texts = list(texts)
        are_texts = all(isinstance(text, str) for text in texts)
        if device not in (None, "cpu"):
            cuda = check_device(device)
            if are_texts:
                on_device = self.batch_on_device(cuda, list(map(plain, texts)), add_special_tokens, split)
                if on_device is not None:
                    return on_device
            on_host = self.encode_batch_ids(texts, add_special_tokens, split_special_tokens=split)
            return self.gpu_use.moved(on_host, cuda)
        if are_texts:
            batch = self.native_batch(self.snapshot(), list(map(plain, texts)), add_special_tokens, split)
            if batch is not None:
                return batch
        self.count_hf_call("encode_batch_ids: " + self.snapshot().reason)
        return self.timed_hf(lambda: TokenBatch(*self.hf.encode_batch(texts, add_special_tokens, split)))

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> tuple[Ids, Offsets]:
        """Ids of one text, int32 [n], and their offset mapping, int32 [n, 2].

        Offsets are in characters of `text`, as `Encoding.offsets` of the HF tokenizer has them: the text of id i is
        `text[offsets[i, 0]:offsets[i, 1]]`, and special tokens of the post-processor have (0, 0).
        """
        split = self._split(split_special_tokens)
        request = RowRequest(bool(add_special_tokens), split, None, "longest_first", False, None, True)
        reason = self.snapshot().reason
        if isinstance(text, str):
            try:
                columns = self.native_rows(self.snapshot(), [plain(text)], request, Arrays)
            except CannotEncodeError as error:
                reason = str(error)
            else:
                return columns.ids[0].astype(np.int32), columns.offsets[0].astype(np.int32)
        self.count_hf_call("encode_with_offsets: " + reason)
        (encoding,) = self.timed_hf(lambda: self.hf.encodings([text], bool(add_special_tokens), split))
        return np.array(encoding.ids, np.int32), np.array(encoding.offsets, np.int32).reshape(-1, 2)

    def incremental(
        self, *, add_special_tokens: bool = True, split_special_tokens: bool | None = None
    ) -> growing.IncrementalEncoder:
        """Encodes a text that grows; see IncrementalEncoder."""
        return growing.IncrementalEncoder(self, bool(add_special_tokens), self._split(split_special_tokens))

    def intervals(
        self, text: str, *, add_special_tokens: bool = False, split_special_tokens: bool | None = None
    ) -> growing.Intervals:
        """Counts ids of any part of a text; see Intervals."""
        split = self._split(split_special_tokens)
        return growing.Intervals(self, text, bool(add_special_tokens), split)

    def count(self, text: str, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None) -> int:
        """How many ids the text has. What is not encodable raises the HF tokenizer's own TypeError."""
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        # The shortest way for what is asked most often: of a short text, calls and tuples cost as much as its ids.
        native = self._state.snapshot().native
        if native is not None and native.seams_checked and isinstance(text, str):
            try:
                number = native.count(text, add_special_tokens, split)
            except ValueError:
                pass
            else:
                self.native_calls += 1
                return number
        return growing.count(self, text, add_special_tokens, split)

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> list[int]:
        """`count` of each text, on all threads."""
        return growing.count_batch(self, texts, bool(add_special_tokens), self._split(split_special_tokens))

    def count_until(
        self, text: str, limit: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> int | None:
        """`count`, or None if it is more than `limit`; then the rest of the text is not read, not even for errors."""
        return growing.count_until(self, text, limit, bool(add_special_tokens), self._split(split_special_tokens))

    def cut(
        self, text: str, max_tokens: int, add_special_tokens: bool = True, *, split_special_tokens: bool | None = None
    ) -> str:
        """The longest prefix of the text that has at most `max_tokens` ids when it is encoded by itself.

        A longer prefix may have fewer ids than a shorter one. Raises ValueError where even an empty text has more.
        """
        split = self._split(split_special_tokens)
        return text[: growing.cut(self, text, max_tokens, bool(add_special_tokens), split)]

    def _split(self, asked: bool | None) -> bool:
        return self.split_special_tokens if asked is None else asked

    def explain(self, text: str | Sequence[str] | None = None) -> dict[str, Any]:
        """What is active and why; for a text, or a batch of texts, the route that it would take, and in how many chunks
        a text (None: the core's choice). Nothing is encoded, and no GPU is started.
        """
        return explanation(self, text)


def plain(text: str) -> str:
    """The text as exactly `str`: subclasses may override what the core reads."""
    return text if type(text) is str else str.__str__(text)


def _restore(backend: Tokenizer, settings: Settings, split_special_tokens: bool) -> Encoder:
    encoder = Encoder(backend, settings, lazy=True)
    encoder.split_special_tokens = split_special_tokens
    return encoder
