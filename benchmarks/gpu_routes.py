"""The ways of one tokenizer from texts to ids, compared with HF's before any of them is timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from corpora import whole_text
from tokenizer_files import tokenizer_json
from tokenizers import Tokenizer

from lopt_plugin.benchmarking.engine import UnavailableError
from lopt_plugin.benchmarking.engines import engine_class
from lopt_plugin.pipeline import Unsupported, read_pipeline
from lopt_plugin.routes.device.availability import interpreted
from lopt_plugin.routes.gpu import GpuRoute
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

MIXED = "mixed"
_DOCUMENT_CHARS = 20_000


class WrongIdsError(Exception):
    """Ids are not HF's: no figure is worth showing."""


class Routes:
    """gpu, native, hf, and other engines for batches by name; native and they have all CPUs."""

    def __init__(self, name: str, peers: Sequence[str]) -> None:
        text = tokenizer_json(name)
        tokenizer = Tokenizer.from_str(text)
        pipeline = read_pipeline(tokenizer)
        if isinstance(pipeline, Unsupported):
            raise SystemExit(f"{name}: {pipeline.reason}")
        self.name = name
        self.pipeline = pipeline
        self.hf = HfRoute(tokenizer)
        # Nothing is kept of what texts begin with: they come again and again here.
        self.native = NativeRoute(pipeline, Settings.read(prefix_cache_mb=0))
        self.threads = self.native.settings.threads
        self.gpu = GpuRoute(pipeline, self.native, check=False)
        self.peers: dict[str, Any] = {}
        self.problems: dict[str, str] = {}
        for peer in peers:
            try:
                self.peers[peer] = engine_class(peer)(text, self.threads)
            except (UnavailableError, ImportError, ValueError) as error:
                self.problems[peer] = str(error)
            except Exception as error:
                self.problems[peer] = f"{type(error).__name__}: {error}"

    def compare(self, texts: Sequence[str]) -> None:
        """Raises WrongIdsError for our own routes; a peer with other ids gets no figures."""
        expected = self.hf.encode_batch(texts, False, False)
        found = {
            "gpu": self.gpu.encode_batch(texts, False, False),
            "gpu, ids on the device": tuple(
                part.cpu().numpy() for part in self.gpu.encode_on_device(texts, False, False)
            ),
            "native": self.native.encode_batch(texts, False, False),
        }
        for route, ids in found.items():
            if not (np.array_equal(ids[0], expected[0]) and np.array_equal(ids[1], expected[1])):
                raise WrongIdsError(
                    f"{self.name}: the {route} route gives other ids than HF: no figure is worth showing"
                )
        if self.gpu.failure is not None:
            raise WrongIdsError(f"{self.name}: the GPU route failed: {self.gpu.failure}")
        for peer in list(self.peers):
            try:
                same = _same(self.peers[peer], texts, expected)
                problem = "" if same else "other ids than HF"
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                del self.peers[peer]
                self.problems[peer] = problem

    @contextmanager
    def resident(self, texts: Sequence[str]) -> Iterator[Callable[[], None]]:
        """A call that makes ids of texts that are on the device, and leaves them there; it waits for them.

        Raises WrongIdsError where they are not HF's, which is tried before.
        """
        batch = self.gpu._batch
        expected = self.hf.encode_batch(texts, False, False)
        found = tuple(part.cpu().numpy() for part in batch.encode(list(texts)))
        if not (np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])):
            raise WrongIdsError(f"{self.name}: ids of texts on the device are others than HF's")
        with batch.entered():
            sent = batch.send(list(texts))
            try:

                def work() -> None:
                    batch.launch(sent, on_host=False)
                    batch._streams.wait(sent.lane)

                yield work
            finally:
                batch.discard()


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


def utf8_bytes(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """The median of `repeats` runs behind two that do not count: the second is what makes a recording."""
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
