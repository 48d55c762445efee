"""Texts that are encoded while the caller goes on have the ids that each has by itself."""

from __future__ import annotations

import copy
import gc
import itertools
import random
import threading
from typing import Any

import corpus
import interface_tokenizers
import native_cores
import own_process
import pytest

import lopt_plugin

TEXTS = [*interface_tokenizers.TEXTS, "", "a", " \n", "e\u0301\u0323" * 40, "x" * 5_000, "<|im_start|>user\n1"]
WORKERS = [0, 1, 2, 5]


@pytest.mark.parametrize("name", native_cores.SMALL)
def test_ids(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    texts = [*TEXTS, *corpus.conformance(corpus.conformance_families()[0])[:50]]
    expected = native_cores.expected(reference, texts)
    for workers in WORKERS:
        ahead = core.encode_ahead(texts * 3, workers)
        assert len(ahead) == 3 * len(texts)
        assert [ahead.take(place) for place in range(3 * len(texts))] == expected * 3
        # In any order, and more than once.
        ahead = core.encode_ahead(texts, workers)
        places = random.Random(workers).choices(range(len(texts)), k=100)
        assert [ahead.take(place) for place in places] == [expected[place] for place in places]


@pytest.mark.parametrize("workers", WORKERS)
def test_an_error_names_the_text_that_it_concerns(workers: int) -> None:
    from lopt_plugin.native._core import LoneSurrogateError

    core, reference = native_cores.core_and_reference("tiny_qwen2")
    texts = ["one", "t\ud800o", "three"] * 20
    ahead = core.encode_ahead(texts, workers)
    expected = native_cores.expected(reference, ["one", "three"])
    for place in range(0, len(texts), 3):
        assert ahead.take(place) == expected[0]
        for _ in range(2):
            with pytest.raises(LoneSurrogateError):
                ahead.take(place + 1)
        assert ahead.take(place + 2) == expected[1]
    for place in (len(texts), 1 << 60):
        with pytest.raises(IndexError):
            ahead.take(place)
    with pytest.raises(TypeError):
        core.encode_ahead(["one", 2], workers)
    assert len(core.encode_ahead([], workers)) == 0


@pytest.mark.parametrize("workers", WORKERS)
def test_work_that_nobody_waits_for_is_skipped(workers: int) -> None:
    core, reference = native_cores.core_and_reference("tiny_qwen2")
    texts = [TEXTS[0] * 50 for _ in range(500)]
    expected = native_cores.expected(reference, texts[:1])[0]
    for _ in range(10):
        ahead = core.encode_ahead(texts, workers)
        assert ahead.take(7) == expected
        del ahead
    # It keeps what it needs.
    ahead = core.encode_ahead([text + "" for text in texts], workers)
    texts.clear()
    gc.collect()
    assert ahead.take(499) == expected


def test_returned_lists_belong_to_the_caller() -> None:
    core, reference = native_cores.core_and_reference("tiny_qwen2")
    ahead = core.encode_ahead(TEXTS, 1)
    first, again = ahead.take(0), ahead.take(0)
    assert first == again == native_cores.expected(reference, TEXTS[:1])[0]
    assert first is not again
    first += first
    first.sort()
    del first[3:]
    first.append([first])
    assert ahead.take(0) == again
    del ahead, first
    gc.collect()
    assert again == core.encode(TEXTS[0])


def test_threads_that_take_from_the_same_texts() -> None:
    core, reference = native_cores.core_and_reference("tiny_qwen2")
    texts = [f"{text} {number}" for number in range(60) for text in TEXTS]
    expected = native_cores.expected(reference, texts)
    ahead = core.encode_ahead(texts, 2)
    found: dict[int, list[list[int]]] = {}

    def take_all(seed: int) -> None:
        places = list(range(len(texts)))
        random.Random(seed).shuffle(places)
        found[seed] = [ids for _, ids in sorted((place, ahead.take(place)) for place in places)]

    threads = [threading.Thread(target=take_all, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[seed] == expected for seed in range(6))


def test_fork() -> None:
    """The child has none of the threads, whatever they had begun."""
    own_process.run("""
import os
import native_cores
core, _ = native_cores.core_and_reference("tiny_qwen2")
texts = [("Cafe\\u0301 the quick brown fox 12345\\n" * 40)[k:] for k in range(900)]
expected = [core.encode(text) for text in texts]
for _ in range(5):
    ahead = core.encode_ahead(texts, 2)
    assert ahead.take(3) == expected[3]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert [ahead.take(place) for place in range(len(texts))] == expected
            del ahead
            assert core.encode_batch_lists(texts, 3) == expected
            status = 0
        finally:
            os._exit(status)
    assert [ahead.take(place) for place in range(len(texts))] == expected
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")


def test_exit_with_texts_left() -> None:
    own_process.run("""
import native_cores
core, _ = native_cores.core_and_reference("tiny_qwen2")
ahead = core.encode_ahead(["the quick brown fox " * 2000] * 500, 2)
assert ahead.take(0)
""")


CALLS: list[dict[str, Any]] = [
    {"truncation": True, "max_length": 9},
    {"truncation": True, "max_length": 9, "add_special_tokens": False},
    {"truncation": True, "max_length": 100_000},
    {"truncation": False, "max_length": 5},
    {},
    {"add_special_tokens": False},
]


@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_rows_of_a_tokenizer(name: str) -> None:
    """Special tokens, limits and their side, as `encode` has them."""
    reference = copy.deepcopy(interface_tokenizers.original(name))
    tokenizer = lopt_plugin.accelerate(reference, threads=2, route="auto")
    for side, call in itertools.product(("left", "right"), CALLS):
        reference.truncation_side = tokenizer.truncation_side = side
        before = tokenizer.lopt._runner.native_calls
        rows = tokenizer._lopt_prefetch(TEXTS, **call)
        if rows is None:
            # Without a native route, or a text far beyond the limit.
            assert tokenizer.lopt._runner.state.snapshot().native is None or side == "right"
            continue
        assert [rows.take(row) for row in range(len(TEXTS))] == [reference.encode(text, **call) for text in TEXTS]
        assert tokenizer.lopt._runner.native_calls == before + len(TEXTS)
        assert rows.take(0) == reference.encode(TEXTS[0], **call)


def test_texts_that_are_too_long_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """As transformers does: once for a tokenizer, when the first of them is taken, and only without a limit."""
    reference = copy.deepcopy(interface_tokenizers.original("bert"))
    reference.model_max_length = 20
    tokenizer = lopt_plugin.accelerate(reference, threads=2)
    texts = ["one", "two " * 40, "three " * 50]
    said = []
    for encode in (lambda: [reference.encode(text) for text in texts], lambda: taken(tokenizer, texts)):
        caplog.clear()
        said.append((encode(), [record.getMessage() for record in caplog.records]))
    assert said[0] == said[1]
    assert len(said[0][1]) == 1
    unwarned = lopt_plugin.accelerate(reference, threads=2)
    unwarned.deprecation_warnings.clear()
    caplog.clear()
    taken(unwarned, texts, truncation=True, max_length=100)
    taken(unwarned, texts[:1])
    assert not caplog.records
    rows = unwarned._lopt_prefetch(texts)
    rows.take(0)
    assert not caplog.records
    rows.take(2)
    assert len(caplog.records) == 1


def taken(tokenizer: Any, texts: list[str], **call: Any) -> list[Any]:
    rows = tokenizer._lopt_prefetch(texts, **call)
    return [rows.take(row) for row in range(len(texts))]


def test_a_text_that_hugging_face_is_asked_for() -> None:
    tokenizer = lopt_plugin.accelerate(interface_tokenizers.original("bert"), threads=2)
    rows = tokenizer._lopt_prefetch(["one", "t\ud800o", "three"], truncation=True, max_length=60)
    assert [rows.take(row) is None for row in range(3)] == [False, True, False]


def test_texts_that_are_verified_go_one_by_one() -> None:
    tokenizer = lopt_plugin.accelerate(interface_tokenizers.original("bert"), threads=2, verify=0.5)
    assert tokenizer._lopt_prefetch(TEXTS, truncation=True, max_length=60) is None
