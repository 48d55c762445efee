"""The edges of the WordPiece core: what it refuses and how, bounded memory, threads and forks."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import own_process
import pytest
from word_pieces import DEFAULT

from lopt_plugin.native import _core
from lopt_plugin.routes.core_values import CoreValues
from lopt_plugin.routes.native_core import core_of
from lopt_plugin.unicode_tables import load

ARGUMENTS: dict[str, Any] = {
    "vocabulary": {"[UNK]": 0, "a": 1, "##a": 2, "a\u0301": 3},
    "unknown_id": 0,
    "continuing_prefix": "##",
    "max_characters": 100,
    "order": None,
    "added_tokens": [],
}


def make_core(**changes: Any) -> Any:
    given = {**ARGUMENTS, "characters": load.word_characters(None).as_bytes(), **changes}
    out = CoreValues()
    out.begin("word piece")
    out.vocabulary(given["vocabulary"])
    out.add(given["unknown_id"], given["continuing_prefix"], given["max_characters"], *given["characters"])
    out.rows([])
    out.function(given["order"])
    out.rows(given["added_tokens"])
    return core_of(out)


def test_a_core_of_few_arguments() -> None:
    core = make_core()
    assert core.encode("aa b a\u0301") == [1, 2, 0, 3]
    assert core.encode("") == core.encode("", 4, 1) == core.encode_array("").tolist() == []
    assert core.info()["table_bytes"] > 0
    for text in (chr(0xD800), "a" * 100 + chr(0xDFFF)):
        for call in (core.encode, core.encode_array):
            with pytest.raises(_core.LoneSurrogateError):
                call(text, 2)
    for bad in (None, b"a", 3):
        with pytest.raises(TypeError):
            core.encode(bad)
    with pytest.raises(TypeError):
        core.encode_batch(["a", 3])


PAGES, CELLS, CHANGED, ENDS, IMAGES = load.word_characters(DEFAULT).as_bytes()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vocabulary": {"a": (1 << 20) - 1}}, "above"),
        ({"unknown_id": 1 << 20}, "above"),
        ({"added_tokens": [("", 1, False, False, False, False, False)]}, "empty"),
        ({"added_tokens": [("x", 1 << 20, False, False, False, False, False)]}, "above"),
        ({"characters": (b"\0\0", CELLS, CHANGED, ENDS, IMAGES)}, "pages expected"),
        ({"characters": (PAGES, b"", CHANGED, ENDS, IMAGES)}, "past the cells"),
        ({"characters": (PAGES, CELLS, CHANGED[:-4], ENDS, IMAGES)}, "one end"),
        ({"characters": (PAGES, CELLS, CHANGED, ENDS, IMAGES[:-1])}, "outside"),
        ({"characters": (PAGES, CELLS, b"\xff" * len(CHANGED), ENDS, IMAGES)}, "outside"),
        ({"characters": (PAGES, CELLS, CHANGED, b"\0" * len(ENDS), IMAGES)}, "outside"),
        ({"characters": (PAGES, CELLS, b"", b"", b"")}, "missing"),
        ({"characters": (PAGES, CELLS, CHANGED, ENDS, IMAGES)}, "nothing orders"),
    ],
)
def test_arguments_that_a_core_refuses(changes: dict[str, Any], reason: str) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match=reason):
            make_core(**changes)


def test_an_order_that_fails() -> None:
    def order(text: str) -> str:
        raise RuntimeError("no order")

    core = make_core(characters=load.word_characters(DEFAULT).as_bytes(), order=order)
    assert core.encode("aA a\U0001d165") == [1, 2, 0]
    for threads in (1, 3):
        with pytest.raises(RuntimeError, match="no order"):
            core.encode("aaa \U0001d165\u1b44" * 100, threads, 10)
        with pytest.raises(RuntimeError, match="no order"):
            core.encode_batch(["a", "\U0001d165\u1b44"], threads)
    assert core.encode("aa") == [1, 2]


def test_references_are_given_back() -> None:
    """Of the function that orders, also where a core comes to nothing."""

    class Order:
        def __call__(self, text: str) -> str:
            return text

    order = Order()
    before = sys.getrefcount(order)
    characters = load.word_characters(DEFAULT).as_bytes()
    core = make_core(characters=characters, order=order)
    core.encode("a\U0001d165\u1b44")
    del core
    with pytest.raises(ValueError, match="above"):
        make_core(characters=characters, order=order, vocabulary={"a": 1 << 20})
    gc.collect()
    assert sys.getrefcount(order) == before


PRELUDE = """
import gc, os, random, threading
import numpy as np
import word_pieces
core, _ = word_pieces.core_and_reference("wordpiece_uncased")
core.remember_prefixes(0)  # the prefix cache has a limit of its own
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
@pytest.mark.parametrize(
    "alphabet",
    [
        "range(97, 123)",
        pytest.param("range(0xAC00, 0xD7A3)", marks=pytest.mark.deep),
        pytest.param("[0x1B44, 0x1BAA, 0x1D165, 0x1D16D, 0x301]", marks=pytest.mark.deep),
    ],
)
def test_memory_under_words_never_seen_before(alphabet: str) -> None:
    """Tens of megabytes of random words, and of runs that are put into order."""
    grown = own_process.run(
        PRELUDE
        + f"""
letters = np.array([*{alphabet}], dtype=np.uint32)

def resident():
    gc.collect()
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def work(k):
    generator = np.random.default_rng(k)
    characters = letters[generator.integers(0, len(letters), 300_000)]
    characters[generator.integers(0, 300_000, 40_000)] = 32
    core.encode_array(characters.tobytes().decode("utf-32-le"), 2 - k % 2)

for k in range(10): work(k)
before = resident()
for k in range(10, 60): work(k)
print(resident() - before)
""",
        seconds=300,
    )
    assert int(grown) < 16 << 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_and_forks() -> None:
    own_process.run(
        PRELUDE
        + """
text = "Caf\u00e9 a\U0001d165\u1b44 \u4f60\u597d, the Quick brown fox 12345\\n" * 10_000
expected = core.encode(text)
texts = [text[k : k + 3_000] for k in range(0, 60_000, 3_000)]
batch = core.encode_batch(texts, 1)[0].tolist()

def check():
    assert core.encode(text, 4) == core.encode(text, 3, 10_000) == core.encode(text) == expected
    assert core.encode_array(text, 2, 0).tolist() == expected
    assert core.encode_batch(texts, 4)[0].tolist() == batch

threads = [threading.Thread(target=check) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for _ in range(5):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
check()
"""
    )
