"""Growing texts that end in a row that later text may still move or take (growing/open_row.hpp)."""

from __future__ import annotations

import random
import string
import unicodedata

import pytest
import tier
from corpus import load_tokenizer
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

# U+0323 is sorted before U+0301 and composes with more letters, U+0345 after it, U+0300 neither; U+1161 is no mark, but
# composes; U+093C is sorted before all.
MARKS = ["\u0301", "\u0323", "\u0345", "\u0300", "\u093c", "\u1161"]
WHITE_SPACE = [" ", "\n", "\t", "\u00a0", "\u2003", "\u3000"]
BEFORE = ["", "x", "e", "a\u0323", "\u1100", "hello ", "<mask>", "e\u0301\u0323", "!" * 600, "\u0301\u0323", "\u4e2d"]
AFTER = [
    "",
    "x",
    "e",
    "\u1100",
    "\u00e9",
    " ",
    "<mask>",
    "<ma",
    "sk>",
    "<",
    "lonely",
    "1",
    "\n",
    "\u0928",
    "\u2581",
    *MARKS,
]


def _encoder(tokenizer: Tokenizer) -> Encoder:
    return Encoder(tokenizer, Settings.read({}, threads=1))


def _without_tokens(name: str) -> Tokenizer:
    original = load_tokenizer(name)
    tokenizer = Tokenizer(original.model)
    if original.normalizer is not None:
        tokenizer.normalizer = original.normalizer
    if original.pre_tokenizer is not None:
        tokenizer.pre_tokenizer = original.pre_tokenizer
    return tokenizer


def _with_form(name: str) -> Tokenizer:
    tokenizer = _without_tokens("tiny_o200k" if name.endswith("C") else "tiny_qwen2")
    tokenizer.normalizer = normalizers.Sequence([getattr(normalizers, name)(), normalizers.Lowercase()])
    return tokenizer


TOKENIZERS = {
    "qwen": lambda: load_tokenizer("tiny_qwen2"),
    "bare qwen": lambda: _without_tokens("tiny_qwen2"),
    "clip": lambda: load_tokenizer("tiny_clip"),
    "mask": lambda: _with_mask("tiny_o200k", normalized=False),
    "normalized mask": lambda: _with_mask("tiny_qwen2", normalized=True),
    **{form: lambda form=form: _with_form(form) for form in ("NFC", "NFD", "NFKC", "NFKD")},
}


def _with_mask(name: str, normalized: bool) -> Tokenizer:
    tokenizer = load_tokenizer(name)
    # Tokens that begin with white space belong to no row.
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, normalized=normalized)])
    return tokenizer


@pytest.mark.parametrize("name", TOKENIZERS)
def test_rows_that_stay_and_rows_that_are_undone(name: str) -> None:
    """The ids of every prefix are those of Hugging Face, and stable ones stay."""
    tokenizer = TOKENIZERS[name]()
    encoder = _encoder(tokenizer)
    rng = random.Random(name)
    native = encoder._runner.state.snapshot().native
    assert native is not None
    fates = set()  # of rows
    for _ in range(tier.pick(100, 1_000)):
        growing = encoder.incremental(add_special_tokens=False)
        states, updated, stable = [], [], []
        few = rng.choice([MARKS, WHITE_SPACE])
        unit = rng.choice(few)
        pieces = [rng.choice(BEFORE), unit * rng.choice([513, 700])]
        for _ in range(rng.randint(1, 5)):
            pieces.append(rng.choice([unit * rng.choice([1, 3, 300, 600]), rng.choice(AFTER), rng.choice(few)]))
        for piece in pieces:
            if rng.random() < 0.1:
                growing.prepend(rng.choice(["x", "e ", "hello world "]))
                updated, stable = [], []
                states.clear()
            if growing.count and growing._now.row is not None:
                fates.add(native.core.ends_row(growing.text, piece))
            growing.append(piece)
            if rng.random() < 0.8:
                growing.update(updated)
                assert updated == growing.ids
            ids = tokenizer.encode(growing.text, add_special_tokens=False).ids
            assert (growing.count, growing.ids) == (len(ids), ids), (pieces, piece)
            begin = rng.randint(0, len(ids))
            assert growing.ids_from(begin) == ids[begin:]
            assert ids[: len(stable)] == stable
            stable = ids[: growing.stable]
            states.append((growing.snapshot(), ids))
            if rng.random() < 0.2:
                state, ids = rng.choice(states)
                growing.restore(state)
                assert (growing.count, growing.ids) == (len(ids), ids)
                stable = ids[: growing.stable]
    assert fates >= {True, False}


@pytest.mark.parametrize("before", ["\u0301", "a\u0301", "a\u0301\u0323", "\u0345\u0301", "\u0301\u0345"])
def test_a_row_that_is_sorted_before_other_marks(before: str) -> None:
    tokenizer = _without_tokens("tiny_qwen2")
    encoder = _encoder(tokenizer)
    for mark in MARKS:
        growing = encoder.incremental()
        for piece in (before + mark * 600, mark * 600, "x"):
            growing.append(piece)
            assert growing.ids == tokenizer.encode(growing.text).ids


# Characters that are normalized together, of which a pre-token takes some.
CLUSTERS = [
    *["a\u0301\u0323", "e\u0302\u0323", "a\u0328\u0301\u0323", "\u1ea1\u0301", "x\u0301\u0323", "\u0928\u0301\u093c"],
    *[
        "1\u0301\u0323",
        "!\u0301\u0323",
        " \u0301\u0323",
        "\u0301\u0323",
        "\u1100\u1161\u0301\u0323",
        "\u304b\u3099\u0301",
    ],
    *["\u037a\u0323", "\u1fc1\u0323", "\u0344\u0323", "\u0f71\u0f74\u0f72", "\ufb1d\u05b4\u0591", "A\u030a\u0327"],
]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_pre_tokens_that_end_among_characters_that_are_normalized_together(name: str) -> None:
    """No position of the raw text divides them, but the text after them, with the marks that are left over."""
    tokenizer = TOKENIZERS[name]()
    if name in ("mask", "NFKC"):
        tokenizer.add_tokens([AddedToken("\u1ea1", normalized=False), AddedToken("a\u0301", normalized=False)])
    encoder = _encoder(tokenizer)
    rng = random.Random(f"clusters {name}")
    divided = 0
    for _ in range(tier.pick(40, 1_500)):
        few = rng.sample(CLUSTERS, rng.choice([1, 1, 2, 4]))
        growing = encoder.incremental(add_special_tokens=False)
        for _ in range(rng.randint(2, 6)):
            unit = "".join(rng.choices(few, k=rng.choice([1, 300])))
            growing.append(rng.choice([unit, unit, unit[:-1], rng.choice(AFTER), rng.choice(few) * 200]))
            ids = tokenizer.encode(growing.text, add_special_tokens=False).ids
            assert (growing.count, growing.ids) == (len(ids), ids)
            divided += growing._now.tail is not None and not growing.text.endswith(growing._now.tail)
    assert divided or name not in ("bare qwen", "NFC", "NFKC")


def test_a_token_among_characters_that_are_normalized_together() -> None:
    """Without the token, which the normalizer would remove, they would become the same."""
    tokenizer = _without_tokens("tiny_qwen2")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace("\u0345", "")])
    tokenizer.add_tokens([AddedToken("\u0345", normalized=False)])
    growing = _encoder(tokenizer).incremental()
    for _ in range(4):
        growing.append("a\u0301\u0323\u0345" * 200)
        assert growing.ids == tokenizer.encode(growing.text).ids


def test_equal_marks_compose_no_more_than_once() -> None:
    """A row of four of a mark cannot all compose with what is before it."""
    composed: dict[str, str] = {}
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            composed[chr(code)] = chr(int(parts[1], 16))
    for character, second in composed.items():
        first = chr(int(unicodedata.decomposition(character).split()[0], 16))
        assert composed.get(first) != second


def test_rows_in_tokenizers_that_strip_only_what_they_find() -> None:
    """A model without a token that strips has no open row of white space."""
    tokenizer = Tokenizer(models.BPE({"a": 0, " ": 1}, []))
    growing = _encoder(tokenizer).incremental()
    growing.append(" " * 600)
    assert growing.count == 600
    assert growing._now.row is None


@pytest.mark.parametrize("name", ["tiny_llama2", "tiny_metaspace", "tiny_metaspace_first", "prepends twice"])
def test_text_after_a_token_of_normalized_text(name: str) -> None:
    """It continues the stretch of the raw text in which the token was found, and gets no space of its own."""
    tokenizer = _without_tokens("tiny_llama2" if name == "prepends twice" else name)
    if name == "prepends twice":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.add_tokens([AddedToken("<x>", normalized=True), AddedToken("<raw>", normalized=False)])
    encoder = _encoder(tokenizer)
    rng = random.Random(name)
    units = ["<x>", " <x>", "<raw>", "a", "the", "in", " ", "ab ", "\u2581", "<", "x>"]
    texts = [["ab", " ", "<x>", letter * 600, "b"] for letter in string.ascii_lowercase]
    for _ in range(tier.pick(10, 1_000)):
        texts.append([rng.choice(units) * rng.choice([1, 2, 170, 600]) for _ in range(10)])
    for pieces in texts:
        growing = encoder.incremental(add_special_tokens=False)
        for piece in pieces:
            growing.append(piece)
            ids = tokenizer.encode(growing.text, add_special_tokens=False).ids
            assert (growing.count, growing.ids) == (len(ids), ids)
