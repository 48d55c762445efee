"""Texts packed by the native core against Python's own encoding, one after the other."""

from __future__ import annotations

import random
import threading

import corpus
import native_cores
import numpy as np
import pytest

# Of one, two and four bytes a character in Python's strings, and of one to four in UTF-8.
ALPHABETS = ["az \n\x00", "aé\xff\x80", "aé中\uffff", "é中😀\U0010ffff"]


def expected(texts: list[str]) -> bytes:
    return b"".join(text.encode() + b"\xff" for text in texts)


def compare(texts: list[str], threads: int, part_characters: int, spare: int = 0) -> None:
    core, _ = native_cores.core_and_reference("tiny_cl100k")
    data = expected(texts)
    out = np.full(len(data) + spare, 0xAA, np.uint8)
    offsets = core.pack(texts, out, threads, part_characters)
    assert offsets.dtype == np.int64
    assert offsets.tolist() == np.cumsum([0, *(len(text.encode()) + 1 for text in texts)]).tolist()
    assert out[: len(data)].tobytes() == data
    assert (out[len(data) :] == 0xAA).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("part_characters", [0, 1, 7, 64, 65536])
def test_texts_of_every_width(threads: int, part_characters: int) -> None:
    rng = random.Random(part_characters)
    for most in (0, 3, 40, 300):
        texts = ["".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(0, most))) for _ in range(30)]
        compare(texts, threads, part_characters, spare=rng.choice([0, 1, 100]))
    compare([], threads, part_characters)
    compare([""], threads, part_characters)


@pytest.mark.parametrize("kind", corpus.corpora())
def test_documents(kind: str) -> None:
    texts = corpus.texts(kind, 200_000)
    compare(texts, 2, 1000)
    compare(["".join(texts)], 2, 1000)


@pytest.mark.parametrize("name", ["tiny_cl100k", "wordpiece_cased"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_cannot_be_packed(name: str, threads: int) -> None:
    core, _ = native_cores.core_and_reference(name)
    out = np.zeros(64, np.uint8)
    for surrogate in ("\ud800", "\udfff", "é\udc00😀"):
        with pytest.raises(ValueError, match="lone surrogate"):
            core.pack(["a", "b" * 20, surrogate, "c"], out, threads, 4)
    with pytest.raises(ValueError, match="room"):
        core.pack(["中" * 10, "a" * 34], out, threads, 4)
    with pytest.raises(TypeError):
        core.pack(["a", b"b"], out, threads)
    for wrong in (out.view(np.int8), out[::2], out.reshape(8, 8), bytes(64)):
        with pytest.raises(TypeError):
            core.pack(["a"], wrong, threads)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        core.pack(["a"], out, threads)


def test_list_that_another_thread_changes() -> None:
    """What was in the list at the call is packed; the strings live until that is done."""
    core, _ = native_cores.core_and_reference("tiny_cl100k")
    for _ in range(20):
        texts = [chr(0x4E00 + n) * 5000 for n in range(50)]
        data = expected(texts)
        out = np.empty(len(data), np.uint8)
        emptying = threading.Timer(0.0001, texts.clear)
        emptying.start()
        offsets = core.pack(texts, out, 2)
        emptying.join()
        # The list may have been empty already.
        assert len(offsets) == 1 or out.tobytes() == data
