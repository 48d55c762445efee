"""A model put in place of another is noticed, also where size and options are the same."""

from __future__ import annotations

import ctypes
import gc
import sys

import corpus
import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece
from tokenizers.pre_tokenizers import ByteLevel

import lopt_plugin.native
from lopt_plugin.encoder import backend_watch as model_identity
from lopt_plugin.encoder.backend_watch import ModelIdentity
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.native import _core

TEXTS = ["abab ababab", "The house, unable to be abandoned.", "ba" * 300]


def _byte_pairs(merges: list[tuple[str, str]]) -> BPE:
    """All with one vocabulary; the merges that are not there make no tokens."""
    tokens = [*sorted(ByteLevel.alphabet()), "ab", "ba", "aba", "bab"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return BPE(vocab=vocabulary, merges=merges)


MERGES = [
    [("a", "b"), ("ab", "a")],
    [("b", "a"), ("b", "ab")],
    [("b", "a"), ("a", "ba")],
    [("a", "b")],
]


def _equal(encoder: Encoder, texts: list[str] = TEXTS) -> None:
    for text in texts:
        assert encoder.encode_list(text) == encoder._backend.encode(text).ids


def _byte_level(model: BPE) -> Tokenizer:
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.model = model
    return backend


def test_models_of_the_same_size_and_options() -> None:
    backend = _byte_level(_byte_pairs(MERGES[0]))
    encoder = Encoder(backend)
    _equal(encoder)
    given = set()
    for _ in range(5):
        for merges in MERGES:
            # The model before it is gone by then, and its memory may be taken by this one.
            backend.model = _byte_pairs(merges)
            gc.collect()
            _equal(encoder)
            given.add(tuple(encoder.encode_list(TEXTS[0])))
    assert len(given) > 1
    assert encoder.explain()["route"] == "native"
    assert not encoder.explain()["hf_calls"]


def test_there_and_back() -> None:
    backend = _byte_level(_byte_pairs(MERGES[0]))
    encoder = Encoder(backend)
    first = backend.model
    backend.model = _byte_pairs(MERGES[1])
    backend.model = first
    _equal(encoder)
    backend.model = WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]")
    backend.model = _byte_pairs(MERGES[2])
    _equal(encoder)


def test_through_the_tokenizer_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    import lopt_plugin

    plain = transformers.PreTrainedTokenizerFast(tokenizer_object=_byte_level(_byte_pairs(MERGES[0])))
    tokenizer = lopt_plugin.accelerate(plain)
    for merges in (MERGES[1], MERGES[2]):
        tokenizer("a text before it")
        tokenizer.backend_tokenizer.model = _byte_pairs(merges)
        for text in TEXTS:
            assert tokenizer(text)["input_ids"] == tokenizer.backend_tokenizer.encode(text).ids


@pytest.mark.parametrize("name", ["tiny_qwen2", "bert_base_uncased", "roberta_base"])
def test_one_model_stays_itself(name: str) -> None:
    backend = corpus.load_tokenizer(name)
    identity = ModelIdentity(backend.model)
    for _ in range(3):
        backend.encode("a text")
        backend.add_tokens(["<new>"])
        assert not identity.is_another(backend.model)
    other = corpus.load_tokenizer(name)
    assert identity.is_another(other.model)
    assert not identity.is_another(other.model)
    assert identity.is_another(backend.model)


def test_words_of_an_object() -> None:
    model = BPE()
    size, word = BPE.__basicsize__, ctypes.sizeof(ctypes.c_size_t)
    for offset in range(object.__basicsize__, size - word + 1, word):
        assert _core.word_of(model, offset) == ctypes.c_size_t.from_address(id(model) + offset).value
    for offset in (0, object.__basicsize__ - 1, size - word + 1, size, 2**63):
        with pytest.raises(IndexError):
            _core.word_of(model, offset)
    for thing in (object(), 0.5):
        with pytest.raises(IndexError):
            _core.word_of(thing, type(thing).__basicsize__)
    with pytest.raises(TypeError):
        _core.word_of(model, -1)


def test_without_the_native_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lopt_plugin.native._core", None)
    monkeypatch.delattr(lopt_plugin.native, "_core")
    functions = (model_identity._word_reader, model_identity._offset_of_pointer)
    known = model_identity._offset_of_pointer()
    for function in functions:
        function.cache_clear()
    try:
        assert model_identity._offset_of_pointer() == known
        backend = corpus.load_tokenizer("tiny_qwen2")
        identity = ModelIdentity(backend.model)
        assert not identity.is_another(backend.model)
        assert identity.is_another(corpus.load_tokenizer("tiny_qwen2").model)
    finally:
        for function in functions:
            function.cache_clear()
