"""The native core: the whole pipeline in C++, long texts in chunks on several threads."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..pipeline import BytePairModel, Pipeline
from ..settings import Settings
from . import CannotEncodeError, Ids, RowOffsets
from .device.packing import Around, Packed
from .native_core import build_core

if TYPE_CHECKING:
    from ..native._core import TextsAhead

logger = logging.getLogger("lopt_plugin")

# Of a text with more than so many characters for each id that is kept, the end may well not be needed.
_FIRST_OF_CHARS = 4

# Shorter texts are encoded anew nearly as fast as what is known of them is found.
_KEPT_FROM_CHARS = 8192

NO_TEMPLATE = "a post-processor whose template is not known"
NO_OFFSETS = "offsets are not native for this tokenizer"
_OF_NO_TEXT = (0, 0)


class NativeRoute:
    """Ids of one Pipeline. Immutable, so it is shared by copies of a tokenizer and by threads.

    `core` is that of a route whose pipeline differs at most in the post-processor; without one it is built, which takes
    some tenths of a second and raises NativeUnavailableError. The pipeline is not kept: its vocabulary is large.
    """

    name = "native"

    def __init__(self, pipeline: Pipeline, settings: Settings, core: Any = None) -> None:
        self.settings = settings
        if core is None:
            core = build_core(pipeline)
            if settings.prefix_cache_mb:
                core.remember_prefixes(settings.prefix_cache_mb << 20, least_characters=_KEPT_FROM_CHARS)
        self.core = core
        # Bound once: looking the method up costs as much as the shortest texts.
        self._encode = self.core.encode
        self._prefix = list(pipeline.post_processor.prefix_ids)
        self._suffix = list(pipeline.post_processor.suffix_ids)
        # Put in front of a list afterwards, an id moves all others.
        self._first_id = self._prefix[0] if len(self._prefix) == 1 and self._prefix[0] < self.core.id_count() else -1
        self._parallel_min_chars = settings.parallel_min_chars if settings.threads > 1 else None
        self.prefix_length = len(self._prefix)
        self.special_tokens_added = len(self._prefix) + len(self._suffix)
        self.special_token_ids = (self._prefix, self._suffix)
        self.token_type_ids_are_zero = pipeline.post_processor.token_type_ids_are_zero
        self.templates = pipeline.templates
        self.gives_offsets = _gives_offsets(pipeline)
        self._trim_blanks = pipeline.offset_trim != "none"
        # The first id's offset depends on its being the first.
        self._spare_first = pipeline.offset_trim == "blanks, but one in front of the first token"
        self.first_offset_differs = self._spare_first
        # What `takes_apart` tries, given by who chose this route; and what came of it, None before the first call.
        self.seam_texts: Callable[[], list[str]] = list
        self.seams_checked: bool | None = None

    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        return self.encode_limited(text, add_special_tokens, split_special_tokens, None, False)

    def encode_limited(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> list[int]:
        """`encode_list` of which at most `limit` ids are kept, special tokens included; the text's end if `keep_end`.

        `limit` must be more than `special_tokens_added`. Raises CannotEncodeError for a lone surrogate and for a text
        that is longer than the core takes.
        """
        first_id = self._first_id if add_special_tokens and limit is None else -1
        try:
            if limit is not None and not keep_end and self.is_over_long(text, limit):
                kept = max(0, limit - self.special_tokens_added if add_special_tokens else limit)
                threads = self.threads_for(_FIRST_OF_CHARS * kept)
                ids: list[int] = self.core.encode_first(text, kept, threads, split_special_tokens)
            elif self._parallel_min_chars is None or len(text) < self._parallel_min_chars:
                ids = self._encode(text, 1, 0, split_special_tokens, first_id)
            else:
                threads, chunk_chars = self.settings.threads, self.settings.chunk_chars
                ids = self._encode(text, threads, chunk_chars, split_special_tokens, first_id)
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        if first_id >= 0:
            ids += self._suffix
            return ids
        return self.finished(ids, add_special_tokens, limit, keep_end)

    def count(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> int:
        """How many ids `encode_list` has. Only where texts may be taken apart; raises ValueError as the core does."""
        least = self._parallel_min_chars
        threads = 1 if least is None or len(text) < least else self.settings.threads
        found: int = self.core.count(text, threads, split_special_tokens)
        return found + self.special_tokens_added if add_special_tokens else found

    def is_over_long(self, text: str, limit: int) -> bool:
        """Whether a text that is cut to its first `limit` ids is better not encoded to its end."""
        return len(text) > _FIRST_OF_CHARS * limit and self.takes_apart()

    def takes_apart(self) -> bool:
        """Whether texts may be taken apart at seams: hard texts are, at the first call, and must keep their ids."""
        if self.seams_checked is None:
            try:
                wrong = [text for text in self.seam_texts() if self._by_parts(text) != self._encode(text, 1, 0, False)]
            except Exception:
                logger.exception("lopt_plugin: the check of seams failed; texts are not taken apart")
                wrong = [""]
            if wrong:
                logger.error("lopt_plugin: %d texts have other ids in parts; texts are not taken apart", len(wrong))
            self.seams_checked = not wrong
            if not wrong:
                self.core.trust_seams()
        return self.seams_checked

    def _by_parts(self, text: str) -> list[int]:
        ids: list[int] = []
        begin = 0
        while begin < len(text):
            seam = self.core.first_seam(text, begin + 1)
            ids += self.core.encode_part(text, begin, seam, begin > 0)
            begin = len(text) if seam is None else seam
        return ids

    def finished(self, ids: list[int], add_special_tokens: bool, limit: int | None, keep_end: bool) -> list[int]:
        """The ids of a text, which are changed in place, cut and with special tokens; as for `encode_limited`."""
        if limit is not None:
            kept = limit - self.special_tokens_added if add_special_tokens else limit
            if len(ids) > kept:
                del ids[slice(0, len(ids) - kept) if keep_end else slice(kept, None)]
        if add_special_tokens:
            if self._prefix:
                ids[:0] = self._prefix
            if self._suffix:
                ids += self._suffix
        return ids

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Ids:
        threads, chunk_chars = self._threads_and_chunk(len(text))
        try:
            ids: Ids = self.core.encode_array(text, threads, chunk_chars, split_special_tokens)
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        if add_special_tokens and self.special_tokens_added:
            return np.concatenate([np.array(self._prefix, np.int32), ids, np.array(self._suffix, np.int32)])
        return ids

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Ids, RowOffsets]:
        alone_from = self._alone_from(texts)
        together = [text for text in texts if len(text) < alone_from]
        threads, _ = self._threads_and_chunk(sum(map(len, together)))
        try:
            ids, row_offsets = self.core.encode_batch(together, threads, split_special_tokens)
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        if len(together) < len(texts):
            rows = iter([ids[row_offsets[row] : row_offsets[row + 1]] for row in range(len(together))])
            parts = [
                next(rows) if len(text) < alone_from else self.text_array(text, split_special_tokens) for text in texts
            ]
            ids = np.concatenate(parts)
            row_offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        if add_special_tokens and self.special_tokens_added:
            return self._with_special_tokens(ids, row_offsets)
        return ids, row_offsets

    def pack(
        self, texts: list[str], out: npt.NDArray[np.uint8], around: Around, split_special_tokens: bool
    ) -> Packed:
        """UTF-8 of the texts into `out`, apart from their added tokens; see `Core.pack` in _core.pyi.

        Raises CannotEncodeError for a lone surrogate, and where `out` has not the room.
        """
        threads, _ = self._threads_and_chunk(sum(map(len, texts)))
        try:
            prefix, suffix = list(around.prefix), list(around.suffix)
            return Packed(*self.core.pack(texts, out, prefix, suffix, split_special_tokens, threads))
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error

    def text_list(self, text: str, split_special_tokens: bool) -> list[int]:
        """Ids of the text alone, without those of the post-processor."""
        return self.encode_limited(text, False, split_special_tokens, None, False)

    def text_array(self, text: str, split_special_tokens: bool) -> Ids:
        """`text_list` as int32 [n]."""
        return self.encode_array(text, False, split_special_tokens)

    def text_lists(self, texts: Sequence[str], split_special_tokens: bool) -> list[list[int]]:
        """`text_list` of each text. Many are shared out among the threads; a long one is cut into chunks for them."""
        least = self._parallel_min_chars
        if least is None or sum(map(len, texts)) < least:
            return [self.text_list(text, split_special_tokens) for text in texts]
        alone_from = self._alone_from(texts)
        together = [text for text in texts if len(text) < alone_from]
        try:
            rows = iter(self.core.encode_batch_lists(together, self.settings.threads, split_special_tokens))
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        return [next(rows) if len(text) < alone_from else self.text_list(text, split_special_tokens) for text in texts]

    def texts_ahead(self, texts: Sequence[str], split_special_tokens: bool) -> TextsAhead:
        """`text_list` of each text, by threads beside the caller's; the caller does its part where it waits."""
        ahead: TextsAhead = self.core.encode_ahead(list(texts), self.settings.threads - 1, split_special_tokens)
        return ahead

    def text_with_offsets(
        self,
        text: str,
        split_special_tokens: bool,
        limit: int | None,
        keep_end: bool,
        *,
        as_lists: bool,
        first_id: int = -1,
    ) -> tuple[Any, Any]:
        """Ids of the text alone and their offsets, of which at most `limit` are kept; the text's end if `keep_end`.

        Arrays int32 [n] and [n, 2], or a list and a list of tuples, which begin with `first_id` and (0, 0) if that is
        not negative. Only where `gives_offsets`. Raises CannotEncodeError as `encode_limited`, and where the core
        cannot tell the offsets of this text.
        """
        threads, chunk_chars = self._threads_and_chunk(len(text))
        try:
            both: tuple[Any, Any] = self.core.encode_with_offsets(
                text,
                threads,
                chunk_chars,
                split_special_tokens,
                self._trim_blanks,
                self._spare_first,
                limit,
                keep_end,
                as_lists,
                first_id,
            )
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        return both

    def limited_with_offsets(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """`encode_limited` and the offsets of its ids. Raises CannotEncodeError as `text_with_offsets`."""
        if not self.gives_offsets:
            raise CannotEncodeError(NO_OFFSETS)
        if self.templates is None:
            raise CannotEncodeError(NO_TEMPLATE)
        kept = limit if limit is None or not add_special_tokens else limit - self.special_tokens_added
        first_id = self._first_id if add_special_tokens else -1
        ids, offsets = self.text_with_offsets(
            text, split_special_tokens, kept, keep_end, as_lists=True, first_id=first_id
        )
        if add_special_tokens:
            if self._prefix and first_id < 0:
                ids[:0] = self._prefix
                offsets[:0] = [_OF_NO_TEXT] * len(self._prefix)
            if self._suffix:
                ids += self._suffix
                offsets += [_OF_NO_TEXT] * len(self._suffix)
        return ids, offsets

    def words(
        self, words: list[str], split_special_tokens: bool, offsets: bool, *, as_lists: bool
    ) -> tuple[Any, Any, Any]:
        """Ids of each word alone, one after the other; how many each has; their offsets in the word, or None.

        Arrays int32 [n], [words] and [n, 2], or a list, that array, and a list of tuples. Raises CannotEncodeError as
        `text_with_offsets`.
        """
        trims = self._trim_blanks, self._spare_first
        try:
            made: tuple[Any, Any, Any] = self.core.encode_words(words, split_special_tokens, offsets, *trims, as_lists)
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error
        return made

    def info(self) -> dict[str, Any]:
        return {**self.core.info(), "seams_checked": self.seams_checked, "prefix_cache": self.prefix_counters()}

    def prefix_counters(self) -> dict[str, int] | None:
        """Counts of the core's store of what texts began with, see `_core.pyi`; None where nothing is kept."""
        return self.core.prefix_counters() or None

    def new_prefix_counts(self) -> dict[str, int]:
        """How much those that only grow have grown since this was last asked of the core; nothing where none has."""
        grown: dict[str, int] = self.core.new_prefix_counts()
        return grown

    def chunks(self, chars: int) -> int:
        """Into how many chunks a text of that length is cut at most, were it ASCII and without added tokens."""
        threads, chunk_chars = self._threads_and_chunk(chars)
        if threads == 1:
            return 1
        return max(1, -(-chars // (chunk_chars or self.core.default_chunk_bytes(chars, threads))))

    def threads_for(self, chars: int) -> int:
        """How many threads work on a text of that length."""
        return self._threads_and_chunk(chars)[0]

    def _threads_and_chunk(self, chars: int) -> tuple[int, int]:
        if self._parallel_min_chars is None or chars < self._parallel_min_chars:
            return 1, 0
        return self.settings.threads, self.settings.chunk_chars

    def _alone_from(self, texts: Sequence[str]) -> float:
        """The length from which a text of a batch is cut into chunks, where there are too few such for all threads."""
        if self._parallel_min_chars is None:
            return math.inf
        long = sum(len(text) >= self._parallel_min_chars for text in texts)
        return self._parallel_min_chars if 0 < long < self.settings.threads else math.inf

    def _with_special_tokens(self, ids: Ids, row_offsets: RowOffsets) -> tuple[Ids, RowOffsets]:
        rows = len(row_offsets) - 1
        before, after = len(self._prefix), len(self._suffix)
        shifted = row_offsets + np.arange(rows + 1, dtype=np.int64) * (before + after)
        result = np.empty(int(shifted[-1]), dtype=np.int32)
        is_text = np.ones(len(result), dtype=bool)
        for k, token in enumerate(self._prefix):
            result[shifted[:-1] + k] = token
            is_text[shifted[:-1] + k] = False
        for k, token in enumerate(self._suffix):
            result[shifted[1:] - after + k] = token
            is_text[shifted[1:] - after + k] = False
        result[is_text] = ids
        return result, shifted


def _gives_offsets(pipeline: Pipeline) -> bool:
    """Whether the core tells offsets. Blanks are taken off those of byte-level tokens only, whose names show them."""
    return pipeline.offset_trim == "none" or (
        pipeline.offset_trim is not None and isinstance(pipeline.model, BytePairModel)
    )
