"""A call gives its large buffers back; what a core keeps for later calls is bounded."""

from __future__ import annotations

import native_cores
import own_process
import pytest

# Texts of which a buffer grows with every id, or with one long word, on many threads at once.
_CALLS = """
import ctypes, gc, threading
import native_cores
core, _ = {core}

def resident():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) >> 10

core.encode("a few words")
before = resident()
text = {text}
def call():
    {call}
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(resident() - before, core.info()["idle_workspace_bytes"] >> 20)
"""

ADDED = '"<|endoftext|>" * 1_500_000'
MANY_LINES = '"a\\n" * 1_000_000'
LONG_WORD = '"ab" * 4_000_000'
ACCENTS = '"e\\u0301 " * 400_000'


@pytest.mark.every_parameter
@pytest.mark.parametrize(
    ("core", "text", "call"),
    [
        ('native_cores.core_and_reference("qwen3")', ADDED, "core.encode_array(text)"),
        ('native_cores.core_and_reference("qwen3")', ADDED, "core.encode_with_offsets(text)"),
        ('native_cores.core_and_reference("qwen3")', ADDED, "core.encode_array(text, 4)"),
        ('native_cores.core_and_reference("tiny_gemma")', MANY_LINES, "core.encode_array(text)"),
        ('native_cores.core_and_reference("tiny_clip")', LONG_WORD, "core.encode_array(text)"),
        ('native_cores.core_and_reference("tiny_qwen2")', ACCENTS, "core.encode_with_offsets(text)"),
        ('__import__("word_pieces").core_and_reference("wordpiece_cased")', LONG_WORD, "core.encode_array(text)"),
    ],
)
def test_buffers_that_one_text_needed(core: str, text: str, call: str) -> None:
    """256 MB are the bound for all idle workspaces of a core, which tens of threads do not reach either."""
    left, held = map(int, own_process.run(_CALLS.format(core=core, text=text, call=call)).split())
    assert held <= 8 * 12
    assert left < 256


def test_what_is_held_is_shown() -> None:
    core, _ = native_cores.core_and_reference("tiny_qwen2")
    core.encode("a few words")
    assert 0 < core.info()["idle_workspace_bytes"] < 256 << 20
