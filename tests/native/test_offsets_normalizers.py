"""Offsets under normalizers of all kinds, alone and in sequences, against those of the reference library."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import corpus
import pytest
import tier
from native_cores import route_of
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN, NeedsReference

STEPS: dict[str, Callable[[], normalizers.Normalizer]] = {
    "NFC": normalizers.NFC,
    "NFD": normalizers.NFD,
    "NFKC": normalizers.NFKC,
    "NFKD": normalizers.NFKD,
    "Lowercase": normalizers.Lowercase,
    "StripAccents": normalizers.StripAccents,
    "Nmt": normalizers.Nmt,
    "Strip": lambda: normalizers.Strip(True, True),
    "Strip on the right": lambda: normalizers.Strip(False, True),
    "Prepend": lambda: normalizers.Prepend("\u00e9x"),
    "one for one": lambda: normalizers.Replace("a", "\u00e4"),
    "more": lambda: normalizers.Replace("e", "<\u00eb>"),
    "fewer": lambda: normalizers.Replace("the", "\u00fe"),
    "nothing": lambda: normalizers.Replace("o", ""),
    "runs of white space": lambda: normalizers.Replace(Regex(r"\s+"), " "),
    "runs of two": lambda: normalizers.Replace(Regex(r" {2,}"), "  "),
    "each newline": lambda: normalizers.Replace(Regex(r"\n"), "\\n"),
}
PIECES = [
    *["the", " the", "a", "e", "o", "Oo ", "THE ", "12345", "isn't", "<X>", "[y]", "Cafe\u0301", "中", "👍🏽"],
    *["\n", "\n\n", " ", "  ", "   ", "\u3000", "\u00a0", "\t", "\x00", "\u200b"],
    *["\u0130", "\u1e9e", "\ufb01", "\u00bd", "\u2126", "\u212b", "\u00e9", "e\u0301", "\u0301", "q\u0307\u0323"],
    *["\u0344", "1\u0344", "\u1100\u1161\u11a8", "\uac01", "\u0958", "\u2f00", "\u1e69"],
]
ADDED = [
    AddedToken("<X>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("[y]", normalized=True, single_word=True),
    AddedToken("Cafe\u0301", normalized=True),
]


def both(steps: Iterable[str], *, added: bool, add_prefix_space: bool = False) -> tuple[NativeRoute, Tokenizer]:
    reference = Tokenizer(corpus.load_tokenizer("tiny_qwen2").model)
    reference.normalizer = normalizers.Sequence([STEPS[step]() for step in steps])
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    if added:
        reference.add_tokens(ADDED)
    return route_of(reference), reference


def assert_same(native: NativeRoute, reference: Tokenizer, texts: list[str]) -> int:
    """How many texts were left to the reference."""
    left = 0
    for text, whole in zip(texts, reference.encode_batch(texts), strict=True):
        try:
            found = native.text_with_offsets(text, False, None, False, as_lists=True)
        except NeedsReference:
            left += 1
            continue
        assert found == (whole.ids, whole.offsets), text
    return left


def random_texts(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(PIECES, k=rng.randint(0, 10))) for _ in range(count)]


@pytest.mark.parametrize("step", STEPS)
def test_each_step(step: str) -> None:
    for added in (False, True):
        native, reference = both([step], added=added, add_prefix_space=added)
        texts = random_texts(random.Random(step), 400)
        assert assert_same(native, reference, texts) <= len(texts) // 10


@pytest.mark.parametrize("seed", range(40))
def test_sequences(seed: int) -> None:
    rng = random.Random(seed)
    steps = rng.choices([*STEPS], k=rng.randint(2, 5))
    native, reference = both(steps, added=seed % 2 == 0, add_prefix_space=seed % 3 == 0)
    texts = random_texts(rng, 250)
    assert assert_same(native, reference, texts) <= len(texts) // 5, steps


@pytest.mark.parametrize(
    "steps", [["NFKC", "Lowercase"], ["NFD", "StripAccents"], ["Nmt", "NFKD", "runs of white space", "Strip"]]
)
def test_each_code_point(steps: list[str]) -> None:
    native, reference = both(steps, added=False)
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    contexts = ["{}", "a{}b", " {} {}\u0301", "e\u0301{}中"]
    step = 67
    texts = [
        "".join(contexts[at // step % 4].replace("{}", c) for c in points[at : at + step])
        for at in range(0, 0x30000, tier.pick(4, 1) * step)
    ]
    assert assert_same(native, reference, texts) <= len(texts) // 10


def test_what_only_the_reference_can_do_is_left_to_it() -> None:
    reference = Tokenizer(corpus.load_tokenizer("tiny_qwen2").model)
    reference.normalizer = normalizers.Replace(Regex(r"[ab]x+"), "y")
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    native = route_of(reference)
    assert native.encode_list("a axx", PLAIN[False][False]) == reference.encode("a axx").ids
    with pytest.raises(NeedsReference, match="where its characters came from"):
        native.text_with_offsets("a axx", False, None, False, as_lists=True)
