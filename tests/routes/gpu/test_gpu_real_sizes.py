"""The GPU route at real sizes, from several threads and streams; at small sizes in the interpreter."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import corpus
import numpy as np
import pytest
from kernel_device import DEVICE, INTERPRETED, make_interpreter_faster, to_device, torch
from test_gpu_route import LARGE, SMALL, expected, made, rows

from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.triton_kernels.common.limits import MOST_CHUNK_BYTES

NAMES = ["tiny_o200k"] if INTERPRETED else [*SMALL, *(name for name in LARGE if name in corpus.tokenizer_names())]
CHARACTERS = 300 if INTERPRETED else 8_000_000  # of each corpus
THREADS, BATCHES = (3, 2) if INTERPRETED else (8, 20)
ONE_CHUNK_BYTES = 3_000 if INTERPRETED else 1 << 30  # of UTF-8, in one chunk

needs_gpu = pytest.mark.skipif(INTERPRETED, reason="there is no GPU: nothing is large here")


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def documents(characters: int) -> list[str]:
    return [text for kind in corpus.corpora() for text in corpus.texts(kind, characters)]


def own_stream() -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if INTERPRETED else torch.cuda.stream(torch.cuda.Stream())


@pytest.mark.parametrize("name", NAMES)
def test_whole_corpora(name: str) -> None:
    """Twice, with another cache in between: what the first batch left in the cache does not change the second."""
    reference, texts = corpus.load_tokenizer(name), documents(CHARACTERS)
    route = made(reference, cache_slots=1 << 12 if INTERPRETED else 1 << 17)
    wanted = expected(reference, texts)
    for _ in range(2):
        assert rows(route.encode_batch(texts, PLAIN[True][False])) == wanted
    assert route.failure is None
    assert route.texts_on_device > route.texts_on_host


def test_one_chunk_of_many_bytes() -> None:
    """Against the native route, which other tests compare with the reference."""
    if not INTERPRETED and torch.cuda.mem_get_info()[0] < 60 << 30:
        pytest.skip("the GPU has less than 60 GiB free")
    text = "".join(documents(1000 if INTERPRETED else 4_000_000)[:50])[: 1_000 if INTERPRETED else 20_000_000]
    texts = [f"{number} {text}" for number in range(ONE_CHUNK_BYTES // (len(text.encode()) + 20))]
    assert sum(len(text.encode()) for text in texts) > (0.5 if INTERPRETED else 0.9) * ONE_CHUNK_BYTES
    route = made(corpus.load_tokenizer("tiny_o200k"), chunk_bytes=MOST_CHUNK_BYTES, longest_bytes=MOST_CHUNK_BYTES)
    found = route.encode_batch(texts, PLAIN[True][False])
    wanted = route.native.encode_batch(texts, PLAIN[True][False])
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])
    assert (route.failure, route.texts_on_host) == (None, 0)


def test_threads_with_streams_of_their_own() -> None:
    """They share tables, buffers and a cache so small that it is emptied repeatedly."""
    reference = corpus.load_tokenizer("tiny_tekken")
    route = made(reference, cache_slots=32 if INTERPRETED else 1 << 10, chunk_bytes=150 if INTERPRETED else 1 << 20)
    texts = documents(150 if INTERPRETED else 300_000)
    batches = [
        [*texts[thread::THREADS], f"thread {thread} says hello to zzx{batch}q", "x" * batch, "<s>"]
        for thread in range(THREADS)
        for batch in range(BATCHES)
    ]
    wanted = [expected(reference, batch) for batch in batches]
    wrong: list[int] = []

    def work(thread: int) -> None:
        with own_stream():
            for number in range(thread * BATCHES, (thread + 1) * BATCHES):
                batch = TokenBatch(*route.encode_on_device(batches[number], PLAIN[True][False]))
                found = rows((batch.ids, batch.row_offsets))
                if not INTERPRETED:  # there, concurrent kernels disturb each other
                    table = batch.padded(0)
                    found = [row[: int(mask.sum())].tolist() for row, mask in zip(*table, strict=True)]
                if found != wanted[number]:
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert route.failure is None
    assert route.texts_on_device + route.texts_on_host == sum(map(len, batches))


@needs_gpu
def test_rows_wider_than_a_grid_is_high() -> None:
    ids = torch.arange(3 * (1 << 20) + 5, dtype=torch.int32, device=DEVICE)
    offsets = to_device(np.array([0, 5, len(ids)]))
    table, mask = TokenBatch(ids, offsets).padded(7)
    assert torch.equal(table[1, : len(ids) - 5], ids[5:])
    assert mask.sum(1).tolist() == [5, len(ids) - 5]


@needs_gpu
@pytest.mark.parametrize("index", range(torch.cuda.device_count()))
def test_every_device(index: int) -> None:
    """Whatever device is current, the kernels run and the ids are on the requested one."""
    reference = corpus.load_tokenizer("tiny_o200k")
    route = made(reference, device=f"cuda:{index}")
    texts = documents(2000)
    with torch.cuda.device(0):
        found = route.encode_on_device(texts, PLAIN[True][False])
        assert {part.device.index for part in found} == {index}
        assert rows(found) == expected(reference, texts)
        table = TokenBatch(*found).padded(0).input_ids
        assert table.device.index == index
    assert route.failure is None


@needs_gpu
def test_batches_of_one_size_are_replayed() -> None:
    """A failed recording is not an error of the route; without this test nothing would notice it."""
    reference = corpus.load_tokenizer("tiny_o200k")
    route = made(reference)
    texts = documents(2000)
    for _ in range(4):
        assert rows(route.encode_on_device(texts, PLAIN[True][False])) == expected(reference, texts)
    assert route._batch.graphs.failure is None
    assert route._batch.graphs.replayed > 0
