"""The native core: the whole pipeline in C++, long texts in chunks on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..pipeline import BytePairModel, Pipeline
from ..settings import Settings, logger
from . import Ids, RowOffsets
from .native_core import build_core, import_core
from .post_processing import PostProcessing
from .request import PLAIN, EncodeRequest, NeedsReference

if TYPE_CHECKING:
    from ..native._core import ShortEncoder

NO_TEMPLATE = "a post-processor whose template is not known"
NO_OFFSETS = "offsets are not native for this tokenizer"

# If a text has more characters than this for each id that is kept, its end is probably not needed.
_FIRST_OF_CHARS = 4

# Below this length, encoding a text takes hardly longer than looking up its prefix in the cache.
_HELD_FROM_CHARS = 8192
# The longest texts that take the shortcut of `ShortEncoder`, and from where on batches do not. The prefix cache is not
# asked for such short texts.
SHORT_CHARS = 4096
_SHORT_BATCH_CHARS = 32_768


class NativeRoute:
    """Ids of one Pipeline. Immutable, so it is shared by copies of a tokenizer and by threads.

    `core` comes from a route whose pipeline differs at most in the post-processor. Without it, a core is built, which
    takes some tenths of a second and may raise Unsupported. The pipeline is not kept, because its vocabulary is large.
    """

    name = "native"

    def __init__(self, pipeline: Pipeline, settings: Settings, core: Any = None) -> None:
        self.settings = settings
        if core is None:
            core = build_core(pipeline)
            if settings.prefix_cache_mb:
                core.remember_prefixes(settings.prefix_cache_mb << 20, least_characters=_HELD_FROM_CHARS)
        self.core = core
        self.post_processing = PostProcessing(pipeline.post_processor, pipeline.templates)
        prefix = self.post_processing.prefix
        # The core writes a single id of the prefix itself: inserted afterwards, it would move all others.
        self._first_id = prefix[0] if len(prefix) == 1 and prefix[0] < self.core.id_count() else -1
        self._adds = self.post_processing.added > 0
        self._parallel_min_chars = settings.parallel_min_chars if settings.threads > 1 else math.inf
        # The core tells offsets, but takes spaces off byte-level tokens only, whose names show them.
        takes_spaces_off = isinstance(pipeline.model, BytePairModel) and pipeline.offset_trim is not None
        self.gives_offsets = pipeline.offset_trim == "none" or takes_spaces_off
        # The first id's offset depends on its being the first.
        self.first_offset_differs = pipeline.offset_trim == "spaces, but one before the first token"
        self._prepends_first_only = pipeline.metaspace == "first"
        self._trims = pipeline.offset_trim != "none", self.first_offset_differs
        # The texts that `takes_apart` tries, set where the route is chosen; and the result, None before the first call.
        self.seam_texts: Callable[[], list[str]] = list
        self.seams_checked: bool | None = None

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        """Ids of one text, truncated. Raises NeedsReference for a lone surrogate and for too long a text."""
        adds = request.add_special_tokens and self._adds
        if request.max_length is not None:
            room = self.post_processing.room(request)
            if not request.keeps_end and self.is_over_long(text, room):
                ids: list[int] = self.first_ids(text, int(room), request.split_special_tokens)
                return self.post_processing.finish(ids, request) if adds else ids
            first_id = -1
        else:
            room, first_id = math.inf, self._first_id if adds else -1
        split = request.split_special_tokens
        if len(text) < self._parallel_min_chars:
            ids = self.core.encode(text, 1, 0, split, first_id)
        else:
            ids = self.core.encode(text, self.settings.threads, self.settings.chunk_chars, split, first_id)
        if first_id >= 0:
            ids += self.post_processing.suffix
            return ids
        return self.post_processing.finish(ids, request) if adds or len(ids) > room else ids

    def short_encoder(self) -> ShortEncoder:
        """Encodes texts and batches that are too small for threads and for the GPU.

        Without truncation and without splitting special tokens.
        """
        around = self.post_processing.prefix, self.post_processing.suffix
        known = all(number < self.core.id_count() for ids in around for number in ids)
        settings = self.settings
        most = max(0, min(SHORT_CHARS, settings.parallel_min_chars - 1))
        together = min(settings.parallel_min_chars, _SHORT_BATCH_CHARS)
        if settings.gpu_min_bytes is not None:
            together = min(together, settings.gpu_min_bytes)
        if settings.route == "gpu":
            together = 0
        short: ShortEncoder = self.core.short_encoder(most, max(0, together - 1), around if known else None)
        return short

    def encode_stretch(self, text: str, begins_text: bool) -> list[int]:
        """Ids of the text between, before or after special tokens; special tokens inside it are ordinary text."""
        if begins_text or not self._prepends_first_only:
            return self.encode_list(text, PLAIN[False][True])
        ids: list[int] = self.core.encode_part(text, 0, len(text), True, True, self.threads_for(len(text)))
        return ids

    def first_ids(self, text: str, room: int, split_special_tokens: bool) -> list[int]:
        """The first `room` ids of a text, which is read only about as far as necessary. Only if `is_over_long`."""
        threads = self.threads_for(_FIRST_OF_CHARS * room)
        ids: list[int] = self.core.encode_first(text, room, threads, split_special_tokens)
        return ids

    def count(self, text: str, request: EncodeRequest) -> int:
        """The number of ids that `encode_list` returns. Like all counts, only if texts may be split at seams."""
        threads = 1 if len(text) < self._parallel_min_chars else self.settings.threads
        number: int = self.core.count(text, threads, request.split_special_tokens)
        return number + self.post_processing.added if request.add_special_tokens else number

    def count_batch(self, texts: Sequence[str], request: EncodeRequest) -> list[int]:
        """`count` of each text, on all threads."""
        threads, added = self.threads_for(sum(map(len, texts))), self.post_processing.ids_added(request)
        return [number + added for number in self.core.count_batch(texts, threads, request.split_special_tokens)]

    def count_until(self, given: tuple[str, int], request: EncodeRequest) -> int | None:
        """`count` of a text; None if it exceeds the limit, in which case the rest of the text is not read."""
        text, limit = given
        added = self.post_processing.ids_added(request)
        if limit < added:
            return None
        number: int | None = self.core.count_until(text, limit - added, request.split_special_tokens)
        return None if number is None else number + added

    def cut(self, text: str, limit: int, request: EncodeRequest) -> int | None:
        """The length of the longest prefix that has at most `limit` ids; None if it takes too long to find.

        For example in a run of marks that the normalizer sorts: each further one changes the middle of it.
        """
        room = limit - self.post_processing.ids_added(request)
        if room < 0:
            raise NeedsReference("fewer ids than those of the post-processor")
        length: int | None = self.core.cut(text, room, request.split_special_tokens)
        return length

    def is_over_long(self, text: str, room: float) -> bool:
        """Whether a text that is truncated to its first `room` ids should not be encoded to its end."""
        return len(text) > _FIRST_OF_CHARS * room and self.takes_apart()

    def takes_apart(self) -> bool:
        """Whether texts may be split at seams: at the first call, hard texts are split and must keep their ids."""
        if self.seams_checked is None:
            checked = False
            try:
                wrong = sum(self._by_parts(text) != self.core.encode(text, 1, 0, False) for text in self.seam_texts())
                checked = not wrong
                if wrong:
                    logger.error("lopt_plugin: %d texts change when split; texts are not split at seams", wrong)
            except MemoryError:
                raise
            except Exception:
                logger.exception("lopt_plugin: the check of seams failed; texts are not split at seams")
            if checked:
                self.core.trust_seams()
            self.seams_checked = checked
        return self.seams_checked

    def _by_parts(self, text: str) -> list[int]:
        ids: list[int] = []
        begin = 0
        while begin < len(text):
            seam = self.core.first_seam(text, begin + 1)
            ids += self.core.encode_part(text, begin, seam, begin > 0)
            begin = len(text) if seam is None else seam
        return ids

    def encode_array(self, text: str, request: EncodeRequest) -> Ids:
        threads, chunk_chars = self._threads_and_chunk(len(text))
        ids: Ids = self.core.encode_array(text, threads, chunk_chars, request.split_special_tokens)
        return self.post_processing.finish_array(ids) if request.add_special_tokens else ids

    def encode_batch(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Ids, RowOffsets]:
        split, alone_from = request.split_special_tokens, self._alone_from(texts)
        together = [text for text in texts if len(text) < alone_from]
        ids, row_offsets = self.core.encode_batch(together, self.threads_for(sum(map(len, together))), split)
        if len(together) < len(texts):
            bare = PLAIN[False][split]
            rows = iter([ids[row_offsets[row] : row_offsets[row + 1]] for row in range(len(together))])
            parts = [next(rows) if len(text) < alone_from else self.encode_array(text, bare) for text in texts]
            ids = np.concatenate(parts)
            row_offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        around = self.post_processing
        if not request.add_special_tokens or not around.added:
            return ids, row_offsets
        finished: tuple[Ids, RowOffsets] = import_core().with_added_ids(ids, row_offsets, around.prefix, around.suffix)
        return finished

    def encode_lists(self, texts: list[str], split_special_tokens: bool) -> list[list[int]]:
        """Ids of each text, without special tokens.

        Many texts are distributed over the threads; a long one is split into chunks.
        """
        chars = sum(map(len, texts))
        if chars < self._parallel_min_chars:
            lists: list[list[int]] = self.core.encode_batch_lists(texts, self.threads_for(chars), split_special_tokens)
            return lists
        alone_from, bare = self._alone_from(texts), PLAIN[False]
        together = [text for text in texts if len(text) < alone_from]
        threads = self.threads_for(sum(map(len, together)))
        rows = iter(self.core.encode_batch_lists(together, threads, split_special_tokens))
        return [
            next(rows) if len(text) < alone_from else self.encode_list(text, bare[split_special_tokens])
            for text in texts
        ]

    def text_with_offsets(
        self,
        text: str,
        split_special_tokens: bool,
        room: int | None,
        keep_end: bool,
        *,
        as_lists: bool,
        first_id: int = -1,
    ) -> tuple[Any, Any]:
        """Ids of the text alone and their offsets, of which at most `room` are kept; the text's end if `keep_end`.

        Arrays int32 [n] and [n, 2], or a list and a list of tuples, which begin with `first_id` and (0, 0) if that is
        not negative. Only where `gives_offsets`. Raises NeedsReference as `encode_list`, and where the core
        cannot tell the offsets of this text.
        """
        threads = self._threads_and_chunk(len(text))
        both: tuple[Any, Any] = self.core.encode_with_offsets(
            text, *threads, split_special_tokens, *self._trims, room, keep_end, as_lists, first_id
        )
        return both

    def encode_with_offsets(self, text: str, request: EncodeRequest) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of one text, truncated, and the offsets of each. Raises NeedsReference."""
        if not self.gives_offsets:
            raise NeedsReference(NO_OFFSETS)
        if self.post_processing.templates is None:
            raise NeedsReference(NO_TEMPLATE)
        room = None if request.max_length is None else int(self.post_processing.room(request))
        split = request.split_special_tokens
        first_id = self._first_id if request.add_special_tokens else -1
        ids, offsets = self.text_with_offsets(text, split, room, request.keeps_end, as_lists=True, first_id=first_id)
        if request.add_special_tokens:
            around = self.post_processing
            if first_id < 0:
                ids[:0] = around.prefix
                offsets[:0] = [(0, 0)] * len(around.prefix)
            ids += around.suffix
            offsets += [(0, 0)] * len(around.suffix)
        return ids, offsets

    def words(self, words: list[str], split_special_tokens: bool, offsets: bool) -> tuple[Ids, Ids, Ids | None]:
        """Ids of each word alone, one after the other; how many each has; their offsets in the word, or None.

        Arrays int32 [n], [words] and [n, 2]. Raises NeedsReference as `text_with_offsets`.
        """
        made: tuple[Ids, Ids, Ids | None] = self.core.encode_words(words, split_special_tokens, offsets, *self._trims)
        return made

    def info(self) -> dict[str, Any]:
        prefixes = self.core.prefix_counters() or None
        return {**self.core.info(), "seams_checked": self.seams_checked, "prefix_cache": prefixes}

    def chunks(self, chars: int) -> int:
        """About how many chunks a text of that length is divided into, if it has seams."""
        threads, chunk_chars = self._threads_and_chunk(chars)
        return max(1, -(-chars // (chunk_chars or self.core.default_chunk_chars(chars, threads))))

    def threads_for(self, chars: int) -> int:
        """The number of threads for a text or a batch of that length."""
        return self._threads_and_chunk(chars)[0]

    def _threads_and_chunk(self, chars: int) -> tuple[int, int]:
        return (1, 0) if chars < self._parallel_min_chars else (self.settings.threads, self.settings.chunk_chars)

    def _alone_from(self, texts: Sequence[str]) -> float:
        """The length from which a batch's texts are split into chunks, if there are too few of them for all threads."""
        long = sum(len(text) >= self._parallel_min_chars for text in texts)
        return self._parallel_min_chars if 0 < long < self.settings.threads else math.inf
