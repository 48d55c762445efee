"""`encode_segments`: == to one call of the reference, in which stand-ins replace the special tokens of trusted text."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import corpus
import pytest
import tier
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

NAMES = [*corpus.tokenizer_names(), "sentencepiece", "word_level"]
STAND_IN = 0xF0000  # a character of its own for each special token
Segments = list[tuple[str, bool]]


class Oracle:
    """A tokenizer, and a copy of it in which each special token has a stand-in."""

    def __init__(self, name: str) -> None:
        load = small_pipelines().__getitem__ if name in small_pipelines() else corpus.load_tokenizer
        self.backend, self.copy = load(name), Tokenizer.from_str(load(name).to_str())
        tokens = self.backend.get_added_tokens_decoder()
        self.contents = [token.content for token in tokens.values()]
        special = [(number, token) for number, token in tokens.items() if token.special]
        self.special = {number: token.content for number, token in special}
        self.stand_ins = {number: chr(STAND_IN + place) for place, (number, _) in enumerate(special)}
        self.copy.add_tokens(
            [
                AddedToken(self.stand_ins[number], lstrip=token.lstrip, rstrip=token.rstrip, normalized=False)
                for number, token in special
            ]
        )
        self.copy.encode_special_tokens = True

    def put_in(self, text: str) -> str:
        """A trusted text by itself with its special tokens replaced, as the reference finds them."""
        encoding, parts, at = self.backend.encode(text, add_special_tokens=False), [], 0
        for number, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
            content = self.special.get(number)
            if content is not None and text[begin:end].strip() == content:
                begin = text.index(content, begin)
                parts += [text[at:begin], self.stand_ins[number]]
                at = begin + len(content)
        return "".join([*parts, text[at:]])

    def encode(self, segments: Segments, add_special_tokens: bool) -> list[int]:
        if all(trusted for _, trusted in segments):
            text = "".join(text for text, _ in segments)
            return list(self.backend.encode(text, add_special_tokens=add_special_tokens).ids)
        parts = []
        for trusted, group in itertools.groupby(segments, key=lambda segment: segment[1]):
            text = "".join(text for text, _ in group)
            parts.append(self.put_in(text) if trusted else text)
        numbers = {self.copy.token_to_id(stand_in): number for number, stand_in in self.stand_ins.items()}
        ids = self.copy.encode("".join(parts), add_special_tokens=add_special_tokens).ids
        return [numbers.get(number, number) for number in ids]

    def random_segments(self, rng: random.Random) -> Segments:
        contents = [*rng.choices([*self.special.values()], k=3), *rng.choices(self.contents, k=4)]
        halves = [half for one in contents for half in (one[: len(one) // 2], one[len(one) // 2 :])]
        others = [" ", "\n", "\t\u2003", "Hello", " world", "12", "é", "e\u0301", "中", ""]
        pieces = [*contents, *contents, *halves, *others]
        texts = ["".join(rng.choices(pieces, k=rng.randrange(5))) for _ in range(rng.randrange(1, 8))]
        return [(text, rng.random() < 0.5) for text in texts]


oracle_of = functools.lru_cache(maxsize=2)(Oracle)


@functools.lru_cache(maxsize=4)
def encoder_of(name: str, route: str) -> Encoder:
    return Encoder(Tokenizer.from_str(oracle_of(name).backend.to_str()), Settings.read({}, threads=1, route=route))


def answer(encoder: Encoder, segments: Segments, add_special_tokens: bool) -> list[int] | str:
    try:
        return encoder.encode_segments(segments, add_special_tokens)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", NAMES)
def test_like_stand_ins(name: str) -> None:
    oracle, rng = oracle_of(name), random.Random(name)
    answered = 0
    for _ in range(tier.pick(60, 2000)):
        segments, special = oracle.random_segments(rng), rng.random() < 0.5
        given = answer(encoder_of(name, "auto"), segments, special)
        assert given == answer(encoder_of(name, "hf"), segments, special)
        if isinstance(given, list):
            answered += 1
            assert given == oracle.encode(segments, special)
        else:
            assert "special token" in given
            assert {trusted for _, trusted in segments} != {True}
    assert answered > 10


@pytest.mark.parametrize("name", NAMES)
def test_like_the_joined_text(name: str) -> None:
    """One kind of segments only; and mixed ones, where no special token holds untrusted characters."""
    oracle, rng = oracle_of(name), random.Random(name)
    backend, encoder = oracle.backend, encoder_of(name, "auto")
    plain = "Hello world, it's 12 o'clock \u4e2d\u6587\n\n  the end"
    for _ in range(tier.pick(30, 500)):
        segments = oracle.random_segments(rng)
        joined = "".join(text for text, _ in segments)
        ids = backend.encode(joined).ids
        assert encoder.encode_segments([(text, True) for text, _ in segments]) == ids
        # With an untrusted segment, special tokens are looked for in another way.
        given = answer(encoder, [(joined, True), ("", False)], True)
        assert given == ids or isinstance(given, str)
        given = answer(encoder, [(text, False) for text, _ in segments], True)
        assert given == encoder.encode_list(joined, split_special_tokens=True) or "the model itself" in str(given)
        of_template = [(text, True) for text, trusted in segments if trusted]
        mixed = [*of_template, (plain[: rng.randrange(1, len(plain))], False), *of_template]
        given = answer(encoder, mixed, True)
        assert given == backend.encode("".join(text for text, _ in mixed)).ids or isinstance(given, str)


def test_untrusted_text_takes_no_token_away() -> None:
    """Tokens that overlap: the joined text has others than each segment by itself."""
    backend = Tokenizer(models.BPE(byte_fallback=False))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    alphabet = {character: number for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend.model = models.BPE(alphabet, [])
    backend.add_special_tokens(["<a>", "<a>b", "x<a"])
    number = backend.token_to_id("<a>")
    encoder = Encoder(backend, Settings.read({}, threads=1))
    for before, after in (("x", ""), ("", "b"), ("x", "b"), ("<", ">"), ("<a>", "<a>"), ("", "")):
        ids = encoder.encode_segments([(before, False), ("<a>", True), (after, False)])
        assert ids.count(number) == 1
        assert not {backend.token_to_id("<a>b"), backend.token_to_id("x<a")} & set(ids)
    assert number not in encoder.encode_segments([("<", True), ("", False), ("a>", True)])
    assert encoder.encode_segments([("<", True), ("a>", True)]) == [number]


def test_what_is_refused() -> None:
    encoder = encoder_of("unigram_t5", "auto")
    with pytest.raises(ValueError, match="the model itself makes a special token, id 1, of"):
        encoder.encode_segments([("Hello</s>", False)])
    encoder = encoder_of("tiny_qwen2", "auto")
    with pytest.raises(ValueError, match=r"the special token '.*' is normalized"):
        encoder.encode_segments([("<|normalized|>", True), ("a", False)])
    assert encoder.encode_segments([("a", True), ("<|normalized|>", False)])
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.add_special_tokens([AddedToken("lone", single_word=True)])
    encoder = Encoder(backend, Settings.read({}, threads=1))
    with pytest.raises(ValueError, match="what surrounds 'lone' decides"):
        encoder.encode_segments([("lone", True), ("ly", False)])
    wrong: Any
    for wrong in ("ab", [("a",)], [(1, True)], [("a", "yes")], [None], 3):
        with pytest.raises(TypeError):
            encoder.encode_segments(wrong)
    with pytest.raises(TypeError):
        encoder.encode_segments([("\ud800", False)])
    assert encoder.encode_segments([]) == encoder.encode_list("")
    assert encoder.encode_segments([("", False)]) == encoder.encode_list("")


def test_a_changed_tokenizer_and_verification(tmp_path: Any) -> None:
    fast = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_metaspace_first"))
    tokenizer = lopt_plugin.accelerate(fast, verify=1.0)
    segments = [("<|end|>Hello", True), ("<|new|><|end|>Hello", False), ("<|new|>Hello", True)]
    before = tokenizer.lopt.encode_segments(segments)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|new|>"]})
    after = tokenizer.lopt.encode_segments(segments)
    assert after.count(tokenizer.convert_tokens_to_ids("<|new|>")) == 1
    assert after != before
    assert tokenizer.lopt.explain()["calls"] == {"native": 2, "hf_chunks": 0, "gpu": 0, "hf": 0, "verified": 2}


def test_a_changed_tokenizer_that_is_not_native() -> None:
    backend = Tokenizer.from_str(small_pipelines()["word_level"].to_str())
    encoder = Encoder(backend, Settings.read({}, threads=1))
    segments = [("Hello ", True), ("<|new|>", False), (" <|new|>", True)]
    before = encoder.encode_segments(segments)
    read = encoder._segments._special_tokens()
    assert encoder._segments._special_tokens() is read
    backend.add_special_tokens(["<|new|>"])
    number = backend.token_to_id("<|new|>")
    assert [number if k == 2 else one for k, one in enumerate(before)] == encoder.encode_segments(segments)
