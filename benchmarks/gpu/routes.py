"""One tokenizer's methods from texts to ids, compared with HF's before any of them is timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from benchmarks.common.data import tokenizer_json, utf8_bytes, whole_text
from benchmarks.common.engines import engine_class
from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.gpu.device import interpreted
from lopt_plugin.routes.gpu.route import GpuRoute
from lopt_plugin.routes.gpu.rows import Chunk, Chunks, DeviceRows
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings

MIXED = "mixed"
_DOCUMENT_CHARS = 20_000


class WrongIdsError(Exception):
    """Ids are not HF's: no figure is worth showing."""


class Routes:
    """gpu, native, hf, and other engines for batches by name; native and the other engines have all CPUs."""

    def __init__(self, name: str, peers: Sequence[str]) -> None:
        text = tokenizer_json(name)
        tokenizer = Tokenizer.from_str(text)
        pipeline = read_pipeline(tokenizer)
        self.name = name
        self.pipeline = pipeline
        self.hf = HfRoute(tokenizer)
        # No prefix cache: the same texts come again and again here.
        self.native = NativeRoute(pipeline, Settings.read(prefix_cache_mb=0))
        self.threads = self.native.settings.threads
        self.gpu = GpuRoute(pipeline, self.native, check=False)
        self.peers: dict[str, Any] = {}
        self.problems: dict[str, str] = {}
        for peer in peers:
            try:
                self.peers[peer] = engine_class(peer)(text, self.threads)
            except Exception as error:
                self.problems[peer] = f"{type(error).__name__}: {error}"

    def methods(self, texts: Sequence[str]) -> dict[str, Callable[[], Any]]:
        """Calls that make ids of strings, by the route and what comes of it; those of peers by their names."""
        strings = list(texts)
        return {
            "gpu: on the device": lambda: synchronized(self.gpu.encode_on_device(texts, PLAIN[False][False])),
            "gpu: array": lambda: self.gpu.encode_batch(texts, PLAIN[False][False]),
            "gpu: lists": lambda: self.gpu.encode_lists(texts, False),
            "native: array": lambda: self.native.encode_batch(texts, PLAIN[False][False]),
            "native: lists": lambda: self.native.encode_lists(texts, False),
            **{name: lambda peer=peer: peer.encode_batch(strings) for name, peer in self.peers.items()},
        }

    def compare(self, texts: Sequence[str]) -> None:
        """Raises WrongIdsError for our own routes; a peer with other ids gets no figures."""
        expected = self.hf.encode_batch(texts, PLAIN[False][False])
        found = {
            "gpu": self.gpu.encode_batch(texts, PLAIN[False][False]),
            "gpu, ids on the device": _on_host(self.gpu.encode_on_device(texts, PLAIN[False][False])),
            "native": self.native.encode_batch(texts, PLAIN[False][False]),
        }
        for route, ids in found.items():
            self._check(route, ids, expected)
        if self.gpu.failure is not None:
            raise WrongIdsError(f"{self.name}: the GPU route failed: {self.gpu.failure}")
        for peer in list(self.peers):
            try:
                problem = "" if _same(self.peers[peer], texts, expected) else "other ids than HF"
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                del self.peers[peer]
                self.problems[peer] = problem

    def for_device(self, texts: Sequence[str]) -> list[str]:
        """The texts that the route does not leave to the host."""
        chunks = self.gpu.chunks_of(texts, PLAIN[False][False])
        return [texts[number] for chunk in chunks.on_device for number in chunk.numbers]

    def in_one_chunk(self, texts: Sequence[str]) -> Chunks:
        """A batch of texts `for_device`, however large."""
        native = self.gpu.native
        threads = native.threads_for(sum(map(len, texts)))
        chunk = Chunk(np.arange(len(texts)), utf8_bytes(texts))
        return Chunks(native.core.texts_to_pack(list(texts), threads), [chunk], np.arange(0), threads)

    def resident_seconds(self, batches: Sequence[Sequence[str]], repeats: int, *, new_words: bool) -> float:
        """The median from texts on the device to ids that stay there, of batches by turns, after one round of them.

        batches: of texts `for_device`. new_words: the word cache is emptied before each run, so that every word outside
        the vocabulary is merged; else it holds the words of all batches. Raises WrongIdsError where ids are not HF's.
        """
        batch = self.gpu._batch
        for texts in batches:
            (part,) = batch.compute(self.in_one_chunk(texts), PLAIN[False][False], on_host=False)
            self._check("gpu, all on the device", _on_host(part[1:]), self.hf.encode_batch(texts, PLAIN[False][False]))
        times = []
        with batch.entered():
            for run in range(len(batches) + repeats):
                texts = batches[run % len(batches)]
                if new_words:
                    batch.discard()
                chunks = self.in_one_chunk(texts)
                sent = batch.send(chunks, chunks.on_device[0], PLAIN[False][False])
                batch._stream.wait_for_all()
                begin = time.perf_counter()
                batch.launch(sent, on_host=False)
                batch._stream.wait(sent.lane)
                times.append(time.perf_counter() - begin)
                batch.settle(sent, on_host=False)
                batch.take(sent, chunks.on_device[0].numbers, DeviceRows())
        return statistics.median(times[len(batches) :])

    def _check(self, route: str, ids: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
        if not (np.array_equal(ids[0], expected[0]) and np.array_equal(ids[1], expected[1])):
            raise WrongIdsError(f"{self.name}: the {route} route gives other ids than HF, {difference(ids, expected)}")


def difference(found: tuple[Any, Any], expected: tuple[Any, Any]) -> str:
    """The first place where ids, or the ends of rows, differ, in words."""
    (ids, offsets), (right, right_offsets) = found, expected
    most = min(len(ids), len(right))
    place = int(np.append(np.flatnonzero(ids[:most] != right[:most]), most)[0])
    row = int(np.searchsorted(right_offsets, place, side="right")) - 1
    some, right_ones = ids[place : place + 4].tolist(), right[place : place + 4].tolist()
    most = min(len(offsets), len(right_offsets))
    rows = int(np.append(np.flatnonzero(offsets[:most] != right_offsets[:most]), most)[0])
    return f"from id {place - right_offsets[row]:,} of row {row:,} on: {some}, not {right_ones}; rows from {rows:,} on"


def _on_host(parts: Sequence[Any]) -> tuple[Any, Any]:
    ids, offsets = (part.cpu().numpy() for part in parts)
    return ids, offsets


def _same(engine: Any, texts: Sequence[str], expected: tuple[Any, Any]) -> bool:
    rows = engine.batch_ids(engine.encode_batch(list(texts)))
    ids, offsets = expected
    if isinstance(rows, tuple):
        found, begins = (np.asarray(part) for part in rows)
        return np.array_equal(found, ids) and np.array_equal(np.diff(begins), np.diff(offsets))
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    flat = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else np.zeros(0, np.int64)
    return np.array_equal(lengths, np.diff(offsets)) and np.array_equal(flat, ids)


def texts_of(corpus: str, corpora: Sequence[str], chars: int) -> list[str]:
    """Documents of about `chars` characters together; "mixed": of all corpora in turn. Small corpora are repeated."""
    sources = [name for name in corpora if name != MIXED] if corpus == MIXED else [corpus]
    texts: list[list[str]] = []
    for source in sources:
        text, _ = whole_text(source)
        share = -(-chars // len(sources))
        text = (text * -(-share // len(text)))[:share]
        texts.append([text[begin : begin + _DOCUMENT_CHARS] for begin in range(0, share, _DOCUMENT_CHARS)])
    return [text for together in zip(*texts, strict=True) for text in together]


def by_turns(texts: Sequence[str], count: int = 3) -> list[list[str]]:
    """The texts in `count` batches of about the same size, no text in two of them."""
    return [list(texts[begin::count]) for begin in range(min(count, len(texts)))]


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """The median of `repeats` runs, after two that do not count: the second one makes a recording."""
    for _ in range(2):
        work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def synchronized(result: Any) -> Any:
    """The same, once the device has done all that the current stream waits for."""
    if not interpreted():
        import torch

        torch.cuda.current_stream().synchronize()
    return result
