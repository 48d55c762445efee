"""LoPT: long texts in chunks, tokenized side by side by the HF tokenizer itself, and joined without loss.

Lossless parallel tokenization in three parts: `chunks.places` says where chunks may begin and end, `chunks.seams` where
two overlapping ones may be joined, `chunks.division` does both in turn until everything is joined. For which tokenizers
this is proven is said in `pipeline.chunking`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from ..pipeline import Unsupported
from ..pipeline.chunking import read_chunking
from ..settings import Settings
from . import CannotEncodeError, Ids, RowOffsets
from .chunks.division import Lengths, Tokenize, divide, encode
from .chunks.places import AddedTokens, Places
from .chunks.vocabulary import VocabularyCuts
from .chunks.workers import KnownWord, PieceTokenizer, Processes, on_threads
from .hf import HfRoute

SMALLEST_CHUNK, LARGEST_CHUNK = 16_384, 65_536
_CHUNKS_A_THREAD = 8


class CannotChunkError(Exception):
    """Texts of this tokenizer are not divided; the message says why."""


class HfChunksRoute:
    """Ids of `hf`'s tokenizer; texts shorter than `settings.parallel_min_chars` go to `hf` itself.

    The chunks are tokenized by a tokenizer of the route's own, that shares the model, the normalizer and the
    pre-tokenizer, and has neither post-processor nor truncation nor padding: nobody can change its state, so that
    threads need no lock. Raises CannotChunkError.

    before: a route of a tokenizer with the same vocabulary, of which what was read off it is taken over.
    """

    name = "hf_chunks"

    def __init__(self, hf: HfRoute, settings: Settings, before: HfChunksRoute | None = None) -> None:
        chunkable = read_chunking(hf.backend)
        if isinstance(chunkable, Unsupported):
            raise CannotChunkError(chunkable.reason)
        self.hf = hf
        self.settings = settings
        self.chunkable = chunkable
        self._tokenizers = {split: _without_state(hf.backend, split) for split in (False, True)}
        added_tokens = list(hf.backend.get_added_tokens_decoder().values())
        cuts: VocabularyCuts | None = None if before is None else before._cuts
        known = KnownWord()
        if chunkable.how == "vocabulary":
            if cuts is None:
                cuts = VocabularyCuts(hf.backend.get_vocab(with_added_tokens=False), chunkable.replaced)
            if chunkable.prepends:
                known = self._known_word(cuts.foreign_character(token.content for token in added_tokens))
        normalizer = self._tokenizers[False].normalizer
        self.places = Places(chunkable, AddedTokens(added_tokens, normalizer, chunkable.literals), cuts)
        self._overlaps = chunkable.how == "pattern"
        self._cuts: VocabularyCuts | None = cuts
        self._known = known
        self._processes = Processes(settings.threads, known) if settings.processes else None
        post_processor = chunkable.post_processor
        self._prefix, self._suffix = list(post_processor.prefix_ids), list(post_processor.suffix_ids)
        self.special_tokens_added = len(self._prefix) + len(self._suffix)
        self.token_type_ids_are_zero = post_processor.token_type_ids_are_zero
        self.counts: Counter[str] = Counter()

    def takes(self, chars: int) -> bool:
        """Whether a text of that length is divided."""
        return self.settings.threads > 1 and chars >= max(2, self.settings.parallel_min_chars)

    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        if not self.takes(len(text)):
            return self.hf.encode_list(text, add_special_tokens, split_special_tokens)
        return self.encode_limited(text, add_special_tokens, split_special_tokens, None, False)

    def encode_limited(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> list[int]:
        """See AcceleratedRoute; divides a text of any length."""
        ids = self.encode_divided(text, self.lengths(len(text)), split_special_tokens)
        if limit is not None:
            kept = limit - self.special_tokens_added if add_special_tokens else limit
            if len(ids) > kept:
                del ids[slice(0, len(ids) - kept) if keep_end else slice(kept, None)]
        if add_special_tokens:
            ids[:0] = self._prefix
            ids += self._suffix
        return ids

    def encode_divided(
        self,
        text: str,
        lengths: Lengths,
        split_special_tokens: bool = False,
        *,
        use_cuts: bool = True,
        alone: bool = False,
    ) -> list[int]:
        """Ids without special tokens. With `use_cuts` false, chunks are joined by matching only, as in the paper.

        With `alone` true, the calling thread does everything, and nothing is counted.
        """
        chunks = divide(text, self.places, lengths, use_cuts or not self._overlaps, self._overlaps)
        try:
            ids, counts = encode(text, chunks, lengths, self._tokenize(split_special_tokens, alone))
        except (TypeError, UnicodeError) as error:  # lone surrogates
            raise CannotEncodeError(str(error)) from error
        if not alone:
            self.counts.update(vars(counts), texts=1)
        return ids

    def _tokenize(self, split_special_tokens: bool, alone: bool) -> Tokenize:
        tokenizer = self._tokenizers[split_special_tokens]
        processes = self._processes
        if alone:
            return lambda pieces: list(map(PieceTokenizer(tokenizer, self._known, holding_gil=True), pieces))
        if processes is not None:
            return lambda pieces: processes.tokenize(tokenizer, pieces, split_special_tokens)
        return lambda pieces: on_threads(PieceTokenizer(tokenizer, self._known), pieces, self.settings.threads)

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Ids:
        return np.array(self.encode_list(text, add_special_tokens, split_special_tokens), dtype=np.int32)

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Ids, RowOffsets]:
        """Long texts one by one, divided; the others together by HF, whose threads take a text each."""
        short = [text for text in texts if not self.takes(len(text))]
        ids, offsets = self.hf.encode_batch(short, add_special_tokens, split_special_tokens)
        rows_of_short: Iterator[Ids] = (ids[a:b] for a, b in pairwise(offsets))
        rows = [
            self.encode_array(text, add_special_tokens, split_special_tokens)
            if self.takes(len(text))
            else next(rows_of_short)
            for text in texts
        ]
        row_offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=row_offsets[1:])
        return np.concatenate([np.empty(0, np.int32), *rows]), row_offsets

    def lengths(self, chars: int) -> Lengths:
        """Those of a text of so many characters: enough chunks that threads end together, none too short."""
        chunk = self.settings.chunk_chars
        if chunk == 0:
            chunk = chars // (self.settings.threads * _CHUNKS_A_THREAD)
            chunk = min(max(chunk, SMALLEST_CHUNK), LARGEST_CHUNK)
        return Lengths(chunk, self.settings.overlap_chars)

    def chunks(self, chars: int) -> int:
        """Into how many chunks a text of that length is cut, where there is a place for each."""
        return max(1, -(-chars // self.lengths(chars).chunk)) if self.takes(chars) else 1

    def close(self) -> None:
        """Ends other processes, if there are any."""
        if self._processes is not None:
            self._processes.close()

    def info(self) -> dict[str, Any]:
        return {
            "how": self.chunkable.how,
            "scan": self.chunkable.scan,
            "workers": "processes" if self.settings.processes else "threads",
            "counts": dict(self.counts),
        }

    def over(self, hf: HfRoute) -> HfChunksRoute:
        """The same for a copy of the tokenizer."""
        return HfChunksRoute(hf, self.settings, self)

    def _known_word(self, character: str | None) -> KnownWord:
        if character is None:
            raise CannotChunkError("the vocabulary leaves no character for a known first word")
        encoded = [t.encode(character, add_special_tokens=False).ids for t in self._tokenizers.values()]
        if not encoded[0] or encoded[0] != encoded[1]:
            raise CannotChunkError("the normalizer or the model drops the known first word")
        return KnownWord(character, len(encoded[0]))


def _without_state(backend: Tokenizer, split_special_tokens: bool) -> Tokenizer:
    """A tokenizer of the same components, without what is state of a call and without post-processor."""
    own = Tokenizer(backend.model)
    if backend.normalizer is not None:
        own.normalizer = backend.normalizer
    if backend.pre_tokenizer is not None:
        own.pre_tokenizer = backend.pre_tokenizer
    own.encode_special_tokens = split_special_tokens
    by_id = backend.get_added_tokens_decoder()
    own.add_tokens([token for _, token in sorted(by_id.items())])
    found = own.get_added_tokens_decoder()
    if {i: t.__getstate__() for i, t in found.items()} != {i: t.__getstate__() for i, t in by_id.items()}:
        raise CannotChunkError("the added tokens do not get their ids again when they are added anew")
    return own
