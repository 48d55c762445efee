"""The class table against the installed `tokenizers`, and how it is loaded."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tables
import tier
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel

from lopt_plugin.unicode_tables import byte_level, load, table
from lopt_plugin.unicode_tables.derive import classes, oracle
from lopt_plugin.unicode_tables.derive.classes import CHARACTER_SETS, derive
from lopt_plugin.unicode_tables.table import CharacterClasses

NFC, NFD = normalizers.NFC(), normalizers.NFD()
ALL_BITS = [1 << i for i in range(16)]


@pytest.fixture(scope="module")
def fresh() -> CharacterClasses:
    return derive()


@pytest.fixture(scope="module")
def bits(fresh: CharacterClasses) -> np.ndarray:
    return fresh.bits()


def code_points_of_interest(bits: np.ndarray) -> list[int]:
    """A sample of both sides of each change of classes, and random code points."""
    edges = np.flatnonzero(np.diff(bits)).tolist()
    rng = random.Random(1)
    chosen = {*range(0x180), *rng.sample(edges, 1500), *(e + 1 for e in rng.sample(edges, 500))}
    chosen |= {rng.randrange(0x110000) for _ in range(500)}
    return sorted(c for c in chosen if not 0xD800 <= c < 0xE000)


def shipped(version: str) -> CharacterClasses | None:
    return CharacterClasses.read(Path(table.__file__).with_name(table.file_name(version)), version)


def shipped_versions() -> list[str]:
    ending = f"_{CharacterClasses.FORMAT}"
    stems = [path.stem for path in Path(table.__file__).parent.glob("table_*.npz")]
    return [stem.removeprefix("table_").removesuffix(ending) for stem in stems if stem.endswith(ending)]


def test_shipped_table_is_a_fresh_derivation(fresh: CharacterClasses) -> None:
    found = shipped(tokenizers.__version__)
    if found is None:
        pytest.skip(f"no table is shipped for tokenizers {tokenizers.__version__}")
    assert tables.equal(found, fresh)
    assert load.character_classes() is load.character_classes()
    assert tables.equal(load.character_classes(), fresh)


def test_table_with_han() -> None:
    """The sets of Kimi's pattern as it spells them, and all other bits as in the table of the other patterns."""
    found, plain = load.classes_with_han(), load.character_classes()
    assert tables.equal(found, classes.derive_with_han(plain))
    sets = {
        table.CJK: r"[\p{Han}]",
        table.UPPER_SIDE: r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]",
        table.LOWER_SIDE: r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]",
    }
    masks = {bit: oracle.in_character_set(pattern) for bit, pattern in sets.items()}
    assert np.array_equal(found.bits() & sum(sets), oracle.combined(masks))
    assert np.array_equal(found.bits() & ~np.uint16(sum(sets)), plain.bits() & ~np.uint16(sum(sets)))


@pytest.mark.parametrize("version", shipped_versions())
def test_every_shipped_table_can_be_read(version: str) -> None:
    assert shipped(version) is not None


def test_folding_keeps_every_bit() -> None:
    some = np.random.default_rng(0).integers(0, 1 << 16, 0x110000).astype(np.uint16)
    assert np.array_equal(CharacterClasses("x", *table.fold(some), np.empty((0, 2), np.uint32)).bits(), some)


def test_surrogates_have_no_bits(bits: np.ndarray) -> None:
    assert not bits[0xD800:0xE000].any()


def test_each_character_set_asked_alone(bits: np.ndarray) -> None:
    splits = {bit: pre_tokenizers.Split(Regex(pattern), "removed") for bit, pattern in CHARACTER_SETS.items()}
    for c in code_points_of_interest(bits):
        for bit, split in splits.items():
            assert (split.pre_tokenize_str(chr(c)) == []) == bool(bits[c] & bit), (hex(c), bit)


def test_punctuation_and_digits_asked_alone(bits: np.ndarray) -> None:
    punctuation = pre_tokenizers.Punctuation("removed")
    digits = pre_tokenizers.Digits(individual_digits=True)
    for c in code_points_of_interest(bits):
        assert (punctuation.pre_tokenize_str(chr(c)) == []) == bool(bits[c] & table.HF_PUNCTUATION), hex(c)
        assert (len(digits.pre_tokenize_str(f"a{chr(c)}a")) == 3) == bool(bits[c] & table.HF_NUMERIC), hex(c)


def test_added_token_flags_asked_alone_on_both_sides(bits: np.ndarray) -> None:
    tokenizer = Tokenizer(WordLevel({"u": 0}, unk_token="u"))
    tokenizer.add_tokens([AddedToken("<W>", single_word=True), AddedToken("<L>", lstrip=True)])
    tokenizer.add_tokens([AddedToken("<R>", rstrip=True)])
    word, left, right = (tokenizer.token_to_id(t) for t in ("<W>", "<L>", "<R>"))
    for c in map(chr, code_points_of_interest(bits)):
        is_word, is_space = bool(bits[ord(c)] & table.WORD), bool(bits[ord(c)] & table.STRIP_SPACE)
        assert (word not in tokenizer.encode(f"<W>{c}").ids) == is_word, hex(ord(c))
        assert (word not in tokenizer.encode(f"{c}<W>").ids) == is_word, hex(ord(c))
        assert (tokenizer.encode(f"{c}<L>").ids == [left]) == is_space, hex(ord(c))
        assert (tokenizer.encode(f"<R>{c}").ids == [right]) == is_space, hex(ord(c))


def test_normalization_bits_asked_alone(bits: np.ndarray) -> None:
    involved = np.flatnonzero(bits & (table.NFC_CHANGES | table.NFC_FOLLOWS | table.DECOMPOSES)).tolist()
    for c in [*code_points_of_interest(bits), *involved[::3]]:
        assert (NFC.normalize_str(chr(c)) != chr(c)) == bool(bits[c] & table.NFC_CHANGES), hex(c)
        assert (NFD.normalize_str(chr(c)) != chr(c)) == bool(bits[c] & table.DECOMPOSES), hex(c)


def test_a_character_that_does_not_follow_is_left_alone(bits: np.ndarray) -> None:
    """Nothing before a character without NFC_FOLLOWS takes part in its normalization."""
    rng = random.Random(2)
    follows = np.flatnonzero(bits & table.NFC_FOLLOWS).tolist()
    involved = np.flatnonzero(bits & (table.NFC_CHANGES | table.DECOMPOSES)).tolist() + follows
    free = [c for c in {*involved, *code_points_of_interest(bits)} if not bits[c] & table.NFC_FOLLOWS]
    for _ in range(20_000):
        before = "".join(chr(rng.choice(involved)) for _ in range(rng.randint(1, 3)))
        after = chr(rng.choice(free)) + "".join(chr(rng.choice(follows)) for _ in range(rng.randint(0, 2)))
        assert NFC.normalize_str(before + after) == NFC.normalize_str(before) + NFC.normalize_str(after)


def test_compose_pairs_are_all_pairs(fresh: CharacterClasses, bits: np.ndarray) -> None:
    """Every first of a pair with every second of a pair (one jamo in seven), and many others that do not compose."""
    pairs = {(a, b) for a, b in fresh.compose_pairs.tolist()}
    assert {(ord("e"), 0x301), (0x1100, 0x1161), (0xAC00, 0x11A8)} <= pairs
    assert (ord("ê"), 0x323) in pairs, "the mark that sorts before is composed too"
    rng = random.Random(3)
    firsts = [a for a in {a for a, _ in pairs} if not 0xAC00 <= a < 0xD7A4]
    firsts += rng.sample(range(0xAC00, 0xD7A4), 100) + rng.sample(code_points_of_interest(bits), 300)
    seconds = {b for _, b in pairs} | {int(c) for c in np.flatnonzero(bits & table.NFC_FOLLOWS)}
    stable = [b for b in sorted(seconds) if not bits[b] & table.NFC_CHANGES]
    firsts = [a for a in firsts if a != 10 and not bits[a] & table.NFC_CHANGES]
    questions = [(a, b) for a, b in product(firsts, stable)]
    answers = oracle.normalize_each("NFC", [chr(a) + chr(b) for a, b in questions])
    for question, answer in zip(questions, answers, strict=True):
        assert (len(answer) == 1) == (question in pairs), tuple(map(hex, question))


def contraction_matches(pattern: str, form: str) -> set[str]:
    """Non-ASCII characters c for which the pattern covers all of `form` with c in place of `_`."""
    characters = oracle.to_text(oracle.SCALAR_VALUES[oracle.SCALAR_VALUES >= 0x80])
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    matches = set()
    for first in range(0, len(characters), 1 << 14):
        lines = [form.replace("_", c) for c in characters[first : first + (1 << 14)]]
        kept = split.pre_tokenize_str("\n".join(lines))
        left_of = np.cumsum([0, *(len(line) + 1 for line in lines)])
        text_kept = np.zeros(int(left_of[-1]), dtype=bool)
        for _, (start, stop) in kept:
            text_kept[start:stop] = True
        covered = np.add.reduceat(text_kept, left_of[:-1]) == 1  # only the newline is left
        covered[-1] = not text_kept[left_of[-2] : left_of[-1] - 1].any()
        matches |= {characters[first + i] for i in np.flatnonzero(covered)}
    return matches


@pytest.mark.parametrize(
    ("contraction", "forms"),
    [
        (c, [f"'{c[:i]}_{c[i + 1 :]}" for i in range(len(c))] + ["'_", f"_{c}", "_"])
        for c in tier.pick(["s"], ["s", "t", "re", "ve", "m", "ll", "d"])
    ],
)
def test_only_the_long_s_folds_into_a_contraction(contraction: str, forms: list[str]) -> None:
    for form in dict.fromkeys(forms):
        expected = {"\u017f"} if (contraction, form) == ("s", "'_") else set()
        assert contraction_matches(f"(?i:'{contraction})", form) == expected, form


def test_byte_level_alphabet_is_that_of_the_reference() -> None:
    alphabet = byte_level.alphabet()
    assert len(set(alphabet)) == 256
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())
    text = "".join(
        map(chr, [*range(0x800), *range(0x800, 0xD800, 64), 0xE000, 0xF000, *range(0x10000, 0x110000, 4096)])
    )
    byte_level_step = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ((stand_ins, _),) = byte_level_step.pre_tokenize_str(text)
    data = text.encode()
    assert stand_ins == "".join(alphabet[byte] for byte in data)
    assert len(set(data)) == 256 - 13, "all bytes that UTF-8 can contain"


def test_byte_classes_are_the_classes_of_the_stand_ins() -> None:
    steps = {
        byte_level.NUMERIC: pre_tokenizers.Digits(individual_digits=True),
        byte_level.PUNCTUATION: pre_tokenizers.Punctuation(behavior="isolated"),
    }
    # "a" is in neither class: what is between two of them is split off exactly if it is in the class.
    expected = bytes(
        sum(kind for kind, step in steps.items() if len(step.pre_tokenize_str(f"a{c}a")) > 1)
        for c in byte_level.alphabet()
    )
    assert byte_level.byte_classes() == expected
    assert expected[ord("7")] == byte_level.NUMERIC
    assert expected[ord("!")] == byte_level.PUNCTUATION


class TestLoadOfAnUnknownVersion:
    @pytest.fixture(autouse=True)
    def unknown_version(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        known = load.character_classes()
        self.derivations = 0
        self.cache_file = tmp_path / "lopt_plugin" / f"table_0.0.0_{CharacterClasses.FORMAT}.npz"

        def derive_quickly() -> CharacterClasses:
            self.derivations += 1
            return replace(known, tokenizers_version="0.0.0")

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(tokenizers, "__version__", "0.0.0")
        monkeypatch.setattr("lopt_plugin.unicode_tables.derive.classes.derive", derive_quickly)
        self.load = load.character_classes.__wrapped__  # without the cache of this process

    def test_derives_once_and_keeps_it(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO"):
            first = self.load()
            second = self.load()
        assert self.derivations == 1
        assert tables.equal(second, first)
        assert [r.levelname for r in caplog.records] == ["INFO"]
        assert "0.0.0" in caplog.text
        assert [p.name for p in self.cache_file.parent.iterdir()] == [self.cache_file.name]

    def test_the_normalizer_table_is_stored_beside_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lopt_plugin.unicode_tables.derive.normalizers.derive", classes.derive)
        load_table = load.normalizer_classes.__wrapped__
        first = load_table()
        assert tables.equal(load_table(), first)
        assert self.derivations == 1
        assert [p.name for p in self.cache_file.parent.iterdir()] == [
            f"normalizers_0.0.0_{CharacterClasses.FORMAT}.npz"
        ]

    def test_cache_folder_that_cannot_be_written(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(file))
        assert tables.equal(self.load(), self.load())
        assert self.derivations == 2

    def test_without_a_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_home() -> Path:
            raise RuntimeError("no home")

        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setattr(Path, "home", no_home)
        assert self.load().tokenizers_version == "0.0.0"

    @pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "version", "format", "shape"])
    def test_damaged_file_is_ignored_and_rewritten(self, damage: str) -> None:
        good = self.load()
        data = self.cache_file.read_bytes()
        middle = len(data) // 2
        if damage == "version":
            replace(good, tokenizers_version="9.9").write(self.cache_file)
        elif damage == "format":
            np.savez(self.cache_file, format=99, tokenizers_version="0.0.0")
        elif damage == "shape":
            replace(good, cells=good.cells[:-1]).write(self.cache_file)
        else:
            flipped = bytes(b ^ 0xFF for b in data[middle : middle + 16])
            broken = {"empty": b"", "text": b"no table", "cut": data[:middle]}
            self.cache_file.write_bytes(broken.get(damage, data[:middle] + flipped + data[middle + 16 :]))
        assert tables.equal(self.load(), good)
        assert self.derivations == 2
        assert tables.equal(self.load(), good)
        assert self.derivations == 2
