"""The edges of the native core: what it refuses and how, and that its memory stays bounded."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import corpus
import native_cores
import numpy as np
import own_process
import pytest
from random_models import STAND_INS

from lopt_plugin.native import _core

VOCABULARY = {name: i for i, name in enumerate([*STAND_INS, "ab", "abc"])}
MERGES = ["a b", "ab c"]


@pytest.fixture(scope="module")
def core() -> Any:
    return native_cores.make_core(VOCABULARY, MERGES)


SURROGATES = [*map(chr, (0xD800, 0xDBFF, 0xDC00, 0xDFFF)), chr(0xDE00) + chr(0xD83D), chr(0xD83D) + chr(0xDE00)]


@pytest.mark.parametrize("width", ["", "\u00e9", "\u4e2d", "\U0001f600"])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_lone_surrogates(core: Any, surrogate: str, width: str) -> None:
    """A pair of surrogates in a str is two lone ones: Python keeps code points, not units."""
    for text in (surrogate, width + "a" * 100 + surrogate + "b" * 100, ("a" * 300_000 + width) * 2 + surrogate):
        for threads in (1, 3):
            for call in (core.encode, core.encode_array):
                with pytest.raises(_core.LoneSurrogateError, match="lone surrogate"):
                    call(text, threads)
            with pytest.raises(_core.LoneSurrogateError):
                core.encode_batch(["a", text], threads)
            for most in (0, 1, 1_000):
                with pytest.raises(_core.LoneSurrogateError):
                    core.encode_first(text, most, threads)
    assert issubclass(_core.LoneSurrogateError, ValueError)
    assert core.encode("abc") == [VOCABULARY["abc"]]


@pytest.mark.parametrize("bad", [None, b"abc", 3, 1.5, ["abc"], object()])
def test_wrong_types(core: Any, bad: Any) -> None:
    for call in (core.encode, core.encode_array, core.pre_tokens):
        with pytest.raises(TypeError):
            call(bad)
    with pytest.raises(TypeError):
        core.encode_batch(["a", bad])
    with pytest.raises(TypeError):
        core.encode_batch("abc")
    with pytest.raises(TypeError):
        core.encode_word("abc", True)


@pytest.mark.parametrize("arguments", [(-1,), (1, -1), ("2",), (None,), (2**70,)])
def test_wrong_options(core: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        core.encode("abc", *arguments)


def test_unusual_options(core: Any) -> None:
    text = "abcab" * 500
    ids = core.encode(text)
    for threads in (0, 1, 2, 1000, 2**40):
        for chunk_chars in (0, 1 << 20, 2**40, 2**63):
            assert core.encode(text, threads, chunk_chars) == ids
    assert core.encode(text, 1000, 100) == ids


def test_nothing(core: Any) -> None:
    assert (
        core.encode("") == core.encode("", 4, 1) == core.encode_array("").tolist() == core.pre_tokens("").tolist() == []
    )
    assert core.encode_word(b"", True) == core.encode_word(b"", False) == []
    assert core.encode_batch([""] * 5, 3)[1].tolist() == [0] * 6


def test_strings_of_a_subclass(core: Any) -> None:
    class Text(str):
        pass

    assert core.encode(Text("abc")) == core.encode_batch([Text("abc")])[0].tolist() == [VOCABULARY["abc"]]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there are no such strings any more")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("text", ["abcab", "\u00e9abc", "\u4e2d", "\U0001f600b"])
def test_strings_of_the_old_interface_of_c(core: Any, text: str) -> None:
    """They lie elsewhere until somebody asks for their length."""
    make, data = ctypes.pythonapi.PyUnicode_FromUnicode, ctypes.pythonapi.PyUnicode_AsUnicode
    make.argtypes, make.restype = [ctypes.c_void_p, ctypes.c_ssize_t], ctypes.py_object
    data.argtypes, data.restype = [ctypes.py_object], ctypes.c_void_p

    def old() -> str:
        made: str = make(None, len(text))
        ctypes.memmove(data(made), text.encode(f"utf-32-{sys.byteorder[0]}e"), 4 * len(text))
        return made

    assert core.encode(old()) == core.encode(text)
    assert core.encode_array(old()).tolist() == core.encode(text)
    assert core.encode_batch([old()])[0].tolist() == core.encode(text)
    assert core.count(old()) == len(core.encode(text))


def test_the_caller_may_change_what_it_got(core: Any) -> None:
    ids = core.encode("abcab")
    array = core.encode_array("abcab")
    ids.append("no id")
    ids[0] = None
    array[:] = 7
    assert core.encode("abcab") == core.encode_array("abcab").tolist() == [VOCABULARY["abc"], VOCABULARY["ab"]]


ADDED = ("<|x|>", 300, False, False, False, False, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vocabulary": {n: i for n, i in VOCABULARY.items() if n != "a"}, "merges": []}, "lacks a byte"),
        ({"vocabulary": {n: i for n, i in VOCABULARY.items() if n != STAND_INS[0xF4]}}, "lacks a byte"),
        ({"vocabulary": {}, "merges": []}, "lacks a byte"),
        ({"vocabulary": {**VOCABULARY, "zz": 5}}, "share an id"),
        ({"vocabulary": {**VOCABULARY, "zz": (1 << 20) - 1}}, "above"),
        ({"vocabulary": {**VOCABULARY, "zz": (1 << 32) - 1}}, "above"),
        ({"merges": ["a b", "b zz"]}, "merge names a token"),
        ({"merges": ["zz a"]}, "merge names a token"),
        ({"merges": ["b a"]}, "merge names a token"),
        ({"merges": ["ab"]}, "not two names"),
        ({"merges": [["a"]]}, "pairs of names"),
        ({"merges": [["a", "b", "c"]]}, "pairs of names"),
        ({"scanner": "unheard of"}, "unknown scanner"),
        ({"scanner": ""}, "unknown scanner"),
        ({"added_tokens": [ADDED, (ADDED[0], 301, *ADDED[2:])]}, "the same content"),
        ({"refinements": [("unheard of", "isolated", False, False)]}, "unheard of"),
        ({"refinements": [("gpt2", "unheard of", False, False)]}, "unheard of"),
        ({"byte_classes": b"\0" * 255}, "256 bytes"),
        ({"class_pages": b"\0\0"}, "pages expected"),
        ({"class_cells": b"\0\0"}, "past the cells"),
        ({"class_cells": b""}, "past the cells"),
        ({"added_tokens": [("", *ADDED[1:])]}, "empty"),
        ({"added_tokens": [("<|x|>", 1 << 20, *ADDED[2:])]}, "above"),
        ({"added_tokens": [ADDED, ("<|x|>", 301, *ADDED[2:])]}, "same content"),
        ({"added_tokens": [ADDED, ("<|y|>", 301, *ADDED[2:]), ADDED]}, "same content"),
        ({"vocabulary": {**VOCABULARY, "zz": 1 << 31}}, "above"),
        ({"dropped_bytes": b"", "vocabulary": {n: i for n, i in VOCABULARY.items() if n != "z"}}, "lacks a byte"),
    ],
)
def test_arguments_that_a_core_refuses(changes: dict[str, Any], reason: str) -> None:
    arguments = {"vocabulary": VOCABULARY, "merges": MERGES, **changes}
    for _ in range(3):
        with pytest.raises(ValueError, match=reason) as raised:
            native_cores.make_core(**arguments)
        assert str(raised.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"vocabulary": None},
        {"vocabulary": {**VOCABULARY, 3: 700}},
        {"vocabulary": {**VOCABULARY, "zz": "a"}},
        {"vocabulary": {**VOCABULARY, "zz": -1}},
        {"vocabulary": {**VOCABULARY, "zz": 1 << 40}},
        {"merges": [("a", 3)]},
        {"merges": [3]},
        {"merges": "ab"},
        {"class_pages": "no bytes"},
        {"added_tokens": [("<|x|>", -1, *ADDED[2:])]},
        {"added_tokens": [("<|x|>", 300)]},
        {"refinements": [("gpt2",)]},
        {"scanner": 3},
    ],
)
def test_arguments_of_the_wrong_type(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError)):
        native_cores.make_core(**{"vocabulary": VOCABULARY, "merges": MERGES, **changes})


def test_bytes_outside_utf8_need_no_entry() -> None:
    never = {STAND_INS[byte] for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}
    core = native_cores.make_core({n: i for n, i in VOCABULARY.items() if n not in never}, MERGES)
    assert core.encode("abc\U0010ffff")[0] == VOCABULARY["abc"]


def test_names_outside_the_alphabet_are_no_entries() -> None:
    """Added tokens stand in the vocabulary of some files."""
    core = native_cores.make_core({**VOCABULARY, "\u4e2d": 900, "a b": 901, "\u0378": 902}, MERGES)
    assert core.encode("\u4e2da b") == [*(VOCABULARY[STAND_INS[b]] for b in "\u4e2da b".encode())]


@pytest.mark.parametrize("word", [b"\xff", b"a\xc0b", b"\xff" * 100, b"\xe4\xb8", b"\x80" * 300])
def test_words_that_are_no_utf8(core: Any, word: bytes) -> None:
    ids = [VOCABULARY[STAND_INS[byte]] for byte in word]
    assert core.encode_word(word, True) == core.encode_word(word, False) == ids


def test_pre_tokens_in_a_text(core: Any) -> None:
    words = [b"abcabbc" * 9, b"a", b"\xff" * 70, b"cab"]
    text, ends = np.frombuffer(b"--".join(words), np.uint8), np.cumsum([len(word) + 2 for word in words]) - 2
    begins, ends = ((ends - [*map(len, words)]).astype(np.int32), ends.astype(np.int32))
    expected = [core.encode_word(word, True) for word in words]
    for threads in (1, 3):
        ids, counts = core.encode_pre_tokens(text, begins, ends, threads)
        assert ids.tolist() == [number for ids in expected for number in ids]
        assert counts.tolist() == [*map(len, expected)]
    for begin, end in ((-1, 3), (3, 3), (4, 3), (0, len(text) + 1)):
        with pytest.raises(ValueError, match="not in the text"):
            core.encode_pre_tokens(text, *(np.array([place], np.int32) for place in (begin, end)))
    with pytest.raises(ValueError, match="as many ends"):
        core.encode_pre_tokens(text, begins, ends[1:])


def test_words_with_bytes_that_are_dropped() -> None:
    core = native_cores.make_core(
        {n: i for n, i in VOCABULARY.items() if n not in ("z", STAND_INS[0xFF])}, MERGES, dropped_bytes=b"z"
    )
    for count in (0, 1, 70, 300):
        for word in (b"\xff" * count, b"z" * count, b"\xffab" * count + b"z"):
            ids = [VOCABULARY["ab"]] * word.count(b"ab")
            assert core.encode_word(word, True) == core.encode_word(word, False) == ids


class _Emptied(list[str]):
    """A list that is not what it iterates over, and that frees its strings then."""

    def __iter__(self) -> Iterator[str]:
        self.clear()
        return iter(["ab" * 3000, "abc"])


def test_lists_that_iterate_over_something_else(core: Any) -> None:
    """What is read is what is held."""

    def texts() -> _Emptied:
        return _Emptied("c" * n for n in range(5_000, 5_050))

    assert core.count_batch(texts()) == [3_000, 1]
    assert core.encode_batch(texts())[1].tolist() == [0, 3_000, 3_001]
    assert core.encode_words(texts())[1].tolist() == [3_000, 1]


GROWTH = """
import gc, os, numpy as np, native_cores

def resident():
    gc.collect()
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def growth(work, rounds, warm_up):
    for k in range(warm_up): work(k)
    before = resident()
    for k in range(warm_up, rounds): work(k)
    print(resident() - before)
"""


def _growth_in_bytes(script: str) -> int:
    """By how much the process of a script grew, which calls `growth`."""
    return int(own_process.run(GROWTH + script, seconds=300))


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")


@needs_proc
@pytest.mark.parametrize("alphabet", ["range(97, 123)", "range(0x4E00, 0x9F00)"])
def test_memory_under_words_never_seen_before(alphabet: str) -> None:
    """50 MB of random words, of which every cache would like to keep all."""
    grown = _growth_in_bytes(
        f"""
core, _ = native_cores.core_and_reference("tiny_o200k")
core.remember_prefixes(0)  # the prefix cache has a limit of its own
letters = np.array([*{alphabet}], dtype=np.uint32)
megabyte = 1_000_000 if letters[0] < 128 else 333_333

def work(k):
    generator = np.random.default_rng(k)
    characters = letters[generator.integers(0, len(letters), megabyte)]
    characters[generator.integers(0, megabyte, megabyte // 9)] = 32
    core.encode_array(characters.tobytes().decode("utf-32-le"), 2 - k % 2)

growth(work, 50, 8)
"""
    )
    assert grown < 16 << 20


@needs_proc
def test_memory_under_sequences_never_normalized_before() -> None:
    """What is remembered of the normalizer's answers is bounded too."""
    grown = _growth_in_bytes(
        """
core, _ = native_cores.core_and_reference("tiny_qwen2")
core.remember_prefixes(0)  # the prefix cache has a limit of its own
marks = np.array([*range(0x300, 0x330), *range(0x1100, 0x1110), 0x65, 0x61, 32, 32], dtype=np.uint32)

def work(k):
    characters = marks[np.random.default_rng(k).integers(0, len(marks), 200_000)]
    core.encode_array(characters.tobytes().decode("utf-32-le"))

growth(work, 40, 15)
"""
    )
    assert grown < 16 << 20


@needs_proc
def test_memory_of_cores_that_come_and_go() -> None:
    """Made, used with threads, and dropped; or refused half-way."""
    grown = _growth_in_bytes(
        """
from random_models import STAND_INS

from lopt_plugin.native import _core
vocabulary = {name: i for i, name in enumerate([*STAND_INS, "ab", "abc"])}

def work(k):
    for _ in range(10):
        core = native_cores.make_core(vocabulary, ["a b", "ab c"], normalizer=[("form", "NFC", lambda text: text)])
        core.encode("abc \\u00e9e\\u0301" * 3000, 2, 1000)
        del core
        for merges, wrong in (["a b"], {"scanner": "none"}), (["b a"], {}), ([], {"byte_classes": b""}):
            try:
                native_cores.make_core(vocabulary, merges, normalizer=[("form", "NFC", lambda text: text)], **wrong)
            except ValueError:
                continue
            raise AssertionError(wrong)

growth(work, 30, 10)
"""
    )
    assert grown < 8 << 20


def test_references_are_given_back() -> None:
    class Normalizer:
        def __call__(self, text: str) -> str:
            return text

    normalizer = Normalizer()
    before = sys.getrefcount(normalizer)
    core = native_cores.make_core(VOCABULARY, MERGES, normalizer=[("form", "NFC", normalizer)])
    for _ in range(10):
        core.encode("e\u0301abc")
    del core
    with pytest.raises(ValueError, match="scanner"):
        native_cores.make_core(VOCABULARY, MERGES, normalizer=[("form", "NFC", normalizer)], scanner="none")
    gc.collect()
    assert sys.getrefcount(normalizer) == before


@pytest.mark.parametrize("name", native_cores.SMALL)
def test_info_counts_the_tables(name: str) -> None:
    core, _ = native_cores.core_and_reference(name)
    assert core.info()["matcher_usable"] is True
    assert 1 << 20 < core.info()["table_bytes"] < 64 << 20
    assert len(corpus.tokenizer_json(name)) < core.info()["table_bytes"] * 4
