"""Compiled files and the C interface: ids of the reference, and a status for everything that is wrong."""

from __future__ import annotations

import ctypes
import functools
import os
import random
import re
import threading
import zlib
from pathlib import Path
from typing import Any

import c_interface
import corpus
import pytest
import tier
from c_interface import CTokenizer
from short_texts import SHORT_TEXTS
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

import lopt_plugin
from lopt_plugin.native import _core
from lopt_plugin.pipeline import Unsupported, read_pipeline
from lopt_plugin.routes.compiled import FORMAT, SIGNATURE, Values, compiled
from lopt_plugin.routes.hard_texts import hard_texts
from lopt_plugin.unicode_tables.forms import form_rows

ROOT = Path(__file__).resolve().parents[2]
HEADER = len(SIGNATURE) + 8  # what the checksum does not cover


@functools.cache
def compiled_tokenizer(name: str) -> bytes:
    return compiled(read_pipeline(corpus.load_tokenizer(name)), name)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "tokenizer.lopt"
    path.write_bytes(content)
    return path


def with_header(content: bytes) -> bytes:
    """The content after a header that fits it."""
    return SIGNATURE + FORMAT.to_bytes(4, "little") + zlib.crc32(content).to_bytes(4, "little") + content


@functools.cache
def small_file() -> bytes:
    """A core of a few entries, whose table gives all characters the class of none."""
    tokenizer = Tokenizer(
        models.BPE({name: i for i, name in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, [])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    data = compiled(read_pipeline(tokenizer), "small")[HEADER:]
    no_classes = bytes(2 * 0x110000 // 128)
    begin = data.index(len(no_classes).to_bytes(4, "little"))
    end = begin + 4 + len(no_classes)
    end += 4 + int.from_bytes(data[end : end + 4], "little")
    tables = Values()
    tables.add(no_classes, bytes(2 * 128))
    return with_header(data[:begin] + tables.data + data[end:])


def reference_ids(tokenizer: Tokenizer, text: str, flags: int) -> list[int]:
    tokenizer.encode_special_tokens = bool(flags & c_interface.SPLIT_SPECIAL_TOKENS)
    return tokenizer.encode(text, add_special_tokens=bool(flags & c_interface.ADD_SPECIAL_TOKENS)).ids


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", corpus.tokenizer_names())
def test_ids_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    tokenizer = corpus.load_tokenizer(name)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    texts = [*hard_texts(added), *SHORT_TEXTS, *corpus.texts("books_en", 20_000), *corpus.texts("multi", 20_000)]
    for family in corpus.conformance_families() if tier.DEEP else []:
        texts += corpus.conformance(family)
    answered = 0
    with CTokenizer(written(tmp_path, compiled_tokenizer(name))) as compiled_one:
        assert (compiled_one.status, compiled_one.library.lopt_source(compiled_one.handle)) == (0, name.encode())
        for number, text in enumerate(texts):
            flags = number % 4
            found = compiled_one.encode(text, flags)
            if found[0] != c_interface.NEEDS_REFERENCE:
                expected = reference_ids(tokenizer, text, flags)
                assert (text, *found) == (text, 0, expected)
                assert compiled_one.count(text, flags) == (0, len(expected))
                answered += 1
    # Precompiled looks at clusters, which are not known here.
    assert answered == len(texts) or (name in ("unigram_t5", "t5_small") and answered > 0.7 * len(texts))


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normalization_forms(form: str, tmp_path: Path) -> None:
    """Of every kind of character that a form may change, and of Hangul, in many orders."""
    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    tokenizer.normalizer = getattr(normalizers, form)()
    rows, rng = form_rows(form), random.Random(form)
    marks = [[chr(c) for c, rank in rows.ranks if rank == wanted] for wanted in {rank for _, rank in rows.ranks}]
    pairs = [chr(first) + chr(second) for first, second, _ in form_rows("NFC").compositions]
    changed = [chr(c) for c, _ in rows.decompositions]
    # Another mark of the same class keeps two characters from composing, if it does not compose itself.
    ranks = dict(rows.ranks)
    blocked = [
        chr(first) + chr(mark) + chr(second)
        for first, second, _ in form_rows("NFC").compositions
        for mark in [c for c, rank in rows.ranks if rank == ranks.get(second)][:8]
    ]
    kinds = [changed, ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01"], pairs, ["a", "e", "\u0915", " ", "\u05d0"]]

    def text() -> str:
        parts = (rng.choice(rng.choice([*kinds, rng.choice(marks), rng.choice(marks)])) for _ in range(12))
        return "".join(parts)

    path = written(tmp_path, compiled(read_pipeline(tokenizer), form))
    with CTokenizer(path) as compiled_one:
        every = [f"{c}{mark}" for c in ("", "e", "\u0323") for kind in marks for mark in kind]
        for each in [*changed, *pairs, *blocked, *every, *(text() for _ in range(tier.pick(500, 50_000)))]:
            assert (each, *compiled_one.encode(each)) == (each, 0, tokenizer.encode(each).ids)


def test_a_text_that_needs_the_reference(tmp_path: Path) -> None:
    text = "e\u0301"
    with CTokenizer(written(tmp_path, compiled_tokenizer("unigram_t5"))) as tokenizer:
        found = tokenizer.encode(text)
        assert found[0] == c_interface.NEEDS_REFERENCE
        assert "Hugging Face" in str(found[1])
        assert tokenizer.count(text) == (c_interface.NEEDS_REFERENCE, 0)
    with pytest.raises(_core.NeedsReference):
        _core.CompiledTokenizer(str(tmp_path / "tokenizer.lopt")).encode(text.encode(), False, False)


def test_a_buffer_that_is_too_small(tmp_path: Path) -> None:
    with CTokenizer(written(tmp_path, compiled_tokenizer("bert_base_uncased"))) as tokenizer:
        ids = tokenizer.encode("some words", c_interface.ADD_SPECIAL_TOKENS)[1]
        assert len(ids) == 4
        assert tokenizer.encode("some words", c_interface.ADD_SPECIAL_TOKENS, 4) == (0, ids)
        room, count = (ctypes.c_uint32 * 4)(9, 9, 9, 9), ctypes.c_size_t()
        text = b"some words", 10, c_interface.ADD_SPECIAL_TOKENS
        status = tokenizer.library.lopt_encode(tokenizer.handle, *text, room, 3, ctypes.byref(count), None)
        assert status == c_interface.BUFFER_TOO_SMALL
        assert (count.value, list(room)) == (4, [9, 9, 9, 9])


@pytest.mark.parametrize(
    "text", [b"\x80", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"12345678\xff12345678", b"\xe4\xb8"]
)
def test_invalid_utf8(text: bytes, tmp_path: Path) -> None:
    with CTokenizer(written(tmp_path, compiled_tokenizer("tiny_llama2"))) as tokenizer:
        assert tokenizer.encode(text) == (c_interface.INVALID_UTF8, "the text is not valid UTF-8")
        assert tokenizer.count(text) == (c_interface.INVALID_UTF8, 0)


def test_texts_with_zero_bytes_and_without_any(tmp_path: Path) -> None:
    reference = corpus.load_tokenizer("tiny_gemma")
    with CTokenizer(written(tmp_path, compiled_tokenizer("tiny_gemma"))) as tokenizer:
        for text in ("", "\0", "a\0b\0", "\0é"):
            for flags in range(4):
                assert tokenizer.encode(text, flags) == (0, reference_ids(reference, text, flags))
        assert tokenizer.encode(None) == (0, [])


def test_invalid_arguments(tmp_path: Path) -> None:
    assert CTokenizer(None).status == c_interface.INVALID_ARGUMENT
    with CTokenizer(written(tmp_path, compiled_tokenizer("tiny_gemma"))) as tokenizer:
        assert tokenizer.encode("a", 4) == (c_interface.INVALID_ARGUMENT, "an unknown flag")
        call, count = tokenizer.library.lopt_encode, ctypes.byref(ctypes.c_size_t())
        ids = (ctypes.c_uint32 * 8)()
        for given in (
            (None, b"a", 1, 0, ids, 8, count, None),
            (tokenizer.handle, None, 1, 0, ids, 8, count, None),
            (tokenizer.handle, b"a", 1, 0, None, 8, count, None),
            (tokenizer.handle, b"a", 1, 0, ids, 8, None, None),
        ):
            assert call(*given) == c_interface.INVALID_ARGUMENT
        assert call(tokenizer.handle, b"a", 1, 0, None, 0, count, None) == c_interface.BUFFER_TOO_SMALL
        tokenizer.library.lopt_close(None)


def test_files_that_are_not_compiled_or_not_there(tmp_path: Path) -> None:
    missing = CTokenizer(tmp_path / "missing.lopt")
    assert (missing.status, missing.handle.value) == (c_interface.CANNOT_READ, None)
    assert re.fullmatch(r"No such file or directory: .*missing\.lopt", missing.message)
    assert CTokenizer(tmp_path).status == c_interface.CANNOT_READ
    for content in (b"", b"{}", SIGNATURE, SIGNATURE[:3], b"\x00" * 100, compiled_tokenizer("tiny_gemma")[1:]):
        opened = CTokenizer(written(tmp_path, content))
        assert (opened.status, opened.handle.value) == (c_interface.INVALID_FILE, None), content[:20]
        assert opened.message
    with pytest.raises(ValueError, match="not a compiled file"):
        _core.CompiledTokenizer(str(written(tmp_path, b"{}")))


def test_a_file_of_another_version(tmp_path: Path) -> None:
    data = compiled_tokenizer("tiny_gemma")
    version = _core.CompiledTokenizer.version
    assert version == lopt_plugin.__version__ == c_interface.library().lopt_version().decode()
    rest = data[HEADER + 4 + len(version) :]
    other = with_header((5).to_bytes(4, "little") + b"9.9.9" + rest)
    opened = CTokenizer(written(tmp_path, other))
    assert opened.status == c_interface.INVALID_FILE
    assert opened.message == f"the file was compiled by lopt_plugin 9.9.9, and this is {version}; compile it again"
    new_format = data[: len(SIGNATURE)] + (FORMAT + 1).to_bytes(4, "little") + data[len(SIGNATURE) + 4 :]
    assert CTokenizer(written(tmp_path, new_format)).status == c_interface.INVALID_FILE


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ["tiny_cl100k", "wordpiece_cased"])
def test_two_entries_of_one_name(name: str, tmp_path: Path) -> None:
    def row(of: str) -> bytes:
        return len(of.encode()).to_bytes(4, "little") + of.encode() + vocabulary[of].to_bytes(4, "little")

    vocabulary = read_pipeline(corpus.load_tokenizer(name)).model.vocabulary
    first, second, *_ = (entry for entry in vocabulary if len(entry) == len(entry.encode()) == 1)
    content = compiled_tokenizer(name)[HEADER:]
    assert content.count(row(second)) == 1
    opened = CTokenizer(written(tmp_path, with_header(content.replace(row(second), row(first)))))
    assert opened.status == c_interface.INVALID_FILE
    assert opened.message.endswith("entries have the same name")


@pytest.mark.every_parameter
@pytest.mark.parametrize("repaired", [False, True])
def test_every_truncation(repaired: bool, tmp_path: Path) -> None:
    """`repaired`: with a checksum that fits what is left."""
    data = small_file()
    path = written(tmp_path, data)
    with CTokenizer(path) as whole:
        assert whole.encode("ab")[0] == c_interface.OK
    lengths = range(len(data) - 1, HEADER - 1 if repaired else -1, -1)
    for length in lengths if tier.DEEP else [*lengths[::61], *lengths[-200:]]:
        os.truncate(path, length)
        if repaired:
            with path.open("r+b") as file:
                file.write(with_header(data[HEADER:length])[:HEADER])
        opened = CTokenizer(path)
        assert (opened.status, opened.handle.value) == (c_interface.INVALID_FILE, None), length
    longer = CTokenizer(written(tmp_path, with_header(data[HEADER:] + b"\0")))
    assert longer.message.endswith("goes on after its end")


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ["tiny_clip", "tiny_llama2", "unigram_t5", "wordpiece_uncased"])
def test_changed_bytes(name: str, tmp_path: Path) -> None:
    """With the old checksum the file is refused; with a new one it may be a file, and nothing crashes."""
    data, rng = compiled_tokenizer(name), random.Random(name)
    for _ in range(tier.pick(60, 2000)):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        assert CTokenizer(written(tmp_path, bytes(changed))).status == c_interface.INVALID_FILE
        for _ in range(rng.choice([0, 1, 20])):
            changed[rng.randrange(HEADER, min(len(data), rng.choice([400, 20_000, len(data)])))] = rng.randrange(256)
        with CTokenizer(written(tmp_path, with_header(bytes(changed[HEADER:])))) as opened:
            assert opened.status in (c_interface.OK, c_interface.INVALID_FILE), opened.message
            for text in SHORT_TEXTS if opened.status == c_interface.OK else []:
                assert opened.encode(text)[0] in (c_interface.OK, c_interface.NEEDS_REFERENCE)


def test_threads_share_a_tokenizer(tmp_path: Path) -> None:
    texts = [*SHORT_TEXTS, *hard_texts([])] * 3
    reference = corpus.load_tokenizer("tiny_cl100k")
    expected = [(0, reference_ids(reference, text, 0)) for text in texts]
    wrong: list[Any] = []
    with CTokenizer(written(tmp_path, compiled_tokenizer("tiny_cl100k"))) as tokenizer:

        def work(first: int) -> None:
            for number in range(first, first + len(texts)):
                at = number % len(texts)
                if tokenizer.encode(texts[at]) != expected[at]:
                    wrong.append(texts[at])

        threads = [threading.Thread(target=work, args=(7 * number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_reference_normalizer_cannot_be_compiled() -> None:
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    tokenizer.normalizer = normalizers.Replace(Regex("[ab]x"), "c")
    with pytest.raises(Unsupported, match="always left to Hugging Face"):
        compiled(read_pipeline(tokenizer), "")


def test_the_header_says_what_the_tests_say() -> None:
    header = (ROOT / "include" / "lopt.h").read_text(encoding="utf-8")
    numbers = {name: int(value) for name, value in re.findall(r"LOPT_(\w+)(?: = | )(\d)u?\b", header)}
    mine = {name: value for name, value in vars(c_interface).items() if name.isupper()}
    assert {name: numbers[name] for name in mine} == mine
    assert c_interface.library().lopt_interface_version() == numbers["INTERFACE_VERSION"]
