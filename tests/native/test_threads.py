"""The native core under threads: many callers at once, forks, one CPU. What could hang runs in a process of its own."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import corpus
import native_cores
import own_process
import pytest

PRELUDE = """
import os, threading, time
import native_cores
core, _ = native_cores.core_and_reference("tiny_qwen2")
text = "Cafe\\u0301 e\\u0301\\u0323 \\u4f60\\u597d, the quick brown fox 12345\\n" * 20_000
expected = core.encode(text)
texts = [text[k : k + 3_000] for k in range(0, 60_000, 3_000)]
batch = core.encode_batch(texts, 1)[0].tolist()

def check():
    assert core.encode(text) == expected
    assert core.encode(text, 4) == expected
    assert core.encode(text, 3, 10_000) == expected
    assert core.encode_array(text, 2, 0).tolist() == expected
    assert core.encode_batch(texts, 4)[0].tolist() == batch

def in_child(work):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child

def succeeded(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def _run(script: str, status: int = 0) -> None:
    own_process.run(PRELUDE + script, status=status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    "script",
    [
        # Before the first thread; after; a child of a child.
        "succeeded(in_child(check))\ncheck()",
        "check()\nsucceeded(in_child(check))\ncheck()",
        "check()\nsucceeded(in_child(lambda: (check(), succeeded(in_child(check)), check())))\ncheck()",
        # Several children at once, all of them and the parent at work.
        "check()\nchildren = [in_child(check) for _ in range(4)]\ncheck()\nfor c in children: succeeded(c)",
    ],
    ids=["before threads", "after threads", "twice", "many"],
)
def test_fork(script: str) -> None:
    _run(script)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_others_encode() -> None:
    """Locks of the core, and of Python, may be held by threads that the child does not have."""
    _run("""
stop = False

def encode_on():
    k = 0
    while not stop:
        k += 1
        core.encode(text[k % 5000 :], 3, 20_000)
        core.encode_batch(texts, 3)

workers = [threading.Thread(target=encode_on) for _ in range(3)]
for worker in workers: worker.start()
for _ in range(15):
    succeeded(in_child(check))
stop = True
for worker in workers: worker.join()
check()
""")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_one_cpu() -> None:
    _run("""
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
check()
assert core.encode(text, 64, 5_000) == expected
threads = [threading.Thread(target=check) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")


IDLE = {
    "0.00 0.00 0.00 1/85 1234\n": 3,
    "12.10 9.00 8.00 3/85 1234": 1,
    "0.00 0.00 0.00 4/85 1234": 0,
    "0.00 0.00 0.00 999999999/85 1234": 0,
    "0.00 0.00 0.00 0/0 1234": None,
    "0.00 0.00 0.00 1": None,
    "0.00 0.00 0.00 /85 1": None,
    "0.00 0.00 0.00 -1/85 1": None,
    "0.00 0.00 0.00 " + "9" * 100: None,
    "0.00 0.00": None,
    "   ": None,
    "": None,
}


@pytest.mark.parametrize("load", IDLE)
def test_idle_cores(load: str) -> None:
    from lopt_plugin.native._core import idle_cores

    assert idle_cores(load, 4) == IDLE[load]


def test_no_core_is_idle() -> None:
    """Whoever wants chunks gets them all the same."""
    _run("""
import subprocess, sys
spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
try:
    time.sleep(0.2)
    for threads in (2, 5):
        assert core.encode(text, threads) == expected
        assert core.encode(text, threads, 5_000) == expected
        assert core.encode_array(text, threads).tolist() == expected
finally:
    for process in spinning:
        process.kill()
""")


def test_exit_while_a_thread_encodes() -> None:
    _run("""
threading.Thread(target=lambda: [core.encode(text, 3, 20_000) for _ in range(10**6)], daemon=True).start()
time.sleep(0.3)
""")


@pytest.mark.parametrize("call", ["core.encode(text, 1)", "core.encode(text, 3)", "core.count(text)"])
def test_a_call_that_returns_while_the_process_exits(call: str) -> None:
    """Up to CPython 3.13 the thread is then ended by pthread_exit, whose unwinding must not reach the core's frames."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "on_exit"):
        pytest.skip("only glibc has on_exit")
    _run(
        f"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.on_exit(ctypes.cast(libc.sleep, ctypes.c_void_p), None)  # after shutdown: sleeps for as many seconds as the status
text = text * (10_000_000 // len(text))
begins = threading.Event()
threading.Thread(target=lambda: (begins.set(), {call}), daemon=True).start()
begins.wait()
time.sleep(0.005)  # less than the call takes
sys.exit(2)
""",
        status=2,
    )


def test_the_core_dies_while_the_pool_is_warm() -> None:
    _run("""
check()
native_cores.core_and_reference.cache_clear()
for name in ("tiny_cl100k", "tiny_o200k") * 3:
    other, _ = native_cores.core_and_reference(name)
    assert other.encode(text, 4) == other.encode(text)
    native_cores.core_and_reference.cache_clear()
    del other
""")


@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_deepseek_v3", "roberta_base"])
def test_many_callers(name: str) -> None:
    """Different texts, long and short, normalized or not, alone and in batches, all at once over one core."""
    core, reference = native_cores.core_and_reference(name)
    families = corpus.conformance_families()
    texts = [text for family in families for text in corpus.conformance(family, 4)[:25]]
    texts += ["".join(texts[k : k + 40]) for k in range(0, len(texts), 20)]
    expected = native_cores.expected(reference, texts)
    wrong: list[str] = []
    together = threading.Barrier(8)

    def work(worker: int) -> None:
        together.wait()
        for _ in range(3):
            for k in range(len(texts)):
                at = (k * 7 + worker * 31) % len(texts)
                chunk_chars = (0, 64, 500)[k % 3] + len(texts[at]) // 64
                if core.encode(texts[at], 1 + (k + worker) % 4, chunk_chars) != expected[at]:
                    wrong.append(texts[at])
            ids, offsets = core.encode_batch(texts, 1 + worker % 3)
            rows = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
            wrong.extend(text for text, row, right in zip(texts, rows, expected, strict=True) if row != right)

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, worker) for worker in range(8)]:
            future.result(timeout=120)
    assert wrong[:3] == []


def test_an_error_in_one_row_leaves_the_pool_usable() -> None:
    core, reference = native_cores.core_and_reference("tiny_qwen2")
    rows = ["fine e\u0301 " * 500] * 20
    for _ in range(5):
        with pytest.raises(ValueError, match="surrogate"):
            core.encode_batch([*rows, "\ud800", *rows, "\udfff"], 4)
        assert core.encode_batch(rows, 4)[0].tolist() == native_cores.expected(reference, rows[:1])[0] * len(rows)


def test_a_normalizer_that_fails() -> None:
    """Its exception reaches the caller, whichever thread it was raised in, and the next call is a new one."""
    names = native_cores.core_and_reference("tiny_qwen2")[1].get_vocab(with_added_tokens=False)

    def normalize(text: str) -> str:
        if "\u0323" in text:
            raise KeyError("not this one")
        return text

    core = native_cores.make_core(names, [], normalizer=[("form", "NFC", normalize)])
    for call in (lambda: core.encode("e\u0323" * 3000, 2), lambda: core.encode_batch(["a", "e\u0323"] * 50, 3)):
        for _ in range(3):
            with pytest.raises(KeyError, match="not this one"):
                call()
            assert core.encode("e\u0301") == core.encode_word("e\u0301".encode(), True)
