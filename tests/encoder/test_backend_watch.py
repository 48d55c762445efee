"""Changes of a tokenizer are noticed, whoever makes them; a model of the same size and options among them."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import corpus
import pytest
from tokenizers import AddedToken, Tokenizer, normalizers, processors, trainers
from tokenizers.models import BPE, WordPiece
from tokenizers.pre_tokenizers import ByteLevel

from lopt_plugin.encoder import backend_watch, route_choice
from lopt_plugin.encoder.encoder import Encoder

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


def test_every_setter_and_method_of_the_library_is_known() -> None:
    """A new version of tokenizers may have others: whatever changes a tokenizer belongs to what is watched."""
    call_state = {"truncation", "padding", "encode_special_tokens"}
    call_state |= {"enable_truncation", "enable_padding", "no_truncation", "no_padding"}
    harmless = {"to_str", "save", "token_to_id", "id_to_token", "post_process", "process", "num_special_tokens_to_add"}
    harmless |= {"tokenize", "get_trainer", "_clear_cache", "_resize_cache", "custom"}
    prefixes = ("get_", "encode", "async_", "decode", "from_", "read_", "normalize", "pre_tokenize", "alphabet", "__")
    for kind in backend_watch.watched_classes():
        names = set(vars(kind)) - harmless - call_state
        found = {name for name in names if not name.startswith(prefixes)} - set(backend_watch.CHANGES_TOKENIZER)
        setters = {name for name in found if isinstance(vars(kind)[name], property)}
        assert found == setters, kind
        for name in {*vars(kind)}.intersection(backend_watch.CHANGE_COMPONENT):
            assert hasattr(vars(kind)[name], "__wrapped__"), (kind, name)
    assert {name for name in backend_watch.CHANGES_TOKENIZER if name not in vars(Tokenizer)} == set()


@pytest.mark.parametrize("before", [[], [False]])
@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_llama2"])
def test_a_token_that_once_was_special(name: str, before: list[bool]) -> None:
    """It still is, for Hugging Face, whatever its flag says: the set of special tokens only grows."""
    backend = corpus.load_tokenizer(name)
    for special in before:
        backend.add_tokens([AddedToken("<b>", special=special, normalized=True)])
    encoder = Encoder(backend)
    chosen = "ab <b>ab " * 200
    for special in (True, False):
        encoder.encode_list(chosen)
        backend.add_tokens([AddedToken("<b>", special=special, normalized=True)])
    assert not {token.content: token.special for token in backend.get_added_tokens_decoder().values()}["<b>"]
    for made in (encoder, Encoder(backend)):
        ids = {split: made.encode_list(chosen, split_special_tokens=split) for split in (True, False)}
        assert made._runner.state.snapshot().native is not None
        for split in ids:
            backend.encode_special_tokens = split
            assert ids[split] == backend.encode(chosen).ids
        assert ids[True] != ids[False]
        backend.encode_special_tokens = False


def test_around_the_instance() -> None:
    """A method of the class is seen as one of the instance."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend)
    _equal(encoder)
    Tokenizer.add_tokens(backend, ["house"])
    _equal(encoder)
    type(backend).model.__set__(backend, _byte_pairs(MERGES[1]))
    _equal(encoder)


def test_parts_that_were_reached_before() -> None:
    """A part of a tokenizer shares its state with the object that was asked for earlier."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend("a")])
    # Before tokenizers 0.22, added tokens keep the form that an earlier normalizer gave them.
    backend = Tokenizer.from_str(backend.to_str())
    backend.model.dropout = None
    normalizer, model = backend.normalizer, backend.model
    encoder = Encoder(backend)
    _equal(encoder)
    before = encoder._runner.state.snapshot()
    model.ignore_merges = not model.ignore_merges  # the reference then has other ids in a cache of its own
    assert encoder._runner.state.snapshot() is not before
    if hasattr(normalizer, "__setitem__"):
        normalizer[1] = normalizers.Prepend("ba")
        _equal(encoder)


def test_a_shared_model_is_trained() -> None:
    """Only noticed: the reference itself then has the ids of before in a cache of its own."""
    backend, other = corpus.load_tokenizer("tiny_qwen2"), corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend)
    before = encoder._runner.state._watch.fingerprint()
    other.model = backend.model
    other.train_from_iterator(["abab ababab"] * 5, trainers.BpeTrainer(vocab_size=300, show_progress=False))
    assert encoder._runner.state._watch.fingerprint() != before


def test_changes_to_other_tokenizers_cost_only_a_comparison() -> None:
    backend, other = corpus.load_tokenizer("tiny_qwen2"), corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend)
    before = encoder._runner.state.snapshot()
    other.add_tokens(["<new>"])
    other.normalizer = None
    other.model = BPE()
    assert encoder._runner.state.snapshot() is before
    backend.normalizer = normalizers.NFD()
    assert encoder._runner.state.snapshot() is not before


def test_a_change_that_no_counter_sees_is_noticed_after_some_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no count sees is seen after so many calls."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend)
    text = "the house"
    before = encoder.encode_list(text)
    monkeypatch.setattr(backend_watch.changes, "count", lambda: 0)
    backend.normalizer = normalizers.Prepend("x")
    assert encoder.encode_list(text) == before != backend.encode(text).ids
    for _ in range(route_choice.CALLS_UNTIL_COMPARED):
        encoder.encode_list(text)
    assert encoder.encode_list(text) == backend.encode(text).ids


def test_the_first_call_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading makes other tokenizers, which counts as changes; they are compared when loading ends."""
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"))
    monkeypatch.setattr(backend_watch.BackendWatch, "fingerprint", lambda watch: pytest.fail("compared"))
    _equal(encoder)


def test_classes_that_cannot_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_watch, "watch_classes", lambda: False)
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"))
    _equal(encoder)
    assert encoder.explain()["route"] == "hf"
    assert "cannot be watched" in encoder.explain()["reason"]


def test_changes_by_several_threads() -> None:
    """Numbers come once: none that was seen comes back after a later change."""
    backend = corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend)

    def change(number: int) -> None:
        for i in range(30):
            backend.post_processor = processors.TemplateProcessing(single=f"$A:{(number + i) % 2}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
        futures = [pool.submit(change, number) for number in range(3)]
        while not all(future.done() for future in futures):
            encoder.encode_list("the house")
    backend.normalizer = normalizers.Prepend("ab")
    _equal(encoder)


def test_a_watch_goes_with_its_encoders() -> None:
    backend = corpus.load_tokenizer("tiny_qwen2")
    one, other = Encoder(backend), Encoder(backend)
    assert one._runner.state._watch is other._runner.state._watch
    watch = weakref.ref(one._runner.state._watch)
    del one, other
    gc.collect()
    assert watch() is None
    backend.add_tokens(["<new>"])
    _equal(Encoder(backend))
