"""WordPiece natively, against the reference: ids compared with ==."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

import corpus
import native_cores
import numpy as np
import pytest
import strategies
import tier
import word_pieces
from hypothesis import given, strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers
from word_pieces import ALL_OPTIONS, DEFAULT, SlowWordPiece, different, of_characters, tokenizer_with

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.pipeline import BertOptions, Unsupported, describe, read_pipeline
from lopt_plugin.settings import Settings
from lopt_plugin.unicode_tables import bert as words, load

SAMPLE = 100_000
ALL_CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CONTEXTS = (
    "{c}",
    "a{c}b",
    "a {c} b",
    "{c}{c}",
    "a{c}{c}b",
    "e\u0301{c}\u0301",
    "\u0300{c}\u0327a\u0316",
    "!{c}!",
    "\u4e2d{c}\u4e2d",
    "\U0001d165{c}\u1b44",
    "\u1b44{c}\U0001d165",
    "\t{c}\u200d\n",
)
# Characters with a combining class that are not stripped, and what may stand in their way.
MOVABLE = "\u1b44\u1baa\u302e\u302f\ua953\U0001d165\U0001d16d\U0001d15e\u0301\u0327\u0345\u034f\u05b0\u200d\x00\ufffd"

# Each option both ways, each pair of them in most ways.
SOME_OPTIONS = [
    None,
    DEFAULT,
    BertOptions(True, False, False, True),
    BertOptions(False, True, True, False),
    BertOptions(False, False, None, False),
]


def name_of(options: BertOptions | None) -> str:
    return "plain" if options is None else words.file_name(options, "bert", "")[len("words__1_bert_") : -len(".npz")]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is derived here stays in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", params=word_pieces.ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=tier.pick(SOME_OPTIONS, [None, *ALL_OPTIONS]), ids=name_of)
def options(request: pytest.FixtureRequest) -> BertOptions | None:
    found: BertOptions | None = request.param
    return found


def characters_of_interest() -> list[str]:
    """All that the default options change or divide at, but of large blocks of a kind only some, and random ones."""
    rng = random.Random(1)
    bits = load.word_characters(DEFAULT).bits()
    blocks = [range(0x3400, 0xA000), range(0xAC00, 0xD7A4), range(0xE000, 0xFB00), range(0x1F000, 0x110000)]
    large = {c for block in blocks for c in block}
    rare = [int(c) for c in np.flatnonzero(bits) if int(c) not in large and not 0xD800 <= c < 0xE000]
    some = [c for block in blocks for c in rng.sample(block, 80)]
    return [chr(c) for c in sorted({*range(0x180), *rare, *some})]


def test_interesting_characters_in_contexts(options: BertOptions | None) -> None:
    interesting = characters_of_interest()
    tokenizer = of_characters(options, [*interesting, *"".join(CONTEXTS)])
    core = word_pieces.core_of(tokenizer)
    for context in CONTEXTS if options == DEFAULT else CONTEXTS[:: tier.pick(3, 1)]:
        # Side by side, divided by letters between spaces, and each by itself.
        in_context = [context.replace("{c}", c) for c in interesting]
        joined = [" a ".join(in_context[k : k + 50]) for k in range(0, len(in_context), 50)]
        assert different(tokenizer, joined, core) == []
        assert different(tokenizer, random.Random(context).sample(in_context, 60), core) == []


@pytest.mark.parametrize("some", [DEFAULT, BertOptions(True, True, None, False)], ids=name_of)
def test_every_code_point_in_contexts(some: BertOptions) -> None:
    every = ALL_CHARACTERS[:: tier.pick(13, 1)]
    for start in range(0, len(every), 100_000):
        characters = every[start : start + 100_000]
        tokenizer = of_characters(some, [*characters, *"".join(CONTEXTS)])
        core = word_pieces.core_of(tokenizer)
        in_context = [
            " ".join(f"{c} a{c}b {c}{c} e\u0301{c}\u0301" for c in characters[k : k + 100])
            for k in range(0, len(characters), 100)
        ]
        assert different(tokenizer, in_context, core) == []


@pytest.mark.deep
def test_images_of_every_code_point(options: BertOptions | None) -> None:
    """Normalized text made of images, for every code point among neighbours that must not matter."""
    slow = SlowWordPiece(options, tokenizer_with(options, ["a"]))
    normalize = options.normalizer().normalize_str if options is not None else str
    for start in range(0, len(ALL_CHARACTERS), 1000):
        text = "".join(f"{c}x{c}" for c in ALL_CHARACTERS[start : start + 1000])
        assert slow.normalize(text) == normalize(text)


def test_order_of_characters(options: BertOptions | None) -> None:
    bits = load.word_characters(DEFAULT).bits()
    movable = MOVABLE + "".join(map(chr, np.flatnonzero(bits & words.REORDERED)))
    tokenizer = of_characters(options, movable + "aA\u00e9!\u4e2d")
    rng = random.Random(2)
    texts = [
        "".join(rng.choices(movable + MOVABLE * 4 + "aA\u00e9! \u4e2d", k=rng.randint(1, 40))) for _ in range(2000)
    ]
    texts += ["".join(rng.choices(MOVABLE, k=5_000)) for _ in range(2)]
    assert different(tokenizer, texts) == []
    slow = SlowWordPiece(options, tokenizer)
    assert [t for t in texts[:500] if slow.encode(t) != tokenizer.encode(t).ids] == []


@pytest.mark.parametrize("family", corpus.conformance_families())
def test_hard_texts(name: str, family: str) -> None:
    core, reference = word_pieces.core_and_reference(name)
    for seed in range(tier.pick(1, 3)):
        texts = corpus.conformance(family, seed)
        expected = native_cores.expected(reference, texts)
        for threads, chunk in ((1, 0), (2, 300), (3, 17)):
            found = [core.encode(text, threads, chunk) for text in texts]
            assert [t for t, a, b in zip(texts, found, expected, strict=True) if a != b][:3] == []


@pytest.mark.parametrize("family", corpus.conformance_families())
def test_hard_texts_by_other_options(options: BertOptions | None, family: str) -> None:
    texts = [text[:2000] for text in corpus.conformance(family, 7)[:60]]
    assert different(of_characters(options, "".join(texts)), texts) == []


@pytest.mark.parametrize("kind", corpus.corpora())
def test_documents(name: str, kind: str) -> None:
    core, reference = word_pieces.core_and_reference(name)
    rng = random.Random(name + kind)
    documents = corpus.texts(kind, 10**9 if name in word_pieces.LARGE else 10 * SAMPLE)
    some = [d[:20_000] for d in rng.sample(documents, min(len(documents), 100))]
    taken = list(
        itertools.takewhile(lambda pair: pair[1] < SAMPLE, zip(some, itertools.accumulate(map(len, some)), strict=True))
    )
    assert different(reference, [text for text, _ in taken] or [some[0][:SAMPLE]], core) == []


def test_the_slow_way_is_the_reference(options: BertOptions | None) -> None:
    texts = [
        text
        for family in corpus.conformance_families()
        for text in corpus.conformance(family, 3)[:30]
        if len(text) < 3000
    ]
    vocabulary = corpus.load_tokenizer("wordpiece_uncased").get_vocab()
    tokenizer = tokenizer_with(options, sorted(vocabulary, key=vocabulary.__getitem__))
    slow, core = SlowWordPiece(options, tokenizer), word_pieces.core_of(tokenizer)
    assert [text for text in texts if slow.encode(text) != core.encode(text)] == []


SHORT_TEXTS = [
    "Hello, world! It's 12345.67",
    "na\u00efve cafe\u0301 \u0130stanbul \u1e9e\u00df \u039f\u0394\u039f\u03a3 \u03a3",
    "\u4f60\u597d\uff0c\u4e16\u754cabc\u3002 \uc548\ub155\ud558\uc138\uc694",
    "x" * 99 + " " + "x" * 100 + "," + "x" * 101 + "\u0301" * 40 + "x",
    "a\x00b\u200dc\ufffdd\x0be\x1cf\u2028g\u3000h\xa0i\x85j\tk\r\nl",
    "a\U0001d165\u1b44\u0301\u302e b\U0001d160\u1baa\x00\u1b44c",
    "[CLS] a [MASK][SEP]b[UNK] [cls]",
    "a<|end|>b <|left|> <|right|>  <|both|>\n<|word|> x<|word|><|NORMALIZED|> lonely new \u4e2d token new\u4e2dtoken",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308",
    "   \t\n  ",
    "!?.,;:" * 5 + "\u0301\u0301",
]


@pytest.mark.parametrize("text", SHORT_TEXTS, ids=range(len(SHORT_TEXTS)))
def test_every_seam_of_short_texts(name: str, text: str) -> None:
    core, reference = word_pieces.core_and_reference(name)
    threads = itertools.cycle(range(1, 9))
    for before in ("", "a", "  ", "\u4e2d", "\u0301"):
        (ids,) = native_cores.expected(reference, [before + text])
        lengths = range(1, len((before + text).encode()) + 2)
        assert [k for k in lengths if core.encode(before + text, next(threads), k) != ids] == []


@given(text=strategies.texts(), threads=st.integers(1, 8), chunk=st.integers(0, 60))
@pytest.mark.parametrize("small", word_pieces.SMALL)
def test_any_text_in_any_chunks(small: str, text: str, threads: int, chunk: int) -> None:
    core, reference = word_pieces.core_and_reference(small)
    assert core.encode(text, threads, chunk) == reference.encode(text, add_special_tokens=False).ids


def test_long_text_in_chunks(name: str) -> None:
    core, reference = word_pieces.core_and_reference(name)
    text = "".join(corpus.texts("multi", 60_000) + corpus.texts("books_en", 60_000))
    (ids,) = native_cores.expected(reference, [text])
    rng = random.Random(name)
    for threads in range(1, 9):
        assert core.encode(text, threads) == core.encode(text, threads, rng.randint(500, 50_000)) == ids
        assert core.encode_array(text, threads, rng.randint(500, 50_000)).tolist() == ids


def test_places_of_lone_characters(name: str) -> None:
    """Characters that are words by themselves, in rows and between others that are not."""
    core, reference = word_pieces.core_and_reference(name)
    rng = random.Random(name)
    pieces = [*"\u4e2d\u56fd\uff0c\u3002\u201c\u2014\u2160\U00020000\U0001f600 \u3000a\u00e9\ufffd\u200b\uf900"]
    pieces += ["\u7684\u4eba", "\uac00\uac01", "\u0915\u093e", "the", "Zz9", "e\u0301"]
    for _ in range(400):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 25)))
        whole = reference.encode(text, add_special_tokens=False)
        assert core.encode_with_offsets(text, as_lists=True) == (whole.ids, whole.offsets), text


def test_arrays_and_batches_are_the_lists(name: str) -> None:
    core, _ = word_pieces.core_and_reference(name)
    texts = ["", *SHORT_TEXTS, *corpus.conformance(corpus.conformance_families()[-1], 3), ""]
    lists = [core.encode(text) for text in texts]
    assert [core.encode_array(text).tolist() for text in texts] == lists
    for threads in (1, 2, 5):
        ids, row_offsets = core.encode_batch(texts, threads)
        assert (ids.dtype, row_offsets.dtype, len(row_offsets)) == ("int32", "int64", len(texts) + 1)
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(row_offsets)] == lists


LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 98, 99, 100, 101, 102, 127, 128, 129, 1000, 20_000]


@pytest.mark.parametrize("longest", [1, 16, 100, 3_000])
def test_long_words(longest: int) -> None:
    """The limit counts normalized characters; what is removed does not count, what decomposes counts in parts."""
    alphabet = ["a", "A", "\u00e9", "e\u0301", "\uac01", "\u0130", "\x00a", "\U0001f600", "\u1e9e", "ab"]
    for options in tier.pick((DEFAULT, None), (DEFAULT, BertOptions(False, True, False, True), None)):
        tokenizer = of_characters(options, "".join(alphabet), max_input_chars_per_word=longest)
        core = word_pieces.core_of(tokenizer)
        lengths = [n for n in LENGTHS if n < 1000 or longest < 1000]  # the reference is quadratic below its limit
        texts = [around + piece * n + around for piece in alphabet for n in lengths for around in ("", " ", "a", "!")]
        assert different(tokenizer, texts, core) == []
        assert different(tokenizer, ["ab!".join(texts[:800])], core, threads=3, chunk_chars=1000) == []


def test_a_word_of_a_million_characters() -> None:
    core, reference = word_pieces.core_and_reference("bert_base_uncased")
    unknown = reference.token_to_id("[UNK]")
    for character in ("a", "\u00e9", "\uac00", "\U0001f600"):
        text = character * 1_000_000
        for threads, chunk in ((1, 0), (4, 0), (3, 100_003)):
            assert core.encode(text, threads, chunk) == [unknown]
        assert core.encode(f"a {text}!", 2) == [*core.encode("a"), unknown, *core.encode("!")]
    assert core.encode("\x00" * 1_000_000) == core.encode("\u0301" * 1_000_000, 4) == core.encode(" " * 3_000_000) == []


def test_random_vocabularies() -> None:
    for seed in range(tier.pick(80, 300)):
        rng = random.Random(f"vocabulary {seed}")
        alphabet = rng.choice(
            ["ab", "abcABC", "ab#_", "a\u00e9\u4e2d\U0001f600b", "\u0430\u0431\u0451\u0401ab", "aA1!\u0301"]
        )
        prefix = rng.choice(["##", "##", "", "_", "a", "\u0431", "b##"])
        longest = rng.choice([1, 2, 3, 5, 17, 100])
        names = {
            "".join(rng.choices(alphabet, k=rng.choice([1, 1, 2, 3, 5, 9, 17]))) for _ in range(rng.randint(1, 60))
        }
        entries = [prefix * rng.randint(0, 1) + name for name in names] + rng.choices([*alphabet, prefix, ""], k=3)
        options = rng.choice(
            [None, DEFAULT, BertOptions(True, True, None, False), BertOptions(True, True, False, True)]
        )
        # The limit is inside a word; prefixes of several kinds; entries that only capitals could match.
        tokenizer = tokenizer_with(options, entries, continuing_subword_prefix=prefix, max_input_chars_per_word=longest)
        texts = ["".join(rng.choices([*alphabet, *alphabet, *names, " "], k=rng.randint(1, 30))) for _ in range(40)]
        core = word_pieces.core_of(tokenizer)
        assert (seed, different(tokenizer, [*texts, *texts], core)) == (seed, [])
        assert (seed, different(tokenizer, texts, core, threads=2, chunk_chars=3)) == (seed, [])
        slow = SlowWordPiece(options, tokenizer, prefix, longest)
        assert (seed, [text for text in texts if slow.encode(text) != core.encode(text)]) == (seed, [])


FLAGS = [
    dict(zip(("single_word", "lstrip", "rstrip", "normalized", "special"), bits, strict=True))
    for bits in itertools.product((False, True), repeat=5)
]


def added_tokens(rng: random.Random) -> list[AddedToken]:
    contents = [
        "[CLS]",
        "[X]",
        "Word",
        "\u00c9t\u00e9",
        "e\u0301",
        "\u4e2d",
        "a b",
        "##a",
        "\u0130",
        "\uac01",
        "New\u4e2dYORK",
        " lead",
        "trail ",
        "\U0001d165\u1b44",
        "!",
    ]
    return [AddedToken(content, **rng.choice(FLAGS)) for content in rng.sample(contents, rng.randint(1, 8))]


def test_added_tokens_of_all_flags(options: BertOptions | None) -> None:
    pieces = [
        "[CLS]",
        "[cls]",
        "[X]",
        "Word",
        "word",
        "sword",
        "\u00c9t\u00e9",
        "ete",
        "e\u0301",
        "\u4e2d",
        " \u4e2d ",
        "a b",
        "##a",
        "\u0130",
        "i\u0307",
        "\uac01",
        "new \u4e2d york",
        "NEW\u4e2dYORK",
        " ",
        "  ",
        "\n",
        "\u3000",
        "\x00",
        "\u0301",
        "\U0001d165",
        "\u1b44",
        "lead",
        "trail",
        "!",
        "a",
        "\x1c",
    ]
    for seed in range(tier.pick(4, 12)):
        rng = random.Random(f"added {seed}")
        tokenizer = of_characters(options, "".join(pieces), added_tokens=added_tokens(rng))
        core = word_pieces.core_of(tokenizer)
        texts = ["".join(rng.choices(pieces, k=rng.randint(1, 10))) for _ in range(150)]
        assert (seed, different(tokenizer, texts, core)) == (seed, [])
        assert (seed, different(tokenizer, texts, core, threads=3, chunk_chars=2)) == (seed, [])
        tokenizer.encode_special_tokens = True
        assert (seed, different(tokenizer, texts, core, split_special_tokens=True)) == (seed, [])


def test_added_tokens_that_normalization_leaves_empty_go_to_hugging_face() -> None:
    tokenizer = tokenizer_with(DEFAULT, "ab", [AddedToken("\u0301", normalized=True)])
    assert Encoder(tokenizer, Settings.read({}, threads=1)).explain()["route"] == "hf"


def test_splits_at_white_space_only() -> None:
    characters = characters_of_interest()
    for options in tier.pick((DEFAULT,), (None, DEFAULT, BertOptions(False, False, False, False))):
        tokenizer = of_characters(options, characters, pre_tokenizer=pre_tokenizers.WhitespaceSplit())
        core = word_pieces.core_of(tokenizer)
        for context in ("a{c}b", " {c} ", "!{c}!"):
            texts = [
                "".join(context.replace("{c}", c) for c in characters[k : k + 20])
                for k in range(0, len(characters), 20)
            ]
            assert different(tokenizer, texts, core) == []


def test_the_whole_route(name: str) -> None:
    tokenizer = corpus.load_tokenizer(name)
    encoder = Encoder(tokenizer, Settings.read({}, threads=3, parallel_min_chars=1000, chunk_chars=300))
    explained = encoder.explain()
    assert (explained["route"], explained["self_check"]["mismatch"]) == ("native", None)
    assert explained["pipeline"]["model"].startswith("WordPiece")
    for text in [*SHORT_TEXTS, *corpus.texts("code", 20_000)]:
        for add_special_tokens, split in itertools.product((False, True), repeat=2):
            tokenizer.encode_special_tokens = split
            expected = tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
            assert encoder.encode_list(text, add_special_tokens, split_special_tokens=split) == expected
            assert encoder.encode_ids(text, add_special_tokens, split_special_tokens=split).tolist() == expected
    tokenizer.encode_special_tokens = False
    batch = encoder.encode_batch_ids(SHORT_TEXTS)
    assert [batch.row(k).tolist() for k in range(len(SHORT_TEXTS))] == [
        e.ids for e in tokenizer.encode_batch(SHORT_TEXTS)
    ]
    assert encoder._runner.reference_calls.total() == 0


class TestTablesOfCharacters:
    @pytest.mark.parametrize(
        "shipped", words_shipped := [None, DEFAULT, BertOptions(True, True, None, False)], ids=name_of
    )
    def test_a_shipped_table_is_a_fresh_derivation(self, shipped: BertOptions | None) -> None:
        from lopt_plugin.unicode_tables.derive.bert import derive

        fresh, loaded = derive(shipped, load.character_classes()), load.word_characters(shipped)
        assert fresh.as_bytes() == loaded.as_bytes()

    def test_a_table_that_is_not_shipped_is_derived_once_and_cached(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        from lopt_plugin.unicode_tables.derive import bert as derive_word_characters

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        rare = BertOptions(False, False, False, False)
        first = load.word_characters(rare)
        monkeypatch.setattr(derive_word_characters, "derive", None)
        assert load.word_characters(rare).as_bytes() == first.as_bytes()
        (file,) = (tmp_path / "lopt_plugin").iterdir()
        for damaged in (b"", b"no table", file.read_bytes()[:1000]):
            file.write_bytes(damaged)
            with pytest.raises(TypeError):
                load.word_characters(rare)


class TestPipeline:
    def test_options_are_read(self, options: BertOptions | None) -> None:
        pipeline = read_pipeline(tokenizer_with(options, "ab"))
        assert (pipeline.normalizer or None, pipeline.scanner) == (options, "bert")
        assert set(map(type, describe(pipeline).values())) == {str}

    @pytest.mark.parametrize(
        ("reason", "tokenizer"),
        [
            ("not an entry", lambda: tokenizer_with(None, "ab", unk_token="[none]")),
            ("0 steps", lambda: _with(pre_tokenizer=None)),
            ("pre-tokenizer ByteLevel", lambda: _with(pre_tokenizer=pre_tokenizers.ByteLevel())),
            ("pre-tokenizer Whitespace ", lambda: _with(pre_tokenizer=pre_tokenizers.Whitespace())),
            ("normalizer", lambda: _with(normalizer=normalizers.NFC())),
            ("normalizer", lambda: _with(normalizer=normalizers.Lowercase())),
            (
                "normalizer BertNormalizer",
                lambda: _with(normalizer=normalizers.Sequence([normalizers.BertNormalizer()] * 2)),
            ),
        ],
    )
    def test_unsupported_pipelines_give_a_reason(self, reason: str, tokenizer: Any) -> None:
        with pytest.raises(Unsupported, match=re.escape(reason)):
            read_pipeline(tokenizer())


def _with(**components: Any) -> Tokenizer:
    tokenizer = tokenizer_with(DEFAULT, "ab")
    for component, value in components.items():
        setattr(tokenizer, component, value)
    return tokenizer
