"""Tokenizes one chunk."""

from __future__ import annotations

from typing import NamedTuple

from tokenizers import Tokenizer

from .seams import ChunkTokens, pre_token_starts


class ChunkText(NamedTuple):
    """A chunk to tokenize, and its place in the whole text.

    head, tail: how many of its first and last characters may hold a seam; 0 at a certain boundary.
    first: whether it is the first chunk of its text.
    """

    text: str
    start: int
    head: int
    tail: int
    first: bool


class LeadWord(NamedTuple):
    """Put before every chunk but the first, so that what the normalizer prepends is not prepended to the chunk.

    None of its tokens contains a part of the chunk; its `tokens` are removed from the result.
    """

    text: str = ""
    tokens: int = 0


def chunk_tokens(tokenizer: Tokenizer, lead: LeadWord, holding_gil: bool, chunk: ChunkText) -> ChunkTokens:
    """The tokens of a chunk, by a tokenizer without post-processor; raises what that raises.

    holding_gil: use `encode`, which holds the GIL and starts no thread. `encode_batch` releases the GIL and runs in the
    thread pool of `tokenizers`, which warns at every later fork; its fast variant, a third cheaper, has no offsets.
    """
    text, tokens = ("", 0) if chunk.first else lead
    text += chunk.text
    if holding_gil:
        encoding = tokenizer.encode(text, add_special_tokens=False)
    else:
        encode_batch = tokenizer.encode_batch if chunk.head or chunk.tail else tokenizer.encode_batch_fast
        (encoding,) = encode_batch([text], add_special_tokens=False)
    ids: list[int] = encoding.ids
    length = len(chunk.text)
    return ChunkTokens(
        ids[tokens:] if tokens else ids,
        pre_token_starts(encoding, 0, chunk.head, chunk.start) if chunk.head else {},
        pre_token_starts(encoding, length - chunk.tail, length, chunk.start) if chunk.tail else {},
    )
