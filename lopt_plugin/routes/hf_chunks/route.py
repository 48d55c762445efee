"""LoPT: long texts in chunks, tokenized in parallel by the HF tokenizer itself and joined without loss.

`boundaries` says where chunks may begin and end, `seams` where two overlapping ones may be joined, and `division` uses
both until the whole text is joined. `pipeline.chunking` says for which tokenizers this is proven.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from ...pipeline import Unsupported
from ...pipeline.chunking import read_chunking
from ...pipeline.component_state import add_again, added_tokens_of
from ...settings import Settings
from .. import Ids, RowOffsets
from ..hf import HfRoute, int32_ids
from ..post_processing import PostProcessing
from ..request import Columns, EncodeRequest, NeedsReference, Row
from .boundaries import Boundaries
from .division import ChunkText, Lengths, Tokenize, divide, encode
from .seams import ChunkTokens, pre_token_starts

SMALLEST_CHUNK, LARGEST_CHUNK = 16_384, 65_536
_CHUNKS_PER_THREAD = 8


class HfChunksRoute:
    """Ids of `hf`'s tokenizer; texts shorter than `settings.parallel_min_chars` go to `hf` itself.

    The route has its own tokenizers, which share the model, the normalizer and the pre-tokenizer, and have no
    post-processor, truncation or padding. Nothing else can change their state, so threads need no lock. Raises
    Unsupported.
    """

    name = "hf_chunks"

    def __init__(self, hf: HfRoute, settings: Settings) -> None:
        chunkable = read_chunking(hf.backend)
        self.hf = hf
        self.settings = settings
        self.chunkable = chunkable
        self._tokenizers = {split: _without_state(hf.backend, split) for split in (False, True)}
        self.boundaries = Boundaries(self._tokenizers[False], chunkable)
        # Put before every chunk but the first, so that what the normalizer prepends is not prepended to the chunk; and
        # how many tokens it has, none of which contains a part of the chunk. These are removed from the result.
        self._lead = "", 0
        if chunkable.prepends and self.boundaries.cuts is not None:
            contents = (token.content for token in hf.backend.get_added_tokens_decoder().values())
            self._lead = self._lead_word(self.boundaries.cuts.foreign_character(contents))
        self._overlaps = chunkable.how == "pattern"
        self.post_processing = PostProcessing(chunkable.post_processor)
        self.counts: Counter[str] = Counter()

    def takes(self, chars: int) -> bool:
        """Whether a text of that length is split into chunks."""
        return self.settings.threads > 1 and chars >= max(2, self.settings.parallel_min_chars)

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        """See Route; splits a text of any length."""
        ids = self.encode_divided(text, self.lengths(len(text)), request.split_special_tokens)
        return self.post_processing.finish(ids, request)

    def encode_columns(self, rows: Sequence[Row], request: EncodeRequest) -> Columns:
        """The ids of each row. Raises NeedsReference for anything but single texts and plain requests for ids."""
        texts = [row for row in rows if isinstance(row, str)]
        if len(texts) < len(rows) or not request.is_plain or request.offsets:
            raise NeedsReference("chunks give ids of single texts only")
        if request.token_type_ids and not self.post_processing.type_ids_are_zero:
            raise NeedsReference("token type ids that are not all 0")
        return Columns([self.encode_list(text, request) for text in texts])

    def encode_divided(
        self,
        text: str,
        lengths: Lengths,
        split_special_tokens: bool = False,
        *,
        use_boundaries: bool = True,
        alone: bool = False,
    ) -> list[int]:
        """Ids without special tokens.

        use_boundaries: False joins chunks at seams only, as in the paper.
        alone: the calling thread does everything, and nothing is counted.
        """
        chunks = divide(text, self.boundaries, lengths, use_boundaries or not self._overlaps, self._overlaps)
        try:
            ids, counts = encode(text, chunks, lengths, self._tokenize(split_special_tokens, alone))
        except (TypeError, UnicodeError) as error:  # lone surrogates
            raise NeedsReference(str(error)) from error
        if not alone:
            self.counts.update(counts, texts=1)
        return ids

    def encode_array(self, text: str, request: EncodeRequest) -> Ids:
        return int32_ids(self.encode_list(text, request))

    def encode_batch(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Ids, RowOffsets]:
        """Splits long texts one after the other; HF encodes the others together, one text per thread."""
        short = [text for text in texts if not self.takes(len(text))]
        ids, offsets = self.hf.encode_batch(short, request)
        short_rows = (ids[a:b] for a, b in pairwise(offsets))
        rows = [self.encode_array(text, request) if self.takes(len(text)) else next(short_rows) for text in texts]
        return np.concatenate([np.empty(0, np.int32), *rows]), np.cumsum([0, *map(len, rows)], dtype=np.int64)

    def lengths(self, chars: int) -> Lengths:
        """Lengths for a text of that many characters: enough chunks that threads finish together, none too short."""
        chunk = self.settings.chunk_chars
        if chunk == 0:
            chunk = chars // (self.settings.threads * _CHUNKS_PER_THREAD)
            chunk = min(max(chunk, SMALLEST_CHUNK), LARGEST_CHUNK)
        return Lengths(chunk, self.settings.overlap_chars)

    def chunks(self, chars: int) -> int:
        """The number of chunks for a text of that length, if there is a suitable position for each."""
        return max(1, -(-chars // self.lengths(chars).chunk)) if self.takes(chars) else 1

    def info(self) -> dict[str, Any]:
        return {"how": self.chunkable.how, "scan": self.chunkable.scan, "counts": dict(self.counts)}

    def _tokenize(self, split_special_tokens: bool, alone: bool) -> Tokenize:
        tokenize = functools.partial(self._chunk_tokens, self._tokenizers[split_special_tokens], alone)

        def on_threads(chunks: Sequence[ChunkText]) -> list[ChunkTokens]:
            # The threads end with the call, so that a fork inherits none.
            with ThreadPoolExecutor(min(self.settings.threads, len(chunks)), "lopt_chunks") as pool:
                return list(pool.map(tokenize, chunks))

        return (lambda chunks: list(map(tokenize, chunks))) if alone else on_threads

    def _chunk_tokens(self, tokenizer: Tokenizer, alone: bool, chunk: ChunkText) -> ChunkTokens:
        """The tokens of a chunk; raises what the tokenizer raises.

        alone: use `encode`, which holds the GIL and starts no thread. `encode_batch` releases the GIL and runs in the
        thread pool of `tokenizers`, which warns at every later fork; its fast variant, a third cheaper, has no offsets.
        """
        lead, tokens = ("", 0) if chunk.first else self._lead
        if alone:
            encoding = tokenizer.encode(lead + chunk.text, add_special_tokens=False)
        else:
            encode_batch = tokenizer.encode_batch if chunk.head or chunk.tail else tokenizer.encode_batch_fast
            (encoding,) = encode_batch([lead + chunk.text], add_special_tokens=False)
        length = len(chunk.text)
        return ChunkTokens(
            encoding.ids[tokens:],
            pre_token_starts(encoding, 0, chunk.head, chunk.start) if chunk.head else {},
            pre_token_starts(encoding, length - chunk.tail, length, chunk.start) if chunk.tail else {},
        )

    def _lead_word(self, character: str | None) -> tuple[str, int]:
        if character is None:
            raise Unsupported("the vocabulary leaves no character for a lead word")
        encoded = [t.encode(character, add_special_tokens=False).ids for t in self._tokenizers.values()]
        if not encoded[0] or encoded[0] != encoded[1]:
            raise Unsupported("the normalizer or the model drops the lead word")
        return character, len(encoded[0])


def _without_state(backend: Tokenizer, split_special_tokens: bool) -> Tokenizer:
    """A tokenizer of the same components without post-processor, truncation and padding."""
    own = Tokenizer(backend.model)
    if backend.normalizer is not None:
        own.normalizer = backend.normalizer
    if backend.pre_tokenizer is not None:
        own.pre_tokenizer = backend.pre_tokenizer
    own.encode_special_tokens = split_special_tokens
    if not add_again(own, added_tokens_of(backend)):
        raise Unsupported("the added tokens get other ids when they are added again")
    return own
