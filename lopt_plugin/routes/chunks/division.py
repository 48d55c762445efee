"""A text into chunks, and their tokens into the ids of the text: LoPT's loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .places import Places
from .seams import ChunkTokens, Seam, find_seam
from .workers import Piece

Tokenize = Callable[[Sequence[Piece]], list[ChunkTokens]]
_LONGEST_SEARCH = 1000


@dataclass(frozen=True)
class Lengths:
    """Characters a chunk and an overlap, and how many tokens must be equal behind a seam (the paper's threshold)."""

    chunk: int
    overlap: int
    tokens: int = 2


@dataclass(frozen=True)
class Chunk:
    """text[start:end]. It begins at a cut, or overlaps the chunk before it, which then ends behind its start."""

    start: int
    end: int
    tokens: ChunkTokens | None = None


@dataclass
class Counts:
    """What it took: chunks at first, seams at cuts and by matching, seams that had to be given up."""

    chunks: int = 0
    cuts: int = 0
    matches: int = 0
    given_up: int = 0


def divide(text: str, places: Places, lengths: Lengths, use_cuts: bool, use_overlaps: bool) -> list[Chunk]:
    """Chunks that cover the text. Where neither cut nor free place is near, a chunk gets longer."""
    chunks: list[Chunk] = []
    start, target = 0, lengths.chunk
    while target < len(text):
        search = target + min(_LONGEST_SEARCH, max(lengths.chunk, lengths.overlap))
        cut = places.cut(text, target, search) if use_cuts else None
        if cut is not None:
            chunks.append(Chunk(start, cut))
            start = cut
        elif use_overlaps and (place := places.free(text, target, search)) is not None:
            behind = place + lengths.overlap
            end = places.free(text, behind, behind + _LONGEST_SEARCH)
            if end is None:
                target += lengths.chunk
                continue
            chunks.append(Chunk(start, end))
            start = place
        else:
            target += lengths.chunk
            continue
        target = max(start + lengths.chunk, target)
    return [*chunks, Chunk(start, len(text))]


def encode(text: str, chunks: list[Chunk], lengths: Lengths, tokenize: Tokenize) -> tuple[list[int], Counts]:
    """The ids of the text. A seam that matches nothing is given up: its two chunks become one, and are tokenized again.

    The paper starts the whole text again with chunks of twice the length; that gives up every second seam, also those
    that matched.
    """
    counts = Counts(chunks=len(chunks))
    while True:
        fresh = [number for number, chunk in enumerate(chunks) if chunk.tokens is None]
        pieces = [_piece(text, chunks, number) for number in fresh]
        for number, tokens in zip(fresh, tokenize(pieces), strict=True):
            chunks[number] = replace(chunks[number], tokens=tokens)
        seams = _seams(text, chunks, lengths)
        lost = {number for number, seam in enumerate(seams) if seam is None}
        if not lost:
            break
        counts.given_up += len(lost)
        chunks = _joined(chunks, lost)
    counts.cuts = sum(a.end == b.start for a, b in pairwise(chunks))
    counts.matches = len(seams) - counts.cuts
    return _merged(chunks, [seam for seam in seams if seam is not None]), counts


def _piece(text: str, chunks: list[Chunk], number: int) -> Piece:
    chunk = chunks[number]
    head = chunks[number - 1].end - chunk.start if number else 0
    tail = chunk.end - chunks[number + 1].start if number + 1 < len(chunks) else 0
    return Piece(text[chunk.start : chunk.end], chunk.start, head, tail, number > 0)


def _seams(text: str, chunks: list[Chunk], lengths: Lengths) -> list[Seam | None]:
    """For each chunk but the last, how it is joined to the next. The left one is true from the seam before on only."""
    seams: list[Seam | None] = []
    true_from = 0
    for left, right in pairwise(chunks):
        assert left.tokens is not None
        assert right.tokens is not None
        if left.end == right.start:
            seam: Seam | None = Seam(right.start, len(left.tokens.ids), 0)
        else:
            seam = find_seam(text, left.tokens, left.end, right.tokens, right.start, true_from, lengths.tokens)
        seams.append(seam)
        if seam is not None:
            true_from = seam.place
    return seams


def _joined(chunks: list[Chunk], lost: set[int]) -> list[Chunk]:
    """Without the seams behind the chunks `lost`; a chunk that became longer has no tokens."""
    joined = [chunks[0]]
    for number, chunk in enumerate(chunks[1:]):
        if number in lost:
            joined[-1] = Chunk(joined[-1].start, chunk.end)
        else:
            joined.append(chunk)
    return joined


def _merged(chunks: list[Chunk], seams: list[Seam]) -> list[int]:
    ids: list[int] = []
    first = 0
    for chunk, seam in zip(chunks, [*seams, None], strict=True):
        assert chunk.tokens is not None
        stop = len(chunk.tokens.ids) if seam is None else seam.left
        ids += chunk.tokens.ids if first == 0 and stop == len(chunk.tokens.ids) else chunk.tokens.ids[first:stop]
        first = 0 if seam is None else seam.right
    return ids
