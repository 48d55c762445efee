"""Texts of which a step could read the same part again for every token: each part is read about once.

Each script takes a second or two where it is so, and hours where it is not: its limit measures nothing.
"""

from __future__ import annotations

import random

import corpus
import hard_texts
import native_cores
import own_process
import pytest
import tier
import unigrams
import word_pieces

from lopt_plugin.native._core import NeedsReference

_ENCODE = """
import native_cores
core = {core}
text = {unit!r} * ({characters} // len({unit!r}))
print(0 < len(core.encode(text + "x")) <= len(text) + 1)
"""


def _ends(core: str, unit: str, characters: int = 8_000_000) -> None:
    said = own_process.run(_ENCODE.format(core=core, unit=unit, characters=characters))
    assert said.splitlines()[-1] == "True"  # older versions of the library print words of their own before


@pytest.mark.every_parameter
@pytest.mark.parametrize("unit", ["\n", "\t"])
def test_runs_of_a_character_that_is_an_added_token(unit: str) -> None:
    """As Gemma's: runs of up to some length are tokens, without flags."""
    _ends(f"native_cores.core_with_runs({unit!r})[0]", unit)
    core, tokenizer = native_cores.core_with_runs(unit)
    assert not native_cores.different(core, tokenizer, [unit * count + "x" for count in range(100)])


@pytest.mark.every_parameter
@pytest.mark.parametrize("flags", [(False, True, False), (False, False, True), (False, True, True), (True, True, True)])
@pytest.mark.parametrize("unit", ["\n", "\t ", "\n\n "])
def test_white_space_tokens_that_take_white_space(unit: str, flags: tuple[bool, bool, bool]) -> None:
    token = (unit[0], 1_000, *flags, False, False)
    core = "native_cores.make_core({name: i for i, name in enumerate(native_cores.STAND_INS)}, [], added_tokens=[%r])"
    _ends(core % (token,), unit, 3_000_000)


# What pre-tokens, normalizers and added tokens treat in different ways, alone and beside itself.
UNITS = [
    *[
        "a",
        "A",
        "\u02b0",
        "A\u02b0",
        "'",
        "a'",
        "'s",
        "!",
        "!\n",
        " ",
        "  ",
        "\n",
        "\n ",
        "\t",
        "\r\n",
        "/",
        "#",
        "_",
        "1",
        "12",
    ],
    *["<|end|>", "<|right|>", "<|left|>", "<|word|>", "<s>", "lonely", "\u2603", "\u2581", "\u00a0", "\u2000", "\x00"],
    *[
        "e\u0301",
        "\u0301",
        "a\u0323\u0301",
        "\u0345",
        "\u1100\u1161",
        "\u0930\u094d",
        "\u0f71",
        "\u00b2",
        "\u0130",
        "\u00df",
    ],
    *["\u01c4", "\ufb01", "\u4e2d", "\u6587", "\u4e00", "\u3001", "\uac00", "\U0001f600", "\u200d"],
]


def _text(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return "".join(rng.choices(rng.sample(UNITS, rng.randint(1, 3)), k=rng.randint(1, 40)))
    if kind < 0.6:
        return "".join(rng.choice(UNITS) * rng.choice([1, 1, 2, 3, 7, 20]) for _ in range(rng.randint(1, 6)))
    family = rng.choice(hard_texts.families())
    return next(hard_texts.texts(family, rng.randrange(1 << 30)))[: rng.randint(1, 100)]


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", [*native_cores.SMALL, *word_pieces.SMALL, *unigrams.SMALL])
def test_cut_looks_into_parts_without_a_seam(name: str) -> None:
    """Parts of any length are, where `long_word` is small: the longest of all prefixes with so many ids is found."""
    wordpiece = name in word_pieces.SMALL
    core, _ = word_pieces.core_and_reference(name) if wordpiece else native_cores.core_and_reference(name)
    rng = random.Random(name)
    for _ in range(tier.pick(40, 3_000)):
        text = _text(rng)
        try:
            counts = [len(core.encode(text[:end])) for end in range(len(text) + 1)]
        except NeedsReference:
            continue
        for most in {0, 1, rng.randint(0, max(counts)), max(counts)}:
            longest = max(end for end, count in enumerate(counts) if count <= most)
            for long_word in (1, 2, rng.randint(1, 30)):
                assert core.cut(text, most, False, long_word) == longest, (text, most, long_word)


_CONTENTS = ["\n", "\n\n", " ", "\t", "  x", "x ", " x", "\n<a>", "<a>", "'s", "a", "1", " 1", "\u0301", "e\u0301"]
_BESIDE = ["\n", " ", "\t", "x", "<a>", "'s", "a", "1", "!", "\u0301", "\u00e9", "A", "\u02b0", "\r\n", "  "]


def test_cut_beside_added_tokens_of_any_kind() -> None:
    """With white space and flags: a token may be one, or take white space, only where the text ends."""
    for seed in range(tier.pick(300, 10_000)):
        rng = random.Random(seed)
        contents = enumerate(rng.sample(_CONTENTS, rng.randint(1, 4)), 1_000)
        tokens = [(content, id, *(rng.random() < 0.4 for _ in range(4)), False) for id, content in contents]
        names = {name: i for i, name in enumerate(native_cores.STAND_INS)}
        scanner = rng.choice(["gpt2", "cl100k", "o200k", "whole"])
        core = native_cores.make_core(names, [], added_tokens=tokens, scanner=scanner)
        few = rng.sample(_BESIDE, rng.randint(1, 4))
        text = "".join(rng.choice(few) * rng.choice([1, 1, 2, 9]) for _ in range(rng.randint(1, 30)))[:100]
        counts = [len(core.encode(text[:end])) for end in range(len(text) + 1)]
        for most in {*counts}:
            longest = max(end for end, count in enumerate(counts) if count <= most)
            assert core.cut(text, most, False, 1) == longest, (seed, text, most)


def test_cut_after_a_word_and_what_is_removed() -> None:
    """The token must be a single word. Without U+0098, which the normalizer removes, it stands after a letter."""
    backend = corpus.load_tokenizer("wordpiece_added")
    core, _ = word_pieces.core_and_reference("wordpiece_added")
    text = "a\x98<|word|>\x00|>\x87|\x00or"
    counts = [len(backend.encode(text[:end], add_special_tokens=False).ids) for end in range(len(text) + 1)]
    for most in range(max(counts)):
        assert core.cut(text, most, False, 1) == max(end for end, count in enumerate(counts) if count <= most)


def test_cut_gives_up_before_its_time_grows_with_the_square_of_a_text() -> None:
    """Each mark that the normalizer sorts changes the middle of what came before."""
    core, _ = native_cores.core_and_reference("tiny_qwen2")
    marks = "a" + "\u0301\u0323" * 10_000
    assert core.cut(marks[:1_001], 100_000) == 1_001
    assert 0 < core.cut(marks[:1_001], 300) < 1_001
    assert core.cut(marks, core.count(marks) // 2) is None


# How many characters are cut. tiny_llama2 has added tokens that may be others at the end of a text: where one may
# stand, all prefixes are tried.
_CUT_CHARS = {
    "tiny_qwen2": 1 << 16,
    "tiny_llama2": 1 << 11,
    "tiny_o200k": 1 << 16,
    "tiny_clip": 1 << 16,
    "tiny_falcon": 1 << 16,
    "bert_base_uncased": 1 << 16,
}
_CUT = """
import native_cores
core, _ = {core}
for unit in {units!r}:
    text = (unit * {chars})[:{chars}]
    for most in (0, 512, len(text) // 16):
        end = core.cut(text, most)
        assert core.count(text[:end]) <= most
        assert end == len(text) or core.count(text[: end + 1]) > most
print("done")
"""


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", tier.pick(["tiny_qwen2", "tiny_llama2"], list(_CUT_CHARS)))
def test_cut_of_long_texts_without_a_seam(name: str) -> None:
    units = [
        "a",
        "ab",
        "a'",
        "!\n",
        "\n ",
        "\n",
        " ",
        "12 ",
        ".a",
        "e\u0301",
        "A\u02b0",
        "\u0928\u094d",
        "<|end|>",
        "<s>",
    ]
    units += ["\u2581", "!\u0301"]
    if name == "tiny_clip":
        units.remove("\n")  # cut gives up: its tokens of newlines may be others at each end
    module = "word_pieces" if name in word_pieces.SMALL else "native_cores"
    core = f'__import__("{module}").core_and_reference("{name}")'
    assert own_process.run(_CUT.format(core=core, units=units, chars=_CUT_CHARS[name]), seconds=300).strip() == "done"
