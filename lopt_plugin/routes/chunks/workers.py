"""Tokenizing chunks side by side: on threads, or in other processes."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from threading import Thread

from tokenizers import Encoding, Tokenizer

from .seams import ChunkTokens, word_starts


@dataclass(frozen=True)
class Piece:
    """A chunk to tokenize.

    text    the chunk's own text
    start   its place in the whole text
    head    so many of its first characters may hold a seam; 0 where it begins at a cut
    tail    the same at its end
    known   it follows the known first word, whose tokens are cut off
    """

    text: str
    start: int
    head: int
    tail: int
    known: bool


@dataclass(frozen=True)
class KnownWord:
    """A first word that takes what is put before a stretch; no token holds a part of it and of what follows."""

    text: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class PieceTokenizer:
    """Tokenizes pieces with one tokenizer, which has no post-processor.

    holding_gil: `encode` holds the GIL and starts no thread; `encode_batch` releases it, and runs in the thread pool of
    `tokenizers`, which warns at every later fork. Of the latter there is a fast one, which finds no offsets and takes a
    third less.
    """

    tokenizer: Tokenizer
    known: KnownWord
    holding_gil: bool = False

    def __call__(self, piece: Piece) -> ChunkTokens:
        """Raises what the tokenizer raises."""
        known = self.known if piece.known else KnownWord()
        encoding = self._encode(known.text + piece.text, bool(piece.head or piece.tail))
        ids: list[int] = encoding.ids
        length = len(piece.text)
        return ChunkTokens(
            ids[known.tokens :] if known.tokens else ids,
            word_starts(encoding, 0, piece.head, piece.start) if piece.head else {},
            word_starts(encoding, length - piece.tail, length, piece.start) if piece.tail else {},
        )

    def _encode(self, text: str, with_offsets: bool) -> Encoding:
        if self.holding_gil:
            return self.tokenizer.encode(text, add_special_tokens=False)
        encode_batch = self.tokenizer.encode_batch if with_offsets else self.tokenizer.encode_batch_fast
        return encode_batch([text], add_special_tokens=False)[0]


def on_threads(tokenize: PieceTokenizer, pieces: Sequence[Piece], threads: int) -> list[ChunkTokens]:
    """In the order of the pieces. The threads live as long as the call: there is nothing to inherit at a fork."""
    results: list[ChunkTokens | None] = [None] * len(pieces)
    failures: list[BaseException] = []
    numbers = itertools.count()

    def work() -> None:
        try:
            while not failures and (number := next(numbers)) < len(pieces):
                results[number] = tokenize(pieces[number])
        except BaseException as error:  # a panic in the Rust library is no Exception
            failures.append(error)

    others = [Thread(target=work, name="lopt_chunks") for _ in range(min(threads, len(pieces)) - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
    return [result for result in results if result is not None]


class Processes:
    """Other processes, started at the first call; each loads the tokenizer once. Texts and ids travel through pipes."""

    def __init__(self, processes: int, known: KnownWord) -> None:
        self._processes = processes
        self._known = known
        self._pool: ProcessPoolExecutor | None = None

    def tokenize(self, tokenizer: Tokenizer, pieces: Sequence[Piece], split_special_tokens: bool) -> list[ChunkTokens]:
        """In the order of the pieces. `tokenizer` is asked for its JSON once."""
        if self._pool is None:
            # Not forked: threads of this process may hold locks.
            self._pool = ProcessPoolExecutor(
                self._processes,
                multiprocessing.get_context("spawn"),
                _load_in_process,
                (tokenizer.to_str(), self._known),
            )
        return list(self._pool.map(_tokenize_in_process, pieces, itertools.repeat(split_special_tokens)))

    def close(self) -> None:
        """Ends the processes; a later call starts new ones."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


_in_process: list[PieceTokenizer] = []


def _load_in_process(tokenizer_json: str, known: KnownWord) -> None:
    _in_process[:] = [PieceTokenizer(Tokenizer.from_str(tokenizer_json), known, holding_gil=True)]


def _tokenize_in_process(piece: Piece, split_special_tokens: bool) -> ChunkTokens:
    tokenize = _in_process[0]
    if tokenize.tokenizer.encode_special_tokens != split_special_tokens:
        tokenize.tokenizer.encode_special_tokens = split_special_tokens
    return tokenize(piece)
