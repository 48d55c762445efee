"""Tokenizing chunks side by side: on threads, or in other processes."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from threading import Thread
from typing import Any, Protocol

from tokenizers import Tokenizer

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


class Workers(Protocol):
    """Tokenizes pieces with one tokenizer, which has no post-processor."""

    def tokenize(self, pieces: Sequence[Piece], split_special_tokens: bool) -> list[ChunkTokens]:
        """In the order of the pieces. Raises what the tokenizer raises."""

    def close(self) -> None:
        """Frees what is held."""


def tokenize_piece(tokenizer: Tokenizer, piece: Piece, known: KnownWord) -> ChunkTokens:
    """One piece. `encode_batch` releases the GIL, where `encode` holds it; without offsets it takes a third less."""
    if piece.known and known.tokens:
        encoding = tokenizer.encode_batch_fast([known.text + piece.text], add_special_tokens=False)[0]
        return ChunkTokens(encoding.ids[known.tokens :], {}, {})
    if not piece.head and not piece.tail:
        return ChunkTokens(tokenizer.encode_batch_fast([piece.text], add_special_tokens=False)[0].ids, {}, {})
    encoding = tokenizer.encode_batch([piece.text], add_special_tokens=False)[0]
    length = len(piece.text)
    return ChunkTokens(
        encoding.ids,
        word_starts(encoding, 0, piece.head, piece.start) if piece.head else {},
        word_starts(encoding, length - piece.tail, length, piece.start) if piece.tail else {},
    )


class ThreadWorkers:
    """Threads that live as long as a call: nothing to inherit at a fork. `tokenizers[split]` is for split specials."""

    def __init__(self, tokenizers: dict[bool, Tokenizer], known: KnownWord, threads: int) -> None:
        self._tokenizers = tokenizers
        self._known = known
        self._threads = threads

    def tokenize(self, pieces: Sequence[Piece], split_special_tokens: bool) -> list[ChunkTokens]:
        tokenizer = self._tokenizers[split_special_tokens]
        results: list[ChunkTokens | None] = [None] * len(pieces)
        failures: list[BaseException] = []
        numbers = itertools.count()

        def work() -> None:
            try:
                while not failures and (number := next(numbers)) < len(pieces):
                    results[number] = tokenize_piece(tokenizer, pieces[number], self._known)
            except BaseException as error:  # a panic in the Rust library is no Exception
                failures.append(error)

        threads = [Thread(target=work, name="lopt_chunks") for _ in range(min(self._threads, len(pieces)) - 1)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return [result for result in results if result is not None]

    def close(self) -> None:
        pass


class ProcessWorkers:
    """Other processes, started at the first call; each loads the tokenizer once. Texts and ids travel through pipes."""

    def __init__(self, tokenizers: dict[bool, Tokenizer], known: KnownWord, processes: int) -> None:
        self._tokenizers = tokenizers
        self._known = known
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def tokenize(self, pieces: Sequence[Piece], split_special_tokens: bool) -> list[ChunkTokens]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._processes,
                multiprocessing.get_context("spawn"),
                _load_in_process,
                (self._tokenizers[False].to_str(), self._known),
            )
        return list(self._pool.map(_tokenize_in_process, pieces, itertools.repeat(split_special_tokens)))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


_in_process: dict[str, Any] = {}


def _load_in_process(tokenizer_json: str, known: KnownWord) -> None:
    _in_process.update(tokenizer=Tokenizer.from_str(tokenizer_json), known=known)


def _tokenize_in_process(piece: Piece, split_special_tokens: bool) -> ChunkTokens:
    tokenizer = _in_process["tokenizer"]
    if tokenizer.encode_special_tokens != split_special_tokens:
        tokenizer.encode_special_tokens = split_special_tokens
    return tokenize_piece(tokenizer, piece, _in_process["known"])
