"""What the bit-parallel kernels stand on, in Triton's interpreter, or on the GPU where there is one."""

from __future__ import annotations

import itertools
import random

import gpu_texts
import kernel_device
import numpy as np
import pytest
import representatives
from gpu_texts import AT_SEAMS, Bytes
from kernel_device import INTERPRETED, guarded, to_device, torch, untouched

from lopt_plugin.triton_kernels.classify import character_masks, kernel as classify_kernel, naive as naive_classify
from lopt_plugin.triton_kernels.common import character_kinds
from lopt_plugin.triton_kernels.common.device_words import padded
from lopt_plugin.triton_kernels.common.limits import MASK_TILE, MAX_BYTES, tiles_of, words_of
from lopt_plugin.triton_kernels.compact import kernel as compact_kernel
from lopt_plugin.triton_kernels.pretokenize import carries, machines
from lopt_plugin.triton_kernels.pretokenize.naive_characters import Characters

# In the interpreter a program takes tens of milliseconds, however small its tile.
LARGE_TILE = 16_384 if INTERPRETED else MASK_TILE


@pytest.fixture(autouse=True)
def _faster_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_device.make_interpreter_faster(monkeypatch)


def _classify(text: Bytes, tile: int) -> Bytes:
    table = gpu_texts.table()
    classes, around = guarded(-(-len(text) // 8), torch.int64, 0x7BADBAD)
    pages, cells = to_device(table.pages), to_device(table.cells)
    classify_kernel.classify(to_device(padded(text)), len(text), pages, cells, classes, tile)
    assert untouched(around, 0x7BADBAD)
    return classes.cpu().numpy().view(np.uint8)[: len(text)]


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
            classes = _classify(text.astype(np.uint8), 32)
            assert np.array_equal(classes >= character_kinds.LEAD, text & 0xC0 != 0x80)


def _planes(text: Bytes, classes: Bytes, pattern: str) -> Bytes:
    """The seven planes, a byte for each bit."""
    size, tile = len(text), LARGE_TILE
    words = words_of(size, tile)
    planes, around = guarded(character_masks.PLANES * words, torch.int64)
    character_masks.character_masks(to_device(padded(text)), size, pattern, to_device(padded(classes)), planes, tile)
    assert untouched(around)
    bits = np.unpackbits(planes.cpu().numpy().reshape(-1, words).view(np.uint8), axis=1, bitorder="little")
    assert (bits[:5, size:] == np.array([[0], [1], [0], [1], [1]])).all()  # separators
    return bits[:, :size]


def test_planes_of_characters() -> None:
    """Kinds, CJK and first bytes, of all bytes of each character and at each place of a word."""
    text = gpu_texts.pack(gpu_texts.at_each_place("".join(AT_SEAMS)))
    classes = naive_classify.classify(text, gpu_texts.table())
    leads = np.flatnonzero(classes & character_kinds.LEAD)
    of_all = np.repeat(classes[leads], np.diff(leads, append=len(text)))
    expected = [*(of_all >> bit & 1 for bit in range(4)), classes >> 7, of_all >> 4 & 1, text < 0x80]
    for plane, (found, wanted) in enumerate(zip(_planes(text, classes, "deepseek_v3"), expected, strict=True)):
        assert np.array_equal(found, wanted), plane


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "tekken"])
def test_planes_of_apostrophes_and_slashes(pattern: str) -> None:
    """Of all ASCII characters beside an apostrophe, and of contractions at each place of a word."""
    texts = [f"'{chr(c)}'{chr(c).swapcase()}e'l{chr(c)}'{chr(c)}L/" for c in range(128)]
    text = gpu_texts.pack([*texts, *gpu_texts.at_each_place("x'S'll'Re'ſ'vE'd/a'ſs/'L'lL'rE'")])
    classes = naive_classify.classify(text, gpu_texts.table())
    leads = np.flatnonzero(classes & character_kinds.LEAD)
    characters = Characters(text, classes, leads)
    lengths = characters.contraction_lengths(ignore_case=pattern != "gpt2") * (pattern != "tekken")
    of_long_s = (lengths == 2) & np.append(characters.is_long_s[1:], False)
    slashes = (characters.ascii == ord("/")) & (pattern in ("o200k", "tekken"))
    found = _planes(text, classes, pattern)
    assert np.array_equal(found[5, leads], (lengths == 2) & ~of_long_s | slashes)
    assert np.array_equal(found[6, leads], (lengths == 3) | of_long_s | slashes)
    assert not found[5:, classes == 0].any()


@pytest.mark.parametrize("tiles", [1, 7, 8, 9, 40])
def test_carries_over_more_tiles_than_a_program_takes_at_once(tiles: int) -> None:
    rng = random.Random(tiles)
    symbols = [value for name, value in vars(machines.O200k).items() if name.isupper() and value > 7]
    functions = [rng.choice([*symbols, machines.IDENTITY, machines.IDENTITY]) for _ in range(tiles)]
    answers = [[rng.choice([-1, -1, -1, 0, 1]) for _ in range(tiles)] for _ in range(2)]
    scratch = to_device(np.array([functions, *answers, *[[99] * tiles] * 3], dtype=np.int32))
    carries.carry_kernel[(3,)](scratch, tiles, CHUNK=8)

    states = itertools.accumulate(functions[:-1], lambda state, function: function >> 3 * state & 7, initial=0)
    expected = [list(states)]
    for row in answers:
        after = itertools.accumulate(reversed(row[1:]), lambda known, new: known if new < 0 else new, initial=0)
        expected.append(list(after)[::-1])
    assert scratch[3:].tolist() == expected


@pytest.mark.parametrize("tiles", [1, 8, 33])
def test_bases_over_more_tiles_than_a_program_takes_at_once(tiles: int) -> None:
    counts = np.random.default_rng(tiles).integers(0, 100, tiles).astype(np.int32)
    bases, total = to_device(np.full(tiles, -9, np.int32)), to_device(np.array([-9], np.int32))
    compact_kernel.base_kernel[(1,)](to_device(counts), bases, total, tiles, CHUNK=8)
    assert bases.tolist() == (np.cumsum(counts) - counts).tolist()
    assert total.tolist() == [counts.sum()]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="power of two"):
        compact_kernel.scratch_size(8, tile=48)
    with pytest.raises(ValueError, match="at most"):
        tiles_of(MAX_BYTES + 1, 1024)
