"""BPE over characters with U+2581 for the space (Llama 2, Mistral, Phi 3, Gemma): what byte-level models do not have.

Hard texts, documents, chunks and threads are in the tests of the native core, which these tokenizers take part in.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterable
from typing import Any

import corpus
import native_cores
import pytest
import random_sentencepiece
import strategies
import tier
from hypothesis import given, strategies as st
from native_cores import core_of, different, expected
from random_sentencepiece import BYTE_TOKENS, PREPEND, REPLACE, SIGN
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from lopt_plugin.pipeline import Unsupported, describe, read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

NAMES = sorted(name for name in native_cores.SENTENCEPIECE if name in native_cores.ALL)
SMALL = [name for name in NAMES if name.startswith("tiny_")]


def _check_random_tokenizers(seeds: Iterable[int]) -> None:
    checked = 0
    for seed in seeds:
        rng = random.Random(f"sentencepiece {seed}")
        made = random_sentencepiece.random_tokenizer(rng)
        try:
            core = core_of(made.tokenizer)
        except Unsupported as unsupported:
            if "two added tokens have the content" not in str(unsupported):
                raise
            continue
        checked += 1
        texts = made.texts(rng, 30)
        for text, ids in zip(texts, expected(made.tokenizer, texts), strict=True):
            found = {
                "new": core.encode(text),
                "cached": core.encode(text),
                "chunks": core.encode(text, rng.randint(1, 8), rng.randint(1, 20)),
            }
            assert (seed, text, found) == (seed, text, dict.fromkeys(found, ids))
            word = text.replace(SIGN, " ").encode()
            assert (seed, text, core.encode_word(word, True)) == (seed, text, core.encode_word(word, False))
    assert checked


@pytest.mark.parametrize("part", range(4))
def test_random_tokenizers(part: int) -> None:
    count = tier.pick(80, 250)
    _check_random_tokenizers(range(part * count, part * count + count))


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_more_random_tokenizers(part: int) -> None:
    _check_random_tokenizers(range(1000 + part * 2000, 3000 + part * 2000))


def test_cut_of_random_tokenizers() -> None:
    """A prefix with so many ids is the longest one, however the counts of prefixes rise and fall."""
    falls = 0
    for seed in range(tier.pick(150, 5_000)):
        rng = random.Random(f"cut {seed}")
        tokenizer = random_sentencepiece.random_tokenizer(rng).tokenizer if seed % 2 else _with_runs_of_spaces(rng)
        try:
            core = core_of(tokenizer)
        except Unsupported:
            continue
        parts = [*"ab. x", *sorted(tokenizer.get_vocab())]
        few = rng.sample(parts, rng.randint(1, 4))
        text = "".join(rng.choice(few) * rng.choice([1, 1, 2, 9]) for _ in range(rng.randint(1, 40))).replace(
            SIGN, " "
        )[:150]
        counts = [len(core.encode(text[:end])) for end in range(len(text) + 1)]
        falls += any(after < before for before, after in itertools.pairwise(counts))
        for most in {0, rng.randint(0, max(counts)), rng.randint(0, max(counts)), max(counts)}:
            longest = max(end for end, count in enumerate(counts) if count <= most)
            assert (seed, text, most, core.cut(text, most, False, 1)) == (seed, text, most, longest)
    assert falls


def _with_runs_of_spaces(rng: random.Random) -> Tokenizer:
    """Merges of spaces, of words and of a space and a word, each kind early or late; runs of some lengths only."""
    words = [["a", "b"], ["ab", "a"], ["a", "."]]
    crossing = [
        [SIGN, "a"],
        [SIGN, "ab"],
        [SIGN, "."],
        *([["x", SIGN], [f"x{SIGN}", "a"]] if rng.random() < 0.3 else []),
    ]
    if rng.random() < 0.2:
        crossing += [[SIGN * 2, "a"]]
    longest = rng.choice([2, 3, 4, 7, 16])
    runs = [[SIGN * k, SIGN * (n - k)] for n in range(2, longest + 1) for k in range(1, n)]
    if rng.random() < 0.5:
        runs = [run for run in runs if len(run[0]) == len(run[1]) or rng.random() < 0.5]
    order = rng.choice([sorted, reversed, lambda some: rng.sample(some, len(some))])
    kinds = [words, crossing, [*order(runs)]]
    rng.shuffle(kinds)
    merges = [tuple(merge) for kind in kinds for merge in kind]
    for _ in range(rng.choice([0, 0, 3])):
        merges.insert(rng.randrange(len(merges)), merges.pop(rng.randrange(len(merges))))
    parts = {part for merge in merges for part in merge}
    makeable = {SIGN, "a", "b", ".", "x"}
    for _ in range(20):
        makeable |= {left + right for left, right in merges if left in makeable and right in makeable}
    merges = [merge for merge in merges if set(merge) <= makeable]
    names = dict.fromkeys(["<unk>", *sorted(makeable & (parts | {"a", "b", ".", "x", SIGN}) | makeable)])
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = rng.choice([REPLACE, normalizers.Sequence([PREPEND, REPLACE])])
    return tokenizer


def test_runs_of_spaces() -> None:
    """Whether a run goes with the word after it depends on ranks and on its length, chunk ends in it or not."""
    separate = 0
    seeds = tier.pick(100, 400)
    for seed in range(seeds):
        rng = random.Random(f"blanks {seed}")
        tokenizer = _with_runs_of_spaces(rng)
        core = core_of(tokenizer)
        starts, ends = ["", "a", "x", "?", "b", "."], ["", "a", "ab", ".", "?", "x", "b"]
        lengths = [*range(1, 20), 31, 32, 33, 60, 61, 62, 63, 64, 65, 130]
        texts = [x + " " * n + y for x in starts for n in rng.sample(lengths, 8) for y in ends]
        texts += ["".join(rng.choices([*starts, *(" " * n for n in rng.sample(lengths, 3))], k=40)) for _ in range(10)]
        for text, ids in zip(texts, expected(tokenizer, texts), strict=True):
            chunk = rng.randint(1, 40)
            found = (core.encode(text), core.encode(text, 2, chunk))
            assert (seed, text, chunk, found) == (seed, text, chunk, (ids, ids))
        separate += core.pre_tokens("b  a").tolist() == [[0, 1], [1, 3], [3, 4]]
    assert seeds / 8 < separate < seeds * 7 / 8


def _with_runs_as_added_tokens(rng: random.Random) -> Tokenizer:
    """Runs of newlines and tabs as added tokens, not of all lengths that BPE makes, some with flags or neighbours."""
    names = dict.fromkeys(["<unk>", "\n", "\t", "a", "b", SIGN, "ab", f"{SIGN}a"])
    merges = [("a", "b"), (SIGN, "a")]
    for character in "\n\t":
        for n in range(2, rng.choice([2, 3, 6, 20])):
            k = rng.randint(1, n - 1)
            if character * k in names and character * (n - k) in names:
                merges.insert(rng.randint(0, len(merges)), (character * k, character * (n - k)))
                names[character * n] = None
    if rng.random() < 0.2:
        merges.insert(rng.randint(0, len(merges)), rng.choice([("\n", "a"), ("b", "\n"), ("\n", "\t"), ("\n", SIGN)]))
    for left, right in merges:
        names[left + right] = None
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", fuse_unk=rng.random() < 0.5))
    tokenizer.normalizer = rng.choice([REPLACE, REPLACE, normalizers.Sequence([PREPEND, REPLACE])])
    tokens = [AddedToken("<b>", normalized=rng.random() < 0.2, lstrip=rng.random() < 0.1, rstrip=rng.random() < 0.1)]
    for character in rng.choice(["\n", "\t", "\n\t"]):
        most = rng.choice([1, 2, 5, 19])
        tokens += [AddedToken(character * n, normalized=False) for n in range(1, most + 1) if rng.random() < 0.97]
    if rng.random() < 0.1:
        tokens.append(AddedToken("\n<b>", normalized=False))
    tokenizer.add_tokens(tokens)
    if rng.random() < 0.1:
        tokenizer.add_special_tokens([AddedToken("\n", normalized=False)])
    return tokenizer


def test_runs_as_added_tokens() -> None:
    """Those that are pieces anyway stay in their stretch, others bound it."""
    for seed in range(300):
        rng = random.Random(f"runs {seed}")
        tokenizer = _with_runs_as_added_tokens(rng)
        core = core_of(tokenizer)
        runs = [character * n for character in "\n\t" for n in (1, 1, 2, 3, 5, 6, 19, 20, 21, 45)]
        parts = ["a", "b", "ab", " ", "  ", "<b>", "<", "?", "é", *runs]
        texts = ["".join(rng.choices(parts, k=rng.randint(1, 40))) for _ in range(12)]
        for text, ids in zip(texts, expected(tokenizer, texts), strict=True):
            chunk = rng.randint(1, 40)
            found = (core.encode(text), core.encode(text, 2, chunk))
            assert (seed, text, chunk, found) == (seed, text, chunk, (ids, ids))


@pytest.mark.parametrize("name", NAMES)
def test_spaces_and_signs(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    contents = [token.content for token in reference.get_added_tokens_decoder().values()][:20]
    pieces = [
        " ",
        SIGN,
        "  ",
        "\n",
        "\t",
        "\u3000",
        "\xa0",
        "a",
        "the",
        "\u2580",
        "\u2582",
        "\u4e2d",
        "\U0001f600",
        "<unk>",
    ]
    texts = ["".join(some) for length in (0, 1, 2, 3) for some in itertools.product(pieces, repeat=length)]
    texts += [x * n for x in (" ", SIGN, f" {SIGN}", " a", f"{SIGN}a", "a ") for n in (5, 63, 64, 65, 130)]
    texts += [a + token + b + "x" for token in contents for a in pieces for b in pieces]
    texts += [
        a + token + other + b for token in contents for other in contents[:8] for a in pieces[:4] for b in pieces[:4]
    ]
    assert different(core, reference, texts) == []


@pytest.mark.parametrize("name", ["tiny_llama2", "tiny_metaspace_first"])
def test_every_code_point_in_context(name: str) -> None:
    _check_every_code_point(name)


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in ("llama2", "gemma3") if name in NAMES])
def test_every_code_point_in_context_of_large_tokenizers(name: str) -> None:
    _check_every_code_point(name)


def _check_every_code_point(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    code_points = [chr(c) for c in range(0, 0x110000, tier.pick(5, 1)) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(code_points), 100_000):
        some = code_points[start : start + 100_000]
        texts = ["".join(f"a{c}b {c}{c} {SIGN}{c}" for c in some[k : k + 200]) for k in range(0, len(some), 200)]
        texts += some[::97]
        assert different(core, reference, texts) == []


@given(text=strategies.texts(), chunk_chars=st.integers(1, 100))
@pytest.mark.parametrize("name", SMALL)
def test_any_text_with_spaces_spelled_out(name: str, text: str, chunk_chars: int) -> None:
    core, reference = native_cores.core_and_reference(name)
    text = text.replace("a", SIGN).replace("\n", "  ")
    (ids,) = expected(reference, [text])
    assert core.encode(text) == core.encode(text, 3, chunk_chars) == ids


@pytest.mark.parametrize("name", [name for name in NAMES if name != "tiny_metaspace"])  # that one is split as well
def test_pieces_are_encoded_by_themselves(name: str) -> None:
    """What the core takes for pieces of a stretch: the reference's model gives for all what it gives for each."""
    core, reference = native_cores.core_and_reference(name)
    for kind in corpus.corpora():
        (text,) = corpus.texts(kind, 3_000)[:1]
        stretch = text.replace(SIGN, " ").encode()
        pieces = [stretch[a:b] for a, b in core.pre_tokens(stretch.decode())]
        assert b"".join(pieces) == stretch
        tokenize = reference.model.tokenize
        joined = [token.id for piece in pieces for token in tokenize(piece.decode().replace(" ", SIGN))]
        assert joined == [token.id for token in tokenize(stretch.decode().replace(" ", SIGN))]


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_characters_of_three_bytes(name: str) -> None:
    """Long ones take another way: known and unknown characters, ends of each kind, places that are no cut."""
    core, reference = native_cores.core_and_reference(name)
    rng = random.Random(name)
    known = [c for c in reference.get_vocab() if len(c) == 1 and 0x800 <= ord(c) < 0x10000 and c != SIGN]
    alphabets = [known, "\u9f98\u9f97\u4e02\ufffd", "\u1200\u1201\uac01", "".join(map(chr, range(0x4E00, 0x4E80)))]
    around = ["", " ", "a", "\u00e9", "\U0001f600", "\n", SIGN, "1"]
    texts = []
    for _ in range(600):
        runs = ["".join(rng.choices(rng.choice(alphabets), k=rng.choice([1, 7, 8, 9, 10, 30, 300]))) for _ in range(4)]
        texts.append("".join(rng.choice(around) + run for run in runs) + rng.choice(around))
    for text, ids in zip(texts, expected(reference, texts), strict=True):
        chunk = rng.choice([1, 3, 50, 1000])
        assert (text, core.encode(text), core.encode(text, 2, chunk)) == (text, ids, ids)
    long = "".join(rng.choices([*alphabets[3], *alphabets[1]], k=5_000))
    assert different(core, reference, [long, long[:1025], long[:1024] + "a"]) == []


VOCABULARY = {name: number for number, name in enumerate(["<unk>", "a", "b", SIGN, "ab", f"{SIGN}a", *BYTE_TOKENS])}
MERGES = [("a", "b"), (SIGN, "a")]


def _tokenizer(**changes: Any) -> Tokenizer:
    options = {"vocab": VOCABULARY, "merges": MERGES, "unk_token": "<unk>", "byte_fallback": True}
    components = {key: changes.pop(key) for key in ("normalizer", "pre_tokenizer") if key in changes}
    tokenizer = Tokenizer(models.BPE(**{**options, **changes}))
    for name, component in {"normalizer": REPLACE, **components}.items():
        setattr(tokenizer, name, component)
    return tokenizer


def _without(*names: str) -> dict[str, int]:
    return {name: number for name, number in VOCABULARY.items() if name not in names}


def _chain_that_never_begins(length: int) -> dict[str, Any]:
    """Each merge needs what the one before makes, and the first one needs "bc", which nothing makes."""
    names = ["bc" + "a" * n for n in range(length + 1)]
    return {
        "vocab": {**VOCABULARY, "c": 901, **{name: 1000 + n for n, name in enumerate(names)}},
        "merges": [*((name, "a") for name in names[:-1]), *MERGES],
    }


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("lacks U\\+2581", {"vocab": _without(SIGN, f"{SIGN}a"), "merges": MERGES[:1]}),
        ("lacks some byte tokens", {"vocab": _without("<0x63>")}),
        ("lacks some byte tokens", {"vocab": _without("<0xE4>")}),
        ("would be dropped", {"unk_token": None, "byte_fallback": False}),
        ("would be dropped", {"unk_token": None, "vocab": _without(*BYTE_TOKENS)}),
        ("lacks the unknown token", {"vocab": _without("<unk>"), "byte_fallback": False}),
        (
            "names the unknown token",
            {"vocab": {**VOCABULARY, "<unk>a": 900}, "merges": [("<unk>", "a")], "byte_fallback": False},
        ),
        ("no merge makes", _chain_that_never_begins(16)),
        ("byte token", {"vocab": {**VOCABULARY, "<0x63>a": 900}, "merges": [("<0x63>", "a")]}),
        ("byte token", {"vocab": {**VOCABULARY, "<": 900, "0x63>": 901}, "merges": [("<", "0x63>")]}),
    ],
)
def test_arguments_that_a_core_refuses(reason: str, changes: dict[str, Any]) -> None:
    pipeline = read_pipeline(_tokenizer(**changes))
    with pytest.raises(Unsupported, match=reason):
        NativeRoute(pipeline, Settings.read({}, threads=1, prefix_cache_mb=0))


METASPACE = pre_tokenizers.Metaspace


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("ignore_merges over characters", {"ignore_merges": True}),
        ("no ByteLevel step", {"normalizer": PREPEND}),
        ("no ByteLevel step", {"normalizer": normalizers.Replace(" ", "_")}),
        ("no ByteLevel step", {"normalizer": normalizers.Replace(Regex(" "), SIGN)}),
        ("no ByteLevel step", {"normalizer": normalizers.Sequence([normalizers.Prepend("_"), REPLACE])}),
        ("no ByteLevel step", {"normalizer": normalizers.Sequence([REPLACE, normalizers.Lowercase()])}),
        ("Metaspace with '_'", {"normalizer": None, "pre_tokenizer": METASPACE("_")}),
        (
            "after normalizer Prepend",
            {
                "normalizer": normalizers.Sequence([PREPEND, REPLACE]),
                "pre_tokenizer": METASPACE(prepend_scheme="first"),
            },
        ),
        ("Metaspace after normalizer Replace", {"pre_tokenizer": pre_tokenizers.Sequence([METASPACE(), METASPACE()])}),
        (
            "Metaspace is not",
            {"normalizer": None, "pre_tokenizer": pre_tokenizers.Sequence([METASPACE(), METASPACE()])},
        ),
        ("Split after normalizer Replace", {"pre_tokenizer": pre_tokenizers.Split("a", "isolated")}),
        ("Split after normalizer Replace", {"pre_tokenizer": pre_tokenizers.Split(" ", "removed", invert=True)}),
        ("Whitespace after normalizer Replace", {"pre_tokenizer": pre_tokenizers.Whitespace()}),
    ],
)
def test_unsupported_pipelines_give_a_reason(reason: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match=re.escape(reason)):
        read_pipeline(_tokenizer(**changes))


def test_descriptions() -> None:
    first = METASPACE(prepend_scheme="first", split=False)
    described = [
        describe(read_pipeline(tokenizer))  # type: ignore[arg-type]
        for tokenizer in (
            _tokenizer(normalizer=normalizers.Sequence([PREPEND, REPLACE])),
            _tokenizer(normalizer=None, pre_tokenizer=first, byte_fallback=False, fuse_unk=True),
        )
    ]
    assert described[0]["normalizer"] == "spaces as U+2581, prefix space"
    assert described[0]["model"] == "BPE over characters, 262 entries, unknown characters as bytes"
    assert described[1]["scanner"] == "vocabulary_cuts, Metaspace with prepend first"
    assert described[1]["model"] == "BPE over characters, 262 entries, unknown characters as <unk>, fused"


def test_entries_with_spaces_never_match() -> None:
    """The text's spaces are signs by then."""
    vocabulary = {**VOCABULARY, " ": 900, " a": 901, "a ": 902}
    tokenizer = _tokenizer(vocab=vocabulary, merges=[(" ", "a"), ("a", " "), *MERGES])
    assert different(core_of(tokenizer), tokenizer, ["a a", " a", "a ", " ", "ab a b"]) == []


@pytest.mark.parametrize("length", [1, 2, 15])
def test_merges_that_never_happen(length: int) -> None:
    """Baichuan 2 has one: of an entry that no merge makes."""
    tokenizer = _tokenizer(**_chain_that_never_begins(length))
    texts = ["bca", "bcaa", "abca", "bc", "b c a", "bcab", "aabcaaabab", *("bc" + "a" * n for n in range(20))]
    assert different(core_of(tokenizer), tokenizer, texts) == []


def test_an_added_token_whose_spaces_the_one_before_has_taken() -> None:
    """The reference drops it where nothing of it is left, and panics where more was taken."""
    tokenizer = _tokenizer()
    tokens = [AddedToken("<r>", rstrip=True, normalized=False), AddedToken(" ", lstrip=True, normalized=False)]
    tokenizer.add_tokens([*tokens, AddedToken("\n", lstrip=True, rstrip=True, normalized=False)])
    texts = ["<r> a", "<r>a", "<r> ", "a<r> <r> b", "<r>\n", "\n\n", "a\n\nb", "a  b", "   ", "a  "]
    assert different(core_of(tokenizer), tokenizer, texts) == []


def test_long_runs_are_encoded_in_linear_time_and_alike_in_chunks() -> None:
    """A megabyte without a cut, or all cuts."""
    length = tier.pick(300_000, 1_000_000)
    letters = "".join(random.Random(1).choices("abcdefghij", k=length))
    runs = [c * length for c in (" ", "a", "e", "\n", "1", "\u4e2d", "\u9f98", "\U0001f600", SIGN)]
    for name in SMALL:
        core, reference = native_cores.core_and_reference(name)
        for text in (*runs, letters, letters.replace("e", " "), "\u4e2d\u6587" * (length // 3)):
            ids = core.encode_array(text)
            for threads, chunk_chars in ((2, 0), (8, 100_003)):
                assert (core.encode_array(text, threads, chunk_chars) == ids).all()
        assert different(core, reference, [text[:3000] for text in (*runs, letters)]) == []


def test_the_encoder_takes_the_native_route() -> None:
    from lopt_plugin.encoder.encoder import Encoder

    for name in SMALL:
        backend = corpus.load_tokenizer(name)
        encoder = Encoder(backend, Settings.read({}, threads=2, parallel_min_chars=100, chunk_chars=30))
        assert encoder.explain()["route"] == "native", encoder.explain()["reason"]
        for text in ("", " ", "some words", " some  words " * 30, "\u4e2d\u6587 " * 90):
            assert encoder.encode_list(text) == backend.encode(text).ids
        assert json.dumps(encoder.explain()["pipeline"])
