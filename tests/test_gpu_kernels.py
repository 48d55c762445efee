"""The GPU kernels against their NumPy references: in Triton's interpreter, or on the GPU where there is one."""

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
import representatives
from gpu_texts import Bytes
from kernel_device import DEVICE, INTERPRETED, to_device, torch

from lopt_plugin.triton_kernels.boundaries import kernel as boundaries_kernel
from lopt_plugin.triton_kernels.boundaries import machines
from lopt_plugin.triton_kernels.boundaries import naive as naive_boundaries
from lopt_plugin.triton_kernels.classify import kernel as classify_kernel
from lopt_plugin.triton_kernels.classify import naive as naive_classify
from lopt_plugin.triton_kernels.compact import kernel as compact_kernel
from lopt_plugin.triton_kernels.compact import naive as naive_compact
from lopt_plugin.triton_kernels.limits import MAX_BYTES, TILE, tiles_of

PATTERNS = boundaries_kernel.PATTERNS

# In the interpreter a program takes tens of milliseconds, however small its tile: few programs, or short texts.
SIZES = {256: 6_000, 16_384: 100_000} if INTERPRETED else dict.fromkeys([64, 256, 1024, 4096], 1_000_000)
CORPUS_CHARACTERS = 20_000 if INTERPRETED else 2_000_000
CORPUS_TILE = 16_384 if INTERPRETED else TILE

# What must not matter is where a tile ends: everything here is longer than the tiles it is tried with.
AT_SEAMS = [
    "it's we'll I'VE x'ſ 's's's a'll'd'm! we'lla'sB",
    "1234567 \u00b2\u00b3\u0664\u0665\u0666 1a12b123c",
    "  a \t b\n \n  c \r\n\r\n\td  ",
    "!!\n\n x?\r\n/\n/a -//\n//\u0301\n//\u0301",
    "中文、日本語カナ\u3099テ1゛\u3097\u3098x",
    "aʰBcʰʰDE ʰA\u0301B aB\u0301ÉÉa",
    "(a.b)_c!d é!é !\u0301a !!\u0301a\x00\x01b \x00",
    "😀👍🏽é\U0001d538\U0001d7d8\U0001d7d9\U0001d7da\U0001d7db",
]
LONG_RUNS = [f"{before}{run * 37}{after}" for before, run, after in itertools.product(["", "!", "a"], " 7A\n/", "\na ")]


@pytest.fixture(autouse=True)
def _faster_interpreter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "plain_interpreter" not in request.keywords:
        kernel_device.make_interpreter_faster(monkeypatch)


def _guarded(size: int, dtype: torch.dtype, fill: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of `size`, and the one around it: 64 elements more at each end."""
    around = torch.full((size + 128,), fill, dtype=dtype, device=DEVICE)
    return around[64 : 64 + size], around


def _untouched(around: torch.Tensor, fill: int) -> bool:
    return bool((around[:64] == fill).all() and (around[-64:] == fill).all())


def _classify(text: Bytes, tile: int) -> Bytes:
    table = gpu_texts.table()
    classes, around = _guarded(len(text), torch.uint8, 0xEE)
    classify_kernel.classify(to_device(text), to_device(table.pages), to_device(table.cells), classes, tile)
    assert _untouched(around, 0xEE)
    return classes.cpu().numpy()


def _boundaries(text: Bytes, pattern: str, tile: int) -> Bytes:
    starts, around = _guarded(len(text), torch.uint8, 0xEE)
    scratch, around_scratch = _guarded(boundaries_kernel.scratch_size(len(text), tile), torch.int32, 0x7BADBAD)
    classes = naive_classify.classify(text, gpu_texts.table())
    boundaries_kernel.boundaries(to_device(text), to_device(classes), pattern, starts, scratch, tile)
    assert _untouched(around, 0xEE)
    assert _untouched(around_scratch, 0x7BADBAD)
    return starts.cpu().numpy()


def _reference(text: Bytes, pattern: str) -> Bytes:
    return naive_boundaries.boundaries(text, naive_classify.classify(text, gpu_texts.table()), pattern)


@functools.cache
def _hard_text(size: int) -> Bytes:
    def texts() -> Iterator[str]:
        for seed in itertools.count():
            for family in corpus.conformance_families():
                yield from (text[:400] for text in itertools.islice(corpus.conformance(family, seed), 3))

    return gpu_texts.pack(next(gpu_texts.batches(texts(), size)))


@pytest.mark.parametrize("tile", [4, 64, 4096])
def test_classify(tile: int) -> None:
    texts = ["", "a", *AT_SEAMS, "", "é中😀"]
    if tile > 4:
        code_points = [c for c in range(0, 0x110000, 131 if tile > 64 else 2711) if not 0xD800 <= c < 0xE000]
        texts += ["".join(representatives.characters()), "".join(map(chr, code_points))]
    text = gpu_texts.pack(texts)
    assert np.array_equal(_classify(text, tile), naive_classify.classify(text, gpu_texts.table()))


def test_classify_any_bytes() -> None:
    """What is no UTF-8 gets some class, and nothing outside of the arrays is touched."""
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 100):
        for text in (rng.integers(0, 256, size), np.full(size, 0xBF), np.full(size, 0xF7)):
            assert (_classify(text.astype(np.uint8), 32) < 0x80).all()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_seams(pattern: str) -> None:
    """Tiles of two and four bytes: seams inside of everything."""
    for tile, texts in ((2, AT_SEAMS[:4]), (4, AT_SEAMS)):
        text = gpu_texts.pack([*texts, "", "", "a"])
        assert np.array_equal(_boundaries(text, pattern, tile), _reference(text, pattern)), tile


@pytest.mark.parametrize("pattern", PATTERNS)
def test_runs_longer_than_tiles(pattern: str) -> None:
    rng = random.Random(pattern)
    text = gpu_texts.pack(rng.sample(LONG_RUNS, 12) if INTERPRETED else LONG_RUNS)
    assert np.array_equal(_boundaries(text, pattern, 8), _reference(text, pattern))


@pytest.mark.parametrize("tile", SIZES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_hard_texts(pattern: str, tile: int) -> None:
    text = _hard_text(SIZES[tile])
    assert np.array_equal(_boundaries(text, pattern, tile), _reference(text, pattern))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents_against_the_reference_library(pattern: str) -> None:
    """All three kernels in a row, and the words that the reference library finds."""
    documents = [text for kind in corpus.corpora() for text in corpus.texts(kind, CORPUS_CHARACTERS)]
    text = gpu_texts.pack(documents)
    table, tile = gpu_texts.table(), CORPUS_TILE
    on_device = to_device(text)
    classes, starts = torch.empty_like(on_device), torch.empty_like(on_device)
    classify_kernel.classify(on_device, to_device(table.pages), to_device(table.cells), classes, tile)
    size = max(boundaries_kernel.scratch_size(len(text), tile), compact_kernel.scratch_size(len(text), tile))
    scratch = torch.empty(size, dtype=torch.int32, device=DEVICE)
    boundaries_kernel.boundaries(on_device, classes, pattern, starts, scratch, tile)
    word_starts = torch.empty(len(text) + 1, dtype=torch.int32, device=DEVICE)
    word_count = torch.empty(1, dtype=torch.int32, device=DEVICE)
    compact_kernel.compact(starts, word_starts, word_count, scratch, tile)
    expected = np.flatnonzero(gpu_texts.reference_starts(gpu_texts.PATTERNS[pattern], documents))
    assert word_starts[: int(word_count)].tolist() == expected.tolist()
    assert int(word_starts[int(word_count)]) == len(text)


@pytest.mark.parametrize(("size", "tile"), [(1, 32), (31, 32), (32, 32), (500, 32), (70, 4), (900, 256), (900, 4096)])
def test_compact(size: int, tile: int) -> None:
    rng = np.random.default_rng(size)
    for flags in (rng.integers(0, 2, size), rng.integers(0, 20, size) == 0, np.zeros(size), np.ones(size)):
        starts = flags.astype(np.uint8)
        expected = naive_compact.compact(starts)
        word_starts, around = _guarded(len(expected), torch.int32, -9)
        word_count, around_count = _guarded(1, torch.int32, -9)
        scratch, around_scratch = _guarded(compact_kernel.scratch_size(size, tile), torch.int32, -9)
        compact_kernel.compact(to_device(starts), word_starts, word_count, scratch, tile)
        assert word_starts.tolist() == expected.tolist()
        assert int(word_count) == len(expected) - 1
        assert _untouched(around, -9)
        assert _untouched(around_count, -9)
        assert _untouched(around_scratch, -9)


def test_nothing() -> None:
    empty = to_device(np.zeros(0, dtype=np.uint8))
    numbers = torch.full((1,), 7, dtype=torch.int32, device=DEVICE)
    word_starts = numbers.clone()
    table = gpu_texts.table()
    classify_kernel.classify(empty, to_device(table.pages), to_device(table.cells), empty)
    boundaries_kernel.boundaries(empty, empty, "o200k", empty, numbers)
    compact_kernel.compact(empty, word_starts, numbers, numbers.clone())
    assert word_starts.tolist() == numbers.tolist() == [0]


@pytest.mark.parametrize("tiles", [1, 7, 8, 9, 40])
def test_carries_over_more_tiles_than_a_program_takes_at_once(tiles: int) -> None:
    rng = random.Random(tiles)
    symbols = [value for name, value in vars(machines.O200k).items() if name.isupper() and value > 7]
    functions = [rng.choice([*symbols, machines.IDENTITY, machines.IDENTITY]) for _ in range(tiles)]
    answers = [[rng.choice([-1, -1, -1, 0, 1]) for _ in range(tiles)] for _ in range(2)]
    scratch = to_device(np.array([functions, *answers, *[[99] * tiles] * 3], dtype=np.int32))
    boundaries_kernel.carry_kernel[(3,)](scratch, tiles, CHUNK=8)

    states = itertools.accumulate(functions[:-1], lambda state, function: function >> 3 * state & 7, initial=0)
    expected = [list(states)]
    for row in answers:
        behind = itertools.accumulate(reversed(row[1:]), lambda known, new: known if new < 0 else new, initial=0)
        expected.append(list(behind)[::-1])
    assert scratch[3:].tolist() == expected


@pytest.mark.parametrize("tiles", [1, 8, 33])
def test_bases_over_more_tiles_than_a_program_takes_at_once(tiles: int) -> None:
    counts = np.random.default_rng(tiles).integers(0, 100, tiles).astype(np.int32)
    bases, total = to_device(np.full(tiles, -9, np.int32)), to_device(np.array([-9], np.int32))
    compact_kernel.base_kernel[(1,)](to_device(counts), bases, total, tiles, CHUNK=8)
    assert bases.tolist() == (np.cumsum(counts) - counts).tolist()
    assert total.tolist() == [counts.sum()]


@pytest.mark.plain_interpreter
def test_the_interpreter_as_it_is() -> None:
    """The faster interpreter of the other tests changes no result."""
    text = gpu_texts.pack(["a's's 12345!\n/\n b", "!\n//\u0301A  \n x"])
    assert np.array_equal(_boundaries(text, "o200k", 32), _reference(text, "o200k"))


def test_patterns_are_those_of_the_reference() -> None:
    assert set(PATTERNS) == set(naive_boundaries.PATTERNS)


def test_refusals() -> None:
    text = to_device(np.zeros(8, dtype=np.uint8))
    with pytest.raises(ValueError, match="know no split pattern 'clip'"):
        boundaries_kernel.boundaries(text, text, "clip", text, text)
    with pytest.raises(ValueError, match="power of two"):
        compact_kernel.compact(text, text, text, text, tile=48)
    with pytest.raises(ValueError, match="at most"):
        tiles_of(MAX_BYTES + 1, 1024)
