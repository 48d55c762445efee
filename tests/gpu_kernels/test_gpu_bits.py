"""The bit-parallel kernels against their references: in Triton's interpreter, or on the GPU where there is one.

Words are 64 bytes, and so is the smallest tile: where one ends must not matter.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator

import corpus
import gpu_texts
import kernel_device
import numpy as np
import pytest
import tier
from gpu_texts import Bytes
from kernel_device import DEVICE, INTERPRETED, guarded, to_device, torch, untouched

from lopt_plugin.triton_kernels.batch import text_to_words
from lopt_plugin.triton_kernels.classify.naive import classify
from lopt_plugin.triton_kernels.common.device_words import padded
from lopt_plugin.triton_kernels.common.limits import MASK_TILE, PATTERNS, words_of
from lopt_plugin.triton_kernels.compact import kernel as compact_kernel
from lopt_plugin.triton_kernels.compact.naive import compact
from lopt_plugin.triton_kernels.pretokenize import launcher, naive

# In the interpreter a program takes tens of milliseconds, however small its tile.
LARGE_TILE = 16_384 if INTERPRETED else MASK_TILE
CORPUS_CHARACTERS = tier.pick(5_000, 20_000) if INTERPRETED else 2_000_000

UNITS = [
    *("7", "A", "a", "\n", "/", " ", "\t", "!", "\x01"),
    *("'s", "'ll", "'S", "'lL", "it's", "\n/", " \n", "/!", "!a", "1a", "aB"),
]
BEYOND_ASCII = [
    *("é", "É", "中", "²", "\u0663", "ſ", "a\u0301", "\u0301", "😀", "\u2019", "'ſ", "'ſ's", "\u3000", "\u2028", "ʰ"),
    *("\U0001d7d8", "゛", "\u3097", "❤\ufe0f", "\u200d", "/\u0301", "\n\u0301", "\U00010400", "ǅ"),
]


@pytest.fixture(autouse=True)
def _faster_interpreter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "plain_interpreter" not in request.keywords:
        kernel_device.make_interpreter_faster(monkeypatch)


def _flags(text: Bytes, pattern: str, tile: int) -> Bytes:
    kinds = gpu_texts.table()
    bits, around = guarded(words_of(len(text), tile), torch.int64)
    classes, around_classes = guarded(-(-len(text) // 8), torch.int64)
    scratch, around_scratch = guarded(launcher.scratch_size(len(text), tile), torch.int64)
    words = to_device(padded(text))
    pages, cells = to_device(kinds.pages), to_device(kinds.cells)
    launcher.start_bits(words, len(text), pages, cells, pattern, classes, bits, scratch, tile)
    assert untouched(around)
    assert untouched(around_classes)
    assert untouched(around_scratch)
    flags = np.unpackbits(bits.cpu().numpy().view(np.uint8), bitorder="little")
    assert not flags[len(text) :].any()
    return flags[: len(text)]


def _reference(text: Bytes, pattern: str) -> Bytes:
    return naive.boundaries(text, classify(text, gpu_texts.table()), pattern)


def _assert_same(texts: list[str], pattern: str, tile: int) -> None:
    text = gpu_texts.pack(texts)
    flags, expected = _flags(text, pattern, tile), _reference(text, pattern)
    places = np.flatnonzero(flags != expected)[:3]
    assert not len(places), [(int(p), bytes(text[max(0, p - 70) : p + 10]), int(expected[p])) for p in places]


def _runs(seed: object, size: int, units: list[str]) -> str:
    """Runs, some longer than a word, over few units."""
    rng = random.Random(str(seed))
    text = ""
    while len(text.encode()) < size:
        text += rng.choice(units) * rng.choice([1, 1, 1, 2, 3, 5, 20, 40, 64, 130])
    return text


def _of_size(seed: object, size: int, units: list[str]) -> str:
    """Exactly `size` bytes of such runs."""
    text = _runs(seed, size, units).encode()[:size].decode(errors="ignore")
    return text + "x" * (size - len(text.encode()))


@pytest.mark.parametrize("tile", [64, 128, 512])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents_that_end_at_edges_of_tiles(pattern: str, tile: int) -> None:
    """Their separators are the last, first or second byte of a tile; ASCII tiles alone, and beside others."""
    ends = [tile - 1, 2 * tile, 3 * tile + 1, 4 * tile - 1, 4 * tile, 6 * tile - 1]
    sizes = [end - begin - 1 for begin, end in itertools.pairwise([-1, *ends])]
    for others in ([], BEYOND_ASCII):
        units = [UNITS + (others if number % 2 else []) for number in range(len(sizes))]
        texts = [_of_size((pattern, tile, number), size, units[number]) for number, size in enumerate(sizes)]
        assert others or all(map(str.isascii, texts))
        assert np.flatnonzero(gpu_texts.pack(texts) == 0xFF).tolist() == ends
        _assert_same(texts, pattern, tile)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_tiles_of_one_and_two_words(pattern: str) -> None:
    for tile in tier.pick((64,), (64, 128)):
        _assert_same([_runs((pattern, tile), 5 * tile, UNITS), "", "a"], pattern, tile)
        _assert_same([_runs((pattern, tile, n), 4 * tile, UNITS + BEYOND_ASCII) for n in range(2)], pattern, tile)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_words_within_large_tiles(pattern: str) -> None:
    snippet = "xit's we'll I'VE x's's's 1234567 1a  a \t b\n \n  c \r\n"
    snippet += "!!\n\n x?\r\n/\n/a -//\n//A aB (a.b)_c!d \x00\x01b"
    texts = gpu_texts.at_each_place(snippet, " ") + [_runs((pattern, n), 2000, UNITS) for n in range(24)]
    _assert_same(texts, pattern, LARGE_TILE)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_characters_at_each_place_of_a_word(pattern: str) -> None:
    text = "".join(gpu_texts.AT_SEAMS)
    _assert_same(gpu_texts.at_each_place(text), pattern, LARGE_TILE)
    few = [_runs((pattern, "few", n), 3000, random.Random(n).choices(UNITS + BEYOND_ASCII, k=5)) for n in range(12)]
    _assert_same(few, pattern, LARGE_TILE)


@pytest.mark.parametrize("pattern", ["o200k", "cl100k", "gpt2"])
def test_chains_of_contractions(pattern: str) -> None:
    """Chains across words and tiles, where every second apostrophe is one of a contraction."""
    rng = random.Random(pattern)
    chains = (
        "a" + "".join(rng.choice(["'s", "'ll", "'VE", "'ſ"]) for _ in range(rng.randint(1, 90))) + rng.choice(" aA!1")
        for _ in range(16)
    )
    text = "".join(chains)
    _assert_same([text], pattern, 1024)
    _assert_same([text[:640]], pattern, 64)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_hard_texts(pattern: str) -> None:
    def texts() -> Iterator[str]:
        for family in corpus.conformance_families():
            for text in itertools.islice(corpus.conformance(family, 5), 6):
                yield text[:400]
                yield "".join(c for c in text[:600] if c.isascii())

    for tile, size in tier.pick([(256, 3_000)], [(256, 3_000), (LARGE_TILE, 100_000)]):
        _assert_same(next(gpu_texts.batches(texts(), size)), pattern, tile)


def _word_starts(text: Bytes, pattern: str, tile: int) -> list[int]:
    kinds = gpu_texts.table()
    word_starts, around = guarded(len(text) + 1, torch.int32)
    word_count, around_count = guarded(1, torch.int32)
    scratch, around_scratch = guarded(text_to_words.scratch_size(len(text), tile), torch.int64)
    text_to_words.word_starts_of(
        to_device(padded(text)),
        len(text),
        to_device(kinds.pages),
        to_device(kinds.cells),
        pattern,
        word_starts,
        word_count,
        scratch,
        tile,
    )
    assert untouched(around)
    assert untouched(around_count)
    assert untouched(around_scratch)
    count = int(word_count)
    assert (word_starts[count + 1 :] == -9).all()
    return word_starts[: count + 1].tolist()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents_against_the_reference_library(pattern: str) -> None:
    documents = [text for kind in corpus.corpora() for text in corpus.texts(kind, CORPUS_CHARACTERS)]
    starts = gpu_texts.reference_starts(gpu_texts.PATTERNS[pattern], documents)
    expected = [*np.flatnonzero(starts).tolist(), len(starts)]
    assert _word_starts(gpu_texts.pack(documents), pattern, LARGE_TILE) == expected


@functools.cache
def _ones(size: int, share: int) -> Bytes:
    flags = np.random.default_rng(size).integers(0, share, size) == 0 if share else np.zeros(size)
    return flags.astype(np.uint8)


@pytest.mark.parametrize("size", [1, 63, 64, 500])
@pytest.mark.parametrize("share", [0, 1, 2, 20])
def test_compact_bits(size: int, share: int) -> None:
    flags, tile = _ones(size, share), 128
    expected = compact(flags)
    bits = np.zeros(words_of(size, tile), dtype="<u8")
    packed = np.packbits(flags, bitorder="little")
    bits.view(np.uint8)[: len(packed)] = packed
    word_starts, around = guarded(len(expected), torch.int32)
    word_count, around_count = guarded(1, torch.int32)
    scratch, around_scratch = guarded(compact_kernel.scratch_size(size, tile), torch.int32)
    compact_kernel.compact_bits(to_device(bits.view(np.int64)), size, word_starts, word_count, scratch, tile)
    assert word_starts.tolist() == expected.tolist()
    assert int(word_count) == len(expected) - 1
    assert untouched(around)
    assert untouched(around_count)
    assert untouched(around_scratch)


@pytest.mark.plain_interpreter
@pytest.mark.parametrize("pattern", ["cl100k", "o200k"])
def test_the_interpreter_as_it_is(pattern: str) -> None:
    """The faster interpreter of the other tests changes no result."""
    _assert_same([_runs((pattern, "plain"), 300, UNITS), "a's's é"], pattern, 128)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
def test_nothing(pattern: str) -> None:
    assert _word_starts(np.zeros(0, dtype=np.uint8), pattern, 64) == [0]
    assert _word_starts(np.full(1, 0xFF, dtype=np.uint8), pattern, 64) == [0, 1]


def test_bytes_after_the_text_change_nothing() -> None:
    text = gpu_texts.pack(["ab 12\n", "it's"])
    for after in (0x00, 0x41, 0xC3, 0xFF):
        words = np.full(len(padded(text)) * 8, after, dtype=np.uint8)
        words[: len(text)] = text
        bits = torch.zeros(1, dtype=torch.int64, device=DEVICE)
        scratch = torch.zeros(launcher.scratch_size(len(text), 64), dtype=torch.int64, device=DEVICE)
        kinds, classes = gpu_texts.table(), torch.zeros(-(-len(text) // 8), dtype=torch.int64, device=DEVICE)
        pages, cells = to_device(kinds.pages), to_device(kinds.cells)
        launcher.start_bits(
            to_device(words.view(np.int64)), len(text), pages, cells, "o200k", classes, bits, scratch, 64
        )
        flags = np.unpackbits(bits.cpu().numpy().view(np.uint8), bitorder="little")[: len(text)]
        assert np.array_equal(flags, _reference(text, "o200k")), after


def test_refusals() -> None:
    nothing = torch.zeros(64, dtype=torch.int64, device=DEVICE)
    with pytest.raises(ValueError, match="know no split pattern 'clip'"):
        launcher.start_bits(nothing, 8, nothing, nothing, "clip", nothing, nothing, nothing)
    with pytest.raises(ValueError, match="less than a word"):
        launcher.start_bits(nothing, 8, nothing, nothing, "gpt2", nothing, nothing, nothing, tile=32)
    with pytest.raises(ValueError, match="power of two"):
        text_to_words.scratch_size(8, tile=96)
