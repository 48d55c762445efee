"""LoPT over HF tokenizers: the ids are those of the whole text, wherever chunks begin and end."""

from __future__ import annotations

import functools
import json
from typing import Any

import corpus
import pytest
import strategies
import tier
from hypothesis import given, strategies as st
from lossy import rivals
from small_pipelines import reaching, small_pipelines
from tokenizers import AddedToken, Tokenizer

from lopt_plugin.pipeline import Unsupported
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.hf_chunks import seams
from lopt_plugin.routes.hf_chunks.division import Lengths, divide
from lopt_plugin.routes.hf_chunks.route import HfChunksRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings

# Unigram; Metaspace; added tokens after a BertNormalizer.
NEVER = {"t5_small", "unigram_t5", "unigram_bytes", "tiny_metaspace", "tiny_metaspace_first", "wordpiece_added"}
SMALL = [
    name
    for name in corpus.tokenizer_names()
    if (name.startswith("tiny_") or name == "roberta_base") and name not in NEVER
]
PIPELINES = ["wordpiece", "wordpiece_uncased", "sentencepiece", "sentencepiece_fused", "sentencepiece_split"]
PIPELINES += ["clip", "nfkd", "word_level"]
LEFT_OUT = tier.pick({"qwen3", *NEVER}, NEVER)
ALL = [*PIPELINES, *(name for name in corpus.tokenizer_names() if name not in LEFT_OUT)]

DIGITS = " " + "²" * 1900 + "1234567 and the rest of it"

# Texts on which matching by position alone, or a weaker condition, joins two chunks wrongly or could: text, chunk,
# overlap, equal tokens. All but the first were found by a search over short texts.
EXAMPLES = {
    "digits in two phases": (DIGITS, 500, 428, 2),
    "digits of two scripts": ("٣٣٣٣٣٣٣٣٣1212٣٣", 5, 10, 1),
    "digits between underscores": ("_1212__٣٣٣٣٣111aa", 9, 14, 1),
    "digits after contractions": ("x'sx's²²1'LL'LL²²²²²²11111x'sx'sx'sx'sx's'LL", 10, 3, 2),
    "contractions with a long s": ("'ſſſſſ'ſ'''ſſ'''''ſ'ſſſſ", 1, 10, 1),
    "contractions in a row": ("'LL'LL'LL'LL'LLʰʰ'LLʰǅǅǅǅǅ", 1, 14, 2),
    "newlines before a word": ("<|ENDOFTEXT|>\u3000BB\n\nBB\u3000\r\n\r\n\r\n\r\n\r\nB\r\n\r\n\r\n\r\n\r\n", 2, 12, 2),
    "newlines and spaces": ("\u30001212" + "\r\n" * 5 + " \n12121212121212\u3000" + "\r\n" * 5 + " \n" * 4, 3, 11, 2),
    "a literal in capitals": ("!!<|ENDOFTEXT|>!!?? <|ENDOFTEXT|>!!..", 12, 9, 1),
    "capitals after an ideograph": ("x's中AVBKQXZWVHHGc", 2, 9, 1),
    "one word, much longer than chunks": ("a" * 300 + " b", 20, 10, 2),
    "spaces only": (" " * 300, 20, 10, 2),
    "nothing to divide at": ("\u0301" * 200, 7, 5, 1),
    "combining sequences": ("e\u0301\u0323 q\u0323\u0307か\u3099\u1100\u1161\u11a8" * 12, 3, 9, 1),
    "several tokens of one character": ("👍🏽👩\u200d👩\u200d👧🏳️\u200d🌈🇺🇸 " * 9, 4, 9, 2),
    "bytes of unknown characters": ("\ue000\ue001 \ue002a\U0010ffff" * 12, 4, 7, 1),
    "added tokens side by side": ("<|end|><|start|><s></s>[MASK]<mask>" * 9, 6, 8, 1),
    "added tokens among spaces": ("a  <|left|>  b <|right|>   <|both|> \n <left>  <right>  lonely \n\n x" * 5, 5, 9, 1),
}  # fmt: skip


@functools.lru_cache(maxsize=4)
def route_of(name: str, threads: int = 2) -> HfChunksRoute:
    tokenizer = small_pipelines()[name] if name in PIPELINES else corpus.load_tokenizer(name)
    return HfChunksRoute(HfRoute(tokenizer), Settings.read({}, threads=threads))


def expected(route: HfChunksRoute, text: str, split: bool = False) -> list[int]:
    return route.hf.encode_list(text, PLAIN[False][split])


def check(route: HfChunksRoute, text: str, *lengths: Lengths, split: bool = False) -> None:
    """On the calling thread alone, which does in turn what several threads do."""
    want = expected(route, text, split)
    for length in lengths:
        for use_boundaries in (True, False):
            got = route.encode_divided(text, length, split, use_boundaries=use_boundaries, alone=True)
            assert got == want, (text, length, use_boundaries, split)


@pytest.mark.parametrize("name", ALL)
def test_examples(name: str) -> None:
    for text, chunk, overlap, tokens in EXAMPLES.values():
        check(route_of(name), text, Lengths(chunk, overlap, tokens), Lengths(2 * chunk + 1, overlap, tokens))


@pytest.mark.parametrize("name", [name for name in ALL if name.split("_")[-1] in ("cl100k", "o200k", "v3", "llama3")])
def test_the_papers_condition_is_not_enough(name: str) -> None:
    """Theorem 4.1: no loss if the matched span is longer than any entry. Here 300 and more characters match."""
    route = route_of(name)
    tokenizer = route._tokenizers[False]
    longest = max(map(len, tokenizer.get_vocab(with_added_tokens=False)))
    tokenize = rivals.on_threads(tokenizer, 1)
    joined = rivals.paper_lopt(DIGITS, 500, longest + 300, tokenize, longer_than=longest)
    assert joined.shortest_span > longest
    assert joined.chunk == 500
    want = expected(route, DIGITS)
    assert joined.ids != want
    check(route, DIGITS, Lengths(500, longest + 300))


def test_a_run_of_capitals_decides_about_the_words_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three characters, one not white space, between a seam and the left chunk's end do not suffice for o200k."""
    text, lengths = EXAMPLES["capitals after an ideograph"][0], Lengths(2, 9, 1)
    route = HfChunksRoute(HfRoute(reaching()), Settings.read({}, threads=2))
    check(route, text, lengths)
    monkeypatch.setattr(seams, "last_final_place", lambda text, first, end: end - 3)
    assert route.encode_divided(text, lengths, use_boundaries=False, alone=True) != expected(route, text)


def test_the_same_with_a_published_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    if "gpt_oss" not in corpus.tokenizer_names():
        pytest.skip("gpt_oss is not beside the checkout")
    text, lengths = "x's亚洲AVBKQXZWVHHGc", Lengths(2, 9, 2)
    route = route_of("gpt_oss")
    check(route, text, lengths)
    monkeypatch.setattr(seams, "last_final_place", lambda text, first, end: end - 3)
    assert route.encode_divided(text, lengths, use_boundaries=False, alone=True) != expected(route, text)


SHORT = [
    "I'm sure it's 12345.67, isn't it?\n\n  Yes!  ",
    "中文，标点。日本語カナ 한국어 e\u0301q\u0323\u0307 x",
    " \n <|end|>  a<|left|> <mask> [MASK]<s>\t\r\n\r\n 's",
    "ABCdefGHI'll 中BBc²²1234 ٣٤٥ a.b/c//\n def f(x):",
]


@pytest.mark.parametrize("name", [*PIPELINES, *SMALL])
def test_every_place_of_short_texts(name: str) -> None:
    route = route_of(name)
    for text in SHORT:
        for chunk in range(1, len(text)):
            check(route, text, Lengths(chunk, 1 + chunk % 12, 1 + chunk % 2), Lengths(chunk, 25, 1))


@pytest.mark.parametrize("family", corpus.conformance_families())
@pytest.mark.parametrize("name", ALL)
def test_conformance(name: str, family: str) -> None:
    route = route_of(name)
    texts = corpus.conformance(family, seed=7)
    for number, text in enumerate(texts[:: max(1, len(texts) // tier.pick(3, 5))]):
        scale = 1 if len(text) < 1000 else 40
        lengths = (Lengths(3 * scale, 8 * scale, 1), Lengths(29 * scale, 30 * scale))
        check(route, text, *lengths, split=number % 4 == 3)


@pytest.mark.parametrize("corpus_name", corpus.corpora())
@pytest.mark.parametrize("name", ALL)
def test_corpora(name: str, corpus_name: str) -> None:
    text = "\n".join(corpus.texts(corpus_name, 8_000))
    check(route_of(name), text, Lengths(300, 100))


@pytest.mark.parametrize("name", ["wordpiece_uncased", "sentencepiece", "clip", "nfkd", "tiny_o200k", "tiny_qwen2"])
@given(text=strategies.texts(), chunk=st.integers(1, 40), overlap=st.integers(1, 40), tokens=st.integers(1, 3))
def test_any_text(name: str, text: str, chunk: int, overlap: int, tokens: int) -> None:
    check(_kept(name), text, Lengths(chunk, overlap, tokens))


@functools.cache
def _kept(name: str) -> HfChunksRoute:
    return route_of(name)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["tiny_cl100k", "sentencepiece", "wordpiece"])
def test_threads(name: str, threads: int) -> None:
    route = route_of(name, threads)
    text = "\n".join(corpus.texts("books_en", 30_000)) + DIGITS
    want = expected(route, text)
    for lengths in (Lengths(700, 64), Lengths(5000, 256), Lengths(100_000, 256)):
        for use_boundaries in (True, False):
            assert route.encode_divided(text, lengths, use_boundaries=use_boundaries) == want


def test_chunks_overlap_without_a_certain_boundary() -> None:
    """Text without letters is joined at seams; chunks without a seam become one."""
    route = route_of("tiny_cl100k")
    text = "!?1.. -- 12, 345 (6) " * 100
    assert route.encode_divided(text, Lengths(200, 64), use_boundaries=False) == expected(route, text)
    counts = dict(route.counts)
    assert counts["seams"] > 5
    assert counts["merged"] == 0
    route.counts.clear()
    assert route.encode_divided("7" * 2000, Lengths(200, 64)) == expected(route, "7" * 2000)
    assert route.counts["merged"] == route.counts["chunks"] - 1 > 5
    route.counts.clear()


def test_the_search_for_boundaries_is_bounded() -> None:
    """Texts without any suitable place become one chunk soon; a full search would take hours."""
    for name, unit in (("tiny_cl100k", "<|end|>"), ("tiny_qwen2", "\u0301"), ("sentencepiece", "\n"), ("clip", "\t")):
        route = route_of(name)
        text = unit * (400_000 // len(unit))
        assert len(divide(text, route.boundaries, Lengths(16_384, 256), True, route.chunkable.how == "pattern")) <= 25


def _changed(name: str, **components: Any) -> Tokenizer:
    state = json.loads(small_pipelines()[name].to_str() if name in PIPELINES else corpus.tokenizer_json(name))
    for path, value in components.items():
        *parents, last = path.split("__")
        place = state
        for parent in parents:
            place = place[parent]
        place[last] = value
    return Tokenizer.from_str(json.dumps(state))


_STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
_PATTERN = {"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Isolated", "invert": False}
_DIGITS = {"type": "Digits", "individual_digits": True}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


@pytest.mark.parametrize(
    ("tokenizer", "reason"),
    [
        (lambda: _changed("tiny_qwen2", model__dropout=0.1), "random"),
        (lambda: _changed("tiny_qwen2", normalizer=_STRIP), "normalizer Strip"),
        (lambda: _changed("tiny_qwen2", pre_tokenizer=_PATTERN), "not on the allow-list"),
        (
            lambda: _changed(
                "tiny_starcoder", pre_tokenizer={"type": "Sequence", "pretokenizers": [_BYTE_LEVEL, _DIGITS]}
            ),
            "not proven",
        ),
        (lambda: _changed("sentencepiece", model__ignore_merges=True), "ignore_merges"),
        (lambda: _changed("sentencepiece", normalizer={"type": "NFKC"}), "NFKC without a split pattern"),
        (
            lambda: _changed(
                "sentencepiece", normalizer={"type": "Replace", "pattern": {"String": "  "}, "content": "▁"}
            ),
            "more than single characters",
        ),
        (lambda: Tokenizer.from_str(json.dumps(_UNIGRAM)), "Unigram"),
    ],
)
def test_what_is_never_divided(tokenizer: Any, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        HfChunksRoute(HfRoute(tokenizer()), Settings.read({}, threads=2))


_UNIGRAM = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False},
}


def test_added_tokens_after_a_normalizer_that_drops_characters() -> None:
    tokenizer = _changed("wordpiece")
    tokenizer.add_tokens(["someword"])
    with pytest.raises(Unsupported, match="drops characters"):
        HfChunksRoute(HfRoute(tokenizer), Settings.read({}, threads=2))


def test_added_tokens_with_white_space_after_a_normalizer_that_joins_it() -> None:
    """A run of any length is then such a token."""
    tokenizer = _changed("tiny_clip")
    HfChunksRoute(HfRoute(tokenizer), Settings.read({}, threads=2))
    tokenizer.add_tokens([AddedToken("\n", normalized=True)])
    with pytest.raises(Unsupported, match="drops characters"):
        HfChunksRoute(HfRoute(tokenizer), Settings.read({}, threads=2))


def test_two_added_tokens_that_a_normalizer_makes_equal() -> None:
    """Which of them Hugging Face finds depends on an order that a copy of the tokenizer does not share."""
    tokenizer = _changed("tiny_clip")
    tokenizer.add_tokens([AddedToken(content, normalized=True) for content in ("\u00e9", "e\u0301")])
    with pytest.raises(Unsupported, match="the same content after normalization"):
        HfChunksRoute(HfRoute(tokenizer), Settings.read({}, threads=2))
