"""Ids of the native core against those of the reference library: hard texts, every code point, documents."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import corpus
import native_cores
import pytest
import strategies
import tier
from hypothesis import given
from native_cores import different
from tokenizers import Regex, Tokenizer, normalizers

from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.native_core import build_core

# Characters of each corpus that all tokenizers are tried on: the reference encodes about 2 MB/s.
SAMPLE = tier.pick(60_000, 150_000)
# Those whose pipelines, together, have all split patterns, NFC and several refinements, and models of characters.
SWEPT = [
    "tiny_qwen2",
    "tiny_o200k",
    "tiny_deepseek_v3",
    "tiny_falcon",
    "tiny_llama2",
    "tiny_gemma",
    "tiny_metaspace_first",
]


@pytest.fixture(scope="module", params=tier.pick([*native_cores.ALL, "qwen3"], native_cores.ALL))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("family", corpus.conformance_families())
def test_hard_texts(name: str, family: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    for seed in range(tier.pick(1, 2)):
        texts = corpus.conformance(family, seed)
        expected = native_cores.expected(reference, texts)
        for threads, chunk_chars in ((1, 0), (2, 300)):
            found = [core.encode(text, threads, chunk_chars) for text in texts]
            assert [t for t, a, b in zip(texts, found, expected, strict=True) if a != b][:3] == []


@pytest.mark.parametrize("kind", corpus.corpora())
def test_documents(name: str, kind: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    assert different(core, reference, _documents(kind, SAMPLE, name)) == []


def _documents(kind: str, limit: int, seed: str) -> Iterator[str]:
    """Pieces from all over the corpus, which differ from seed to seed; whole documents of which many are short."""
    documents = corpus.texts(kind, 10**9)
    random.Random(seed).shuffle(documents)
    for document in documents:
        yield document[: min(limit, 20_000)]
        limit -= min(len(document), 20_000)
        if limit <= 0:
            return


@pytest.mark.deep
@pytest.mark.skipif(not (corpus.SHARED / "data" / "corpora").exists(), reason="the large corpora are not here")
@pytest.mark.parametrize("large", ["llama3", "qwen3", "llama2", "mistral_7b_v0_3", "gemma3"])
def test_whole_corpora(large: str) -> None:
    """All 58 MB; most of the time is the reference's."""
    core, reference = native_cores.core_and_reference(large)
    for kind in corpus.corpora():
        documents = [d[k : k + 50_000] for d in corpus.texts(kind, 10**9) for k in range(0, len(d), 50_000)]
        for start in range(0, len(documents), 200):
            assert different(core, reference, documents[start : start + 200]) == []


@pytest.mark.parametrize("swept", [*SWEPT, "qwen3"])
def test_every_code_point(swept: str) -> None:
    """Side by side; and each after a letter, before a contraction, after a combining mark."""
    core, reference = native_cores.core_and_reference(swept)
    code_points = [chr(c) for c in range(0, 0x110000, tier.pick(11, 1)) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(code_points), 50_000):
        some = code_points[start : start + 50_000]
        plain = ["".join(some[k : k + 2000]) for k in range(0, len(some), 2000)]
        in_context = ["".join(f"a{c}'s\u0301{c}" for c in some[k : k + 200]) for k in range(0, len(some), 200)]
        assert different(core, reference, [*plain, *in_context]) == []


def test_arrays_and_batches_are_the_lists(name: str) -> None:
    core, _ = native_cores.core_and_reference(name)
    texts = ["", *corpus.conformance(corpus.conformance_families()[-1], 3), "", "e\u0301"]
    lists = [core.encode(text) for text in texts]
    assert [core.encode_array(text).tolist() for text in texts] == lists
    for threads in (1, 2, 5):
        ids, row_offsets = core.encode_batch(texts, threads)
        assert (ids.dtype, row_offsets.dtype, len(row_offsets)) == ("int32", "int64", len(texts) + 1)
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(row_offsets)] == lists
    ids, row_offsets = core.encode_batch([], 2)
    assert (ids.tolist(), row_offsets.tolist()) == ([], [0])


def test_rows_of_a_batch_in_parts() -> None:
    """Threads take several rows each; where a normalizer needs Python, the calling thread encodes them."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    short = [f"{'caf' * (k % 7)}e\u0301 {k} words " * (k % 60) for k in range(300)]
    rows = ["", *short, "e\u0301 " * 30_000, "", "a", ""]
    for normalizer in (None, normalizers.Replace(Regex("e\u0301"), "e")):
        backend.normalizer = normalizer
        core = build_core(read_pipeline(backend))
        expected = [encoding.ids for encoding in backend.encode_batch(rows, add_special_tokens=False)]
        for threads in (1, 2, 5):
            assert core.encode_batch_lists(rows, threads) == expected
            ids, row_offsets = core.encode_batch(rows, threads)
            assert [ids[a:b].tolist() for a, b in itertools.pairwise(row_offsets)] == expected


def test_added_tokens(name: str) -> None:
    """Texts of added tokens only, side by side, cut short, in words and among spaces; split where they are special."""
    core, reference = native_cores.core_and_reference(name)
    contents = [token.content for token in reference.get_added_tokens_decoder().values()]
    rng = random.Random(name)
    pieces = [*contents, *(c[:-1] for c in contents), *(c[1:] for c in contents)]
    around = ["", " ", "  ", "\n", "\u3000", "a", "\u0301", "\u00e9", "1", "<", "\x1c"]
    texts = [*contents, "".join(contents)]
    texts += ["".join(rng.choices(contents or ["a"], k=rng.randint(1, 6))) for _ in range(200)]
    texts += ["".join(rng.choice(around) + rng.choice(pieces or ["a"]) for _ in range(8)) for _ in range(400)]
    assert different(core, reference, texts) == []
    splitting = Tokenizer.from_str(reference.to_str()) if len(contents) < 100 else None
    if splitting is not None:
        splitting.encode_special_tokens = True
        assert different(core, splitting, texts, split_special_tokens=True) == []
        ids, _ = core.encode_batch(texts, 2, True)
        assert ids.tolist() == [i for row in native_cores.expected(splitting, texts) for i in row]


@given(text=strategies.texts())
@pytest.mark.parametrize("small", native_cores.SMALL)
def test_any_text(small: str, text: str) -> None:
    core, reference = native_cores.core_and_reference(small)
    assert core.encode(text) == reference.encode(text, add_special_tokens=False).ids


# Runs of one class that a text rarely has; the reference is quadratic in digits, so it is asked about less of them.
RUNS: dict[str, Any] = {
    "letter": "a",
    "digit": "7",
    "space": " ",
    "newline": "\n",
    "carriage return": "\r",
    "cjk": "\u4e2d",
    "superscript": "\u00b2",
    "mark": "\u0301",
    "unassigned": "\u0378",
    "emoji": "\U0001f600",
    "joined emoji": "\U0001f469\u200d",
    "random letters": "abcdefghijklmnopqrstuvwxyz",
    "random cjk": "".join(map(chr, range(0x4E00, 0x4E80))),
    "random white space": " \t\n\r\u3000",
    "jamo": "\u1100\u1161\u11a8",
}


def _run(kind: str, length: int) -> str:
    characters = RUNS[kind]
    if not kind.startswith("random"):
        return str(characters * (length // len(characters)))
    return "".join(random.Random(kind).choices(characters, k=length))


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("small", native_cores.SMALL)
def test_runs_of_one_class(small: str, kind: str) -> None:
    core, reference = native_cores.core_and_reference(small)
    length = 2_000 if kind == "digit" else 20_000
    runs = [_run(kind, n) for n in (63, 64, 65, 255, 256, 257, 1_000, length)]
    around = tier.pick([("a", "a")], [("", ""), ("a", "a"), (" ", "\n1")])
    texts = [*runs[:7], *(before + run + after for run in runs for before, after in around)]
    assert different(core, reference, texts) == []


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("long", ["tiny_deepseek_v3", "tiny_o200k", "tiny_qwen2"])
def test_runs_of_a_million(long: str, kind: str) -> None:
    core, _ = native_cores.core_and_reference(long)
    text = _run(kind, 1_000_000)
    ids = core.encode_array(text)
    assert len(ids) > 0
    for threads, chunk_chars in tier.pick(((8, 0), (3, 100_003)), ((2, 0), (8, 0), (3, 100_003))):
        assert (core.encode_array(text, threads, chunk_chars) == ids).all()


def test_an_id_to_begin_with(name: str) -> None:
    core, reference = native_cores.core_and_reference(name)
    texts = ["", "a", "Hello world, " * 3000, "e\u0301\u4e2d" * 500]
    for text, ids in zip(texts, native_cores.expected(reference, texts), strict=True):
        for threads, chunk_chars in ((1, 0), (2, 300)):
            for first in (0, 5, core.id_count() - 1):
                assert core.encode(text, threads, chunk_chars, False, first) == [first, *ids]
            assert core.encode(text, threads, chunk_chars, False, -1) == ids
    with pytest.raises(ValueError, match="first_id"):
        core.encode("a", 1, 0, False, core.id_count())
