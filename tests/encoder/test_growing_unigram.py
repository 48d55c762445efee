"""Growing texts of Unigram that have several words, but no seam: the raw text does not show where they divide."""

from __future__ import annotations

import random

import pytest
import tier
import unigrams
from corpus import load_tokenizer
from tokenizers import AddedToken, Tokenizer

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

# T5's normalizer makes white space of a carriage return, U+200D, U+0385 (and a mark) and U+3000, and joins the rest in
# some way, or not; it removes U+0001.
UNITS = [
    *[
        "a",
        "ab",
        "k\r",
        "\r",
        "\r\n",
        "a\u0385",
        "\u200d",
        "\u02b0",
        "\u0301",
        "\u3042",
        "\u309a",
        "\u3000",
        " ",
        "\u2581",
    ],
    *["<x>", "<n>", "<x>a\u0301", "\u1100\u1161", "\x01", "\u0928\u094d", "the", "\ufb01", ".", "\u00ad", "1"],
]


def _tokenizer(name: str) -> Tokenizer:
    if name == "random_unigram":
        return unigrams.random_tokenizer(random.Random(7))
    return load_tokenizer(name)


@pytest.mark.parametrize("name", [*unigrams.SMALL, *tier.pick([], unigrams.LARGE), "random_unigram"])
def test_words_without_a_seam(name: str) -> None:
    tokenizer = _tokenizer(name)
    rng = random.Random(f"words {name}")
    grown = 0
    for number in range(tier.pick(60, 1_000)):
        if number == tier.pick(30, 500):
            tokenizer.add_tokens([AddedToken("<x>", normalized=False), AddedToken("<n>", normalized=True, rstrip=True)])
        if number % 30 == 0:
            encoder = Encoder(tokenizer, Settings.read({}, threads=1))
        few = rng.sample(UNITS, rng.choice([1, 2, 3, 5]))
        growing = encoder.incremental(add_special_tokens=False)
        for _ in range(rng.randint(2, 8)):
            unit = "".join(rng.choices(few, k=rng.choice([1, 2, 40, 300])))
            growing.append(rng.choice([unit, unit[:7], rng.choice(few) * rng.choice([1, 70, 520])]))
            ids = tokenizer.encode(growing.text, add_special_tokens=False).ids
            if rng.random() < 0.5:
                assert growing.count == len(ids)
            assert growing.ids == ids
            grown += growing._words is not None
    assert grown


@pytest.mark.parametrize(
    "unit", ["k\r", "a\u0385", "\u02b0" * 50 + "\u200d" * 50, "\u3042" + "\u0301" * 700, "a\u0301<x>"]
)
def test_only_the_end_is_encoded(unit: str) -> None:
    """Nothing is encoded again that is long past."""
    tokenizer = load_tokenizer("unigram_t5")
    tokenizer.add_tokens([AddedToken("<x>", normalized=False)])
    growing = Encoder(tokenizer, Settings.read({}, threads=1)).incremental(add_special_tokens=False)
    text = unit * (6_000 // len(unit))
    for begin in range(0, len(text), 500):
        growing.append(text[begin : begin + 500])
        assert growing.count == len(tokenizer.encode(text[: begin + 500], add_special_tokens=False).ids)
    assert growing._words is not None or len(growing._now.tail or growing._now.head) < 1_000
