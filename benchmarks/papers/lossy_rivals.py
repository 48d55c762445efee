"""Other published methods to tokenize a text in parallel. LOSSY: for measurements and tests only.

None of them looks at the split pattern, and for some texts each gives different ids from those of the whole text. The
plugin's own method is in `lopt_plugin.routes`.

    delimiter_based   chunks that end after a delimiter
    longest_common    overlapping chunks, joined on the longest common sequence of token ids
    paper_lopt        overlapping chunks, joined on the longest run of tokens with equal ids and offsets (LoPT)

A `tokenize` takes chunks and gives an Encoding for each, without special tokens; it may do so in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from tokenizers import Encoding, Tokenizer

Tokenize = Callable[[Sequence[str]], list[Encoding]]
Span = tuple[int, int, int]
WINDOW = 512
LEAST_TOKENS = 2


def on_threads(tokenizer: Tokenizer, threads: int) -> Tokenize:
    """Each chunk on one of that many threads; `encode_batch` releases the GIL, `encode` does not."""

    def one(text: str) -> Encoding:
        return tokenizer.encode_batch([text], add_special_tokens=False)[0]

    def tokenize(texts: Sequence[str]) -> list[Encoding]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, texts))

    return tokenize


def delimiter_based(text: str, chunk: int, delimiter: str, tokenize: Tokenize) -> list[int]:
    """Divides right after the first delimiter after `chunk` characters. Lossy wherever a token begins with it."""
    pieces, start = [], 0
    while start < len(text):
        found = text.find(delimiter, start + chunk - 1)
        end = len(text) if found < 0 else found + len(delimiter)
        pieces.append(text[start:end])
        start = end
    return [i for encoding in tokenize(pieces) for i in encoding.ids]


def longest_common(text: str, chunk: int, overlap: int, tokenize: Tokenize) -> list[int]:
    """Joins on the longest run of equal ids among the last and the first WINDOW ids of two chunks.

    Ids without offsets: a run that occurs twice in the overlap is taken for the other one. Where nothing is equal, the
    chunks are concatenated.
    """
    encodings = tokenize([text[a : a + chunk + overlap] for a in range(0, len(text), chunk)])
    ids: list[int] = []
    for encoding in encodings:
        right = encoding.ids
        left = ids[-WINDOW:]
        match = SequenceMatcher(None, left, right[:WINDOW], autojunk=False).find_longest_match()
        if ids and match.size:
            del ids[len(ids) - len(left) + match.a :]
            right = right[match.b :]
        ids += right
    return ids


@dataclass(frozen=True)
class PaperLopt:
    """The result of LoPT: the ids, the final chunk length, and the shortest matched span of the text."""

    ids: list[int]
    chunk: int
    shortest_span: int


def paper_lopt(text: str, chunk: int, overlap: int, tokenize: Tokenize, *, longer_than: int = 0) -> PaperLopt:
    """LoPT as in the paper: position-aware matching, and chunks of twice the length where a seam matches too little.

    A seam needs a run of LEAST_TOKENS tokens with equal ids and spans, which covers more than `longer_than`
    characters; with the length of the longest entry for that, Theorem 4.1 claims that nothing is lost.
    """
    while chunk < len(text):
        encodings = tokenize([text[a : a + chunk + overlap] for a in range(0, len(text), chunk)])
        joined = _join(encodings, chunk, overlap, longer_than)
        if joined is not None:
            return PaperLopt(joined[0], chunk, joined[1])
        chunk *= 2
    return PaperLopt(tokenize([text])[0].ids, chunk, len(text))


def _join(encodings: Sequence[Encoding], chunk: int, overlap: int, longer_than: int) -> tuple[list[int], int] | None:
    ids: list[int] = []
    first, shortest = 0, 1 << 62
    for number, (left, right) in enumerate(pairwise(encodings)):
        run, i, j, span = _longest_run(left, right, number * chunk, chunk, overlap)
        if run < LEAST_TOKENS or span <= longer_than:
            return None
        shortest = min(shortest, span)
        ids += left.ids[first : i + run]
        first = j + run
    return ids + encodings[-1].ids[first:], shortest


def _longest_run(
    left: Encoding, right: Encoding, left_start: int, chunk: int, overlap: int
) -> tuple[int, int, int, int]:
    """Tokens, the first one's number in the left and in the right chunk, and characters of the longest run."""
    at = left_start + chunk
    left_keys = _keys(left, left_start, at, at + overlap)
    right_keys = _keys(right, at, at, at + overlap)
    matcher = SequenceMatcher(None, [key for _, key in left_keys], [key for _, key in right_keys], autojunk=False)
    run = matcher.find_longest_match()
    if not run.size:
        return 0, 0, 0, 0
    (i, (_, (begin, _, _))), (_, (_, (_, end, _))) = left_keys[run.a], left_keys[run.a + run.size - 1]
    return run.size, i, right_keys[run.b][0], end - begin


def _keys(encoding: Encoding, start: int, first: int, stop: int) -> list[tuple[int, tuple[int, Span]]]:
    """Number, id and span in the whole text of the tokens within first .. stop - 1.

    Several tokens of one character have the same span: they are numbered.
    """
    keys = []
    seen: dict[tuple[int, int], int] = {}
    for number, (token, (a, b)) in enumerate(zip(encoding.ids, encoding.offsets, strict=True)):
        if first <= start + a and start + b <= stop:
            same = seen[a, b] = seen.get((a, b), -1) + 1
            keys.append((number, (token, (start + a, start + b, same))))
    return keys
