"""Splits a text into chunks and joins their tokens into the ids of the text: LoPT's loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .boundaries import Boundaries
from .seams import ChunkTokens, Seam, find_seam

_MAX_SEARCH = 1000


@dataclass(frozen=True)
class Lengths:
    """Characters per chunk and per overlap, and how many ids must match after a seam (the paper's threshold)."""

    chunk: int
    overlap: int
    tokens: int = 2


class Chunk(NamedTuple):
    """text[start:end]. It begins where the previous chunk ends, or overlaps it."""

    start: int
    end: int


class ChunkText(NamedTuple):
    """A chunk to tokenize, and its place in the whole text.

    head, tail: how many of its first and last characters may contain a seam; 0 at a certain boundary.
    first: whether it is the first chunk of its text.
    """

    text: str
    start: int
    head: int
    tail: int
    first: bool


Tokenize = Callable[[Sequence[ChunkText]], list[ChunkTokens]]


def divide(
    text: str, boundaries: Boundaries, lengths: Lengths, use_boundaries: bool, use_overlaps: bool
) -> list[Chunk]:
    """Chunks that cover the text. A chunk is extended if there is no suitable position near its end."""
    chunks: list[Chunk] = []
    start, target = 0, lengths.chunk
    while target < len(text):
        search_end = target + min(_MAX_SEARCH, max(lengths.chunk, lengths.overlap))
        next_start = end = boundaries.certain(text, target, search_end) if use_boundaries else None
        if end is None and use_overlaps:
            next_start = boundaries.overlap_edge(text, target, search_end)
            if next_start is not None:
                overlap_end = next_start + lengths.overlap
                end = boundaries.overlap_edge(text, overlap_end, overlap_end + _MAX_SEARCH)
        if next_start is None or end is None:
            target += lengths.chunk
            continue
        chunks.append(Chunk(start, end))
        start = next_start
        target = max(start + lengths.chunk, target)
    return [*chunks, Chunk(start, len(text))]


def encode(text: str, chunks: list[Chunk], lengths: Lengths, tokenize: Tokenize) -> tuple[list[int], dict[str, int]]:
    """The ids of the text. If two neighbours have no seam, they become one chunk, which is tokenized again.

    (The paper tokenizes the whole text again with chunks of twice the length, which loses the seams that matched.) Also
    returns the initial number of chunks, and how many neighbours were joined at boundaries, at seams, or merged.
    """
    first, merged = len(chunks), 0
    done: dict[Chunk, ChunkTokens] = {}
    while True:
        pending = [number for number, chunk in enumerate(chunks) if chunk not in done]
        tokens = tokenize([_chunk_text(text, chunks, number) for number in pending])
        done.update(zip((chunks[number] for number in pending), tokens, strict=True))
        seams = _seams(text, chunks, done, lengths)
        if None not in seams:
            break
        merged += seams.count(None)
        chunks = _merged(chunks, seams)
    boundaries = sum(a.end == b.start for a, b in pairwise(chunks))
    counts = {"chunks": first, "boundaries": boundaries, "seams": len(seams) - boundaries, "merged": merged}
    return _joined_ids([done[chunk].ids for chunk in chunks], seams), counts


def _chunk_text(text: str, chunks: list[Chunk], number: int) -> ChunkText:
    chunk = chunks[number]
    head = chunks[number - 1].end - chunk.start if number else 0
    tail = chunk.end - chunks[number + 1].start if number + 1 < len(chunks) else 0
    return ChunkText(text[chunk.start : chunk.end], chunk.start, head, tail, number == 0)


def _seams(text: str, chunks: list[Chunk], done: dict[Chunk, ChunkTokens], lengths: Lengths) -> list[Seam | None]:
    """The seam after each chunk except the last. A left chunk is correct only from its own first seam on."""
    seams: list[Seam | None] = []
    right_from = 0
    for left, right in pairwise(chunks):
        if left.end == right.start:
            seam: Seam | None = Seam(right.start, len(done[left].ids), 0)
        else:
            seam = find_seam(text, done[left], left.end, done[right], right.start, right_from, lengths.tokens)
        seams.append(seam)
        if seam is not None:
            right_from = seam.place
    return seams


def _merged(chunks: list[Chunk], seams: Sequence[Seam | None]) -> list[Chunk]:
    """The chunks, with neighbours that have no seam made one chunk."""
    merged = [chunks[0]]
    for chunk, seam in zip(chunks[1:], seams, strict=True):
        if seam is None:
            merged[-1] = Chunk(merged[-1].start, chunk.end)
        else:
            merged.append(chunk)
    return merged


def _joined_ids(ids_of_chunks: list[list[int]], seams: Sequence[Seam | None]) -> list[int]:
    ids: list[int] = []
    first = 0
    for of_chunk, seam in zip(ids_of_chunks, [*seams, None], strict=True):
        stop = None if seam is None else seam.left
        ids += of_chunk[first:stop]
        first = 0 if seam is None else seam.right
    return ids
