"""The accelerated tokenizer against the HF tokenizer it was made from: same results, warnings and exceptions."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import json
import lzma
import multiprocessing
import os
import pickle
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import pytest
import transformers
from outcomes import comparable, outcome
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, BatchEncoding, PreTrainedTokenizerFast
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

import lopt_plugin
from lopt_plugin.settings import Settings, available_cpus
from lopt_plugin.tokenizer.batch_encoding import LazyBatchEncoding

TRANSFORMERS_4 = transformers.__version__.startswith("4.")
SAMPLE = "Hello world, isn't it 12345? <|end|> <s> é中文 \n\n  the end 👍🏽"


@functools.cache
def _small_tokenizer() -> PreTrainedTokenizerFast:
    return small_tokenizer()


def small_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of a few hundred entries with special tokens on both sides, made here."""
    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    texts = ["the end of the world is the hello of the rest", SAMPLE, "isn't it? it isn't"]
    backend.train_from_iterator(texts, byte_level_trainer(400))
    backend.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<|tool|>", special=False)])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", model_max_length=20
    )


def byte_level_trainer(vocab_size: int) -> trainers.Trainer:
    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


# The real ones come with a tokenizer_config.json of their own.
REAL = [
    name
    for name in ("qwen3", "llama3", "gpt2", "bert_base_uncased", "t5_small")
    if (corpus.SHARED / "data" / "tokenizers" / name).is_dir()
]


@pytest.fixture(scope="session", params=["small", "tiny_roberta", "wordpiece_uncased", *REAL])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tokenizer."""
    target = tmp_path_factory.mktemp(request.param)
    if request.param == "small":
        small_tokenizer().save_pretrained(target)
        return target
    if request.param not in REAL:
        PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(request.param)).save_pretrained(target)
        return target
    for file in (corpus.SHARED / "data" / "tokenizers" / request.param).iterdir():
        content = file.read_bytes()
        name = file.name.removesuffix(".xz")
        (target / name).write_bytes(lzma.decompress(content) if file.suffix == ".xz" else content)
    return target


@pytest.fixture(scope="session")
def loaded(folder: Path) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    return AutoTokenizer.from_pretrained(folder), lopt_plugin.from_pretrained(folder, threads=2)


@pytest.fixture
def both(loaded: Any) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    """(HF, accelerated), shared by the tests: what a test sets it sets in both."""
    for tokenizer in loaded:
        tokenizer.truncation_side = "right"
        tokenizer.deprecation_warnings.clear()
    return loaded


@pytest.fixture
def small() -> PreTrainedTokenizerFast:
    """A copy for each test: what a test changes in an accelerated tokenizer, it changes in the one that was given."""
    return copy.deepcopy(_small_tokenizer())


class Text(str):
    pass


TEXTS: list[Any] = [
    SAMPLE,
    "",
    " ",
    "word " * 40,
    Text("a str of another class <s>"),
    [SAMPLE, "", "the"],
    (SAMPLE, "the"),
    [Text("x"), "y"],
    ["word " * 40, "the end"],
]
BAD_TEXTS: list[Any] = [
    None, b"bytes", 17, 1.5, ["a", None], [None], ["a", b"b"], "\ud800", "ab\udfffcd", ["a", "\ud800"], [], (), [[]],
    [["a"]], [["a", "b"]], [("a", "b")], {"a": 1}, object, [1, 2],
]  # fmt: skip

ARGUMENTS: dict[str, dict[str, Any]] = {
    "none": {},
    "no special tokens": {"add_special_tokens": False},
    "vllm completion": {"truncation": True, "max_length": 9, "add_special_tokens": True},
    "vllm chat": {"truncation": True, "max_length": 9, "add_special_tokens": False},
    "vllm tokenize": {"truncation": False, "max_length": None},
    "truncation without length": {"truncation": True},
    "length without truncation": {"max_length": 5},
    "length and no truncation": {"max_length": 5, "truncation": False},
    "longest_first": {"truncation": "longest_first", "max_length": 6},
    "only_first": {"truncation": "only_first", "max_length": 6},
    "only_second": {"truncation": "only_second", "max_length": 6},
    "strategy": {"truncation": TruncationStrategy.LONGEST_FIRST, "max_length": 6},
    "no strategy": {"truncation": TruncationStrategy.DO_NOT_TRUNCATE, "max_length": 6},
    "do_not_truncate": {"truncation": "do_not_truncate"},
    "unknown strategy": {"truncation": "sometimes", "max_length": 6},
    "wrong strategy": {"truncation": 3, "max_length": 6},
    "length 0": {"truncation": True, "max_length": 0},
    "length 1": {"truncation": True, "max_length": 1},
    "length 2": {"truncation": True, "max_length": 2},
    "length 3": {"truncation": True, "max_length": 3},
    "negative length": {"truncation": True, "max_length": -1},
    "huge length": {"truncation": True, "max_length": 10**30},
    "large length": {"truncation": True, "max_length": 10**9},
    "bool length": {"truncation": True, "max_length": True},
    "float length": {"truncation": True, "max_length": 6.0},
    "text length": {"truncation": True, "max_length": "6"},
    "padding None": {"padding": None},
    "padding": {"padding": True},
    "padding to length": {"padding": "max_length", "max_length": 30, "truncation": True},
    "do_not_pad": {"padding": "do_not_pad"},
    "padding strategy": {"padding": PaddingStrategy.DO_NOT_PAD},
    "stride": {"truncation": True, "max_length": 8, "stride": 2},
    "stride without truncation": {"stride": 2},
    "numpy": {"return_tensors": "np"},
    "numpy padded": {"return_tensors": "np", "padding": True},
    "split special tokens": {"split_special_tokens": True},
    "special tokens are 1": {"add_special_tokens": 1},
    "special tokens are None": {"add_special_tokens": None},
    "unknown argument": {"no_such_argument": 1},
    "unknown argument False": {"sanitize_control_tokens": False},
}
CALL_ARGUMENTS: dict[str, dict[str, Any]] = {
    "type ids": {"return_token_type_ids": True},
    "no type ids": {"return_token_type_ids": False},
    "no mask": {"return_attention_mask": False},
    "mask 1": {"return_attention_mask": 1},
    "offsets": {"return_offsets_mapping": True},
    "length": {"return_length": True},
    "special tokens mask": {"return_special_tokens_mask": True},
    "overflow": {"return_overflowing_tokens": True, "truncation": True, "max_length": 6},
    "quiet": {"verbose": False},
    "pre-tokenized": {"is_split_into_words": True},
    "pair": {"text_pair": "the rest"},
    "empty pair": {"text_pair": ""},
    "target": {"text_target": "the rest"},
    "multiple": {"pad_to_multiple_of": 8},
    "padding side": {"padding_side": "left"},
    "tokenizer_kwargs": {"tokenizer_kwargs": {"add_special_tokens": False}},
}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("arguments", [*ARGUMENTS, *CALL_ARGUMENTS])
def test_call(both: Any, arguments: str, side: str) -> None:
    hf, ours = both
    hf.truncation_side = ours.truncation_side = side
    given = {**ARGUMENTS, **CALL_ARGUMENTS}[arguments]
    for text in [*TEXTS, *BAD_TEXTS]:
        hf.deprecation_warnings.clear()
        ours.deprecation_warnings.clear()
        expected = outcome(lambda text=text: hf(text, **given))
        assert outcome(lambda text=text: ours(text, **given)) == expected, text
        # What the call left behind in either must not show in the next.
        assert outcome(lambda text=text: ours(SAMPLE)) == outcome(lambda text=text: hf(SAMPLE))


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_encode(both: Any, arguments: str, side: str) -> None:
    hf, ours = both
    hf.truncation_side = ours.truncation_side = side
    given = ARGUMENTS[arguments]
    for text in [*TEXTS, *BAD_TEXTS]:
        hf.deprecation_warnings.clear()
        ours.deprecation_warnings.clear()
        expected = outcome(lambda text=text: hf.encode(text=text, **given))
        assert outcome(lambda text=text: ours.encode(text=text, **given)) == expected, text
        assert outcome(lambda text=text: ours.encode(text, **given))[0] == expected[0]
    assert comparable(ours.encode(SAMPLE)) == comparable(hf.encode(SAMPLE))


def test_ids_are_plain(both: Any) -> None:
    hf, ours = both
    result = ours(SAMPLE)
    assert isinstance(result, BatchEncoding)
    assert type(result["input_ids"]) is list
    assert {type(i) for i in result["input_ids"]} == {int}
    assert list(result.keys()) == list(hf(SAMPLE).keys())
    assert json.dumps(dict(result)) == json.dumps(dict(hf(SAMPLE)))
    assert str(result) == str(hf(SAMPLE))
    assert repr(result) == repr(hf(SAMPLE))
    assert result == hf(SAMPLE)


def test_other_methods(both: Any) -> None:
    hf, ours = both
    calls: list[Callable[[Any], Any]] = [
        lambda t: t.tokenize(SAMPLE),
        lambda t: t.tokenize(SAMPLE, add_special_tokens=True),
        lambda t: t.decode(t.encode(SAMPLE)),
        lambda t: t.batch_decode([t.encode(SAMPLE)], skip_special_tokens=True),
        lambda t: t.convert_ids_to_tokens(t.encode(SAMPLE)),
        lambda t: t.pad({"input_ids": [t.encode("a"), t.encode(SAMPLE)]}),
        lambda t: len(t),
        lambda t: t.get_vocab(),
        lambda t: t.all_special_tokens,
        lambda t: t.is_fast,
        lambda t: t.num_special_tokens_to_add(),
        lambda t: t.model_max_length,
        lambda t: t.name_or_path,
        lambda t: str(t.__repr__()).split("(", 1)[1],
        lambda t: t("a", "b"),
        lambda t: t(["a", "b"], ["c", "d"]),
        lambda t: t(SAMPLE, text_target=SAMPLE),
        lambda t: t(text_target=SAMPLE),
        lambda t: t(),
        lambda t: t.encode(),
        lambda t: t.encode_plus(SAMPLE),
        lambda t: t.batch_encode_plus([SAMPLE, "a"]),
    ]
    for number, call in enumerate(calls):
        expected, found = outcome(lambda call=call: call(hf)), outcome(lambda call=call: call(ours))
        if expected[0] == "raised":
            assert found[1][0] is expected[1][0], number
            continue
        assert found == expected, number


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("given", [{}, {"truncation": True, "max_length": 9}, {"add_special_tokens": False}])
@pytest.mark.parametrize("text", [SAMPLE, "", [SAMPLE, "the"]])
def test_lazy_encodings(both: Any, text: Any, given: dict[str, Any], side: str) -> None:
    hf, ours = both
    hf.truncation_side = ours.truncation_side = side
    expected, found = hf(text, **given), ours(text, **given)
    # The state at the time of the call counts, not that at the time of the question.
    ours.truncation_side = "left" if side == "right" else "right"
    ours("other", truncation=True, max_length=3)
    assert comparable(found.encodings) == comparable(expected.encodings)
    assert found.n_sequences == expected.n_sequences
    for name in ("tokens", "word_ids", "sequence_ids"):
        assert getattr(found, name)() == getattr(expected, name)()
    assert outcome(lambda: found.char_to_token(1)) == outcome(lambda: expected.char_to_token(1))
    assert outcome(lambda: found.token_to_chars(1)) == outcome(lambda: expected.token_to_chars(1))
    assert outcome(lambda: ours(text, **given)[0]) == outcome(lambda: ours(text, **given)[0])
    assert comparable(found[0]) == comparable(expected[0])


def test_result_survives_copies(both: Any) -> None:
    hf, ours = both
    expected = hf(SAMPLE)
    copies: list[Callable[[Any], Any]] = [
        lambda x: pickle.loads(pickle.dumps(x)),
        copy.copy,
        copy.deepcopy,
        lambda x: x.copy(),
        lambda x: copy.deepcopy(copy.copy(x)),
    ]
    for make in copies:
        found = make(ours(SAMPLE))
        assert found == expected
        assert found.is_fast
        assert found.tokens() == expected.tokens()
    assert type(pickle.loads(pickle.dumps(ours(SAMPLE)))) is BatchEncoding
    result = ours(SAMPLE)
    other = copy.deepcopy(result)
    other["input_ids"].append(1)
    other["labels"] = [1]
    assert result == expected
    assert outcome(lambda: ours(SAMPLE).convert_to_tensors("np")) == outcome(
        lambda: hf(SAMPLE).convert_to_tensors("np")
    )


def asked_of_a_result(result: Any) -> Any:
    """What only the reference's encodings tell, and a copy by pickle."""
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is BatchEncoding
    assert hasattr(result, "encodings")
    return [
        (one.word_ids(), one.tokens(), one.sequence_ids(), one.encodings[0].offsets, one.char_to_token(4))
        for one in (result, again)
    ]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_tokens": lambda t: t.add_tokens(["world", AddedToken("12345", single_word=True)]),
    "add_special_tokens": lambda t: t.add_special_tokens({"mask_token": "world"}),
    "add_special_tokens again": lambda t: t.add_special_tokens({"bos_token": "<s>"}),
    "backend.add_tokens": lambda t: t._tokenizer.add_tokens(["world"]),
    "backend_tokenizer.add_special_tokens": lambda t: t.backend_tokenizer.add_special_tokens(["world"]),
    "an entry of the vocabulary": lambda t: t._tokenizer.add_tokens(["the"]),
    "flags of an added token": lambda t: t._tokenizer.add_special_tokens([AddedToken("<s>", lstrip=True, rstrip=True)]),
    "normalizer": lambda t: setattr(t._tokenizer, "normalizer", normalizers.Lowercase()),
    "no normalizer": lambda t: setattr(t.backend_tokenizer, "normalizer", None),
    "pre-tokenizer": lambda t: setattr(t.backend_tokenizer, "pre_tokenizer", pre_tokenizers.Whitespace()),
    "pre-tokenizer in place": lambda t: setattr(t.backend_tokenizer.pre_tokenizer, "add_prefix_space", True),
    "post-processor": lambda t: setattr(
        t._tokenizer,
        "post_processor",
        processors.TemplateProcessing(single="</s> $A", pair="$A $B", special_tokens=[("</s>", 1)]),
    ),
    "no post-processor": lambda t: setattr(t._tokenizer, "post_processor", None),
    "dropout": lambda t: setattr(t.backend_tokenizer.model, "dropout", 1.0),
    "model": lambda t: setattr(t.backend_tokenizer, "model", models.BPE()),
    "backend": lambda t: setattr(t, "_tokenizer", without_special_tokens(t._tokenizer)),
    "split_special_tokens": lambda t: setattr(t, "split_special_tokens", True),
    "model_max_length": lambda t: setattr(t, "model_max_length", 3),
    "model_input_names": lambda t: setattr(t, "model_input_names", ["input_ids", "token_type_ids"]),
    "truncation left behind": lambda t: t._tokenizer.enable_truncation(3),
    "padding left behind": lambda t: t._tokenizer.enable_padding(length=50),
    "add_bos_token": lambda t: setattr(t, "add_bos_token", True),
    "add_eos_token": lambda t: setattr(t, "add_eos_token", True),
    "training": lambda t: t._tokenizer.train_from_iterator(["world world"] * 9, byte_level_trainer(300)),
}


def without_special_tokens(backend: Tokenizer) -> Tokenizer:
    other = Tokenizer.from_str(backend.to_str())
    other.post_processor = processors.ByteLevel()
    return other


# Nobody has the model that there was before.
LOSES_THE_MODEL = ("training",)


@pytest.mark.parametrize("change", [change for change in CHANGES if change not in LOSES_THE_MODEL])
def test_a_result_keeps_what_it_needs(change: str) -> None:
    """Whatever becomes of its tokenizer, as Hugging Face's does."""
    hf, ours = small_tokenizer(), lopt_plugin.accelerate(small_tokenizer())
    text = SAMPLE + " world 12345 The END e\u0301"
    calls: list[dict[str, Any]] = [
        {},
        {"truncation": True, "max_length": 9},
        {"return_offsets_mapping": True},
        {"text_pair": "the world", "padding": "max_length", "max_length": 90},
        {"truncation": True, "max_length": 9, "return_overflowing_tokens": True},
    ]
    results = [(hf(text, **given), ours(text, **given)) for given in calls]
    CHANGES[change](hf)
    CHANGES[change](ours)
    ours("the state after it")
    for expected, result in results:
        assert asked_of_a_result(result) == asked_of_a_result(expected)


def test_a_result_does_not_keep_wrong_encodings() -> None:
    ours = lopt_plugin.accelerate(small_tokenizer())
    result = ours("the world, the world")
    CHANGES["training"](ours)
    with pytest.raises(RuntimeError, match="was changed"):
        result.tokens()


@pytest.mark.every_parameter  # each is noticed in a way of its own
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("held", [False, True])
def test_changes_are_noticed(change: str, held: bool) -> None:
    hf = small_tokenizer()
    ours = lopt_plugin.accelerate(small_tokenizer())
    text = SAMPLE + " world 12345 The END e\u0301"
    assert ours(text) == hf(text)
    if held:
        # Reached through an object from before, so that reading `_tokenizer` is not what gives the change away.
        shallow = copy.copy(ours)
        assert shallow._tokenizer is ours._tokenizer
        results = CHANGES[change](hf), CHANGES[change](shallow)
        if change in KEPT_IN_THE_OBJECT:
            return
    else:
        results = CHANGES[change](hf), CHANGES[change](ours)
    assert results[0] == results[1]
    for _ in range(2):
        assert outcome(lambda: ours(text)) == outcome(lambda: hf(text))
        assert outcome(lambda: ours.encode(text)) == outcome(lambda: hf.encode(text))
        assert outcome(lambda: ours([text, "a"])) == outcome(lambda: hf([text, "a"]))
    copied = copy.deepcopy(ours)
    hf_copied = copy.deepcopy(hf)
    assert outcome(lambda: copied(text)) == outcome(lambda: hf_copied(text))


KEPT_IN_THE_OBJECT = (
    "backend", "split_special_tokens", "model_max_length", "model_input_names", "add_bos_token", "add_eos_token",
)  # fmt: skip


def test_added_tokens_that_change_nothing_do_not_rebuild() -> None:
    ours = lopt_plugin.accelerate(small_tokenizer())
    before = ours.lopt._runner.state.snapshot()
    assert before.native is not None, before.reason
    ours.add_special_tokens({"bos_token": AddedToken("<s>", special=True, normalized=False)})
    assert ours.lopt._runner.state.snapshot().native is before.native
    ours._tokenizer.post_processor = None
    assert ours.lopt._runner.state.snapshot().native.core is before.native.core


def test_accelerate_shares_the_rust_tokenizer(small: Any) -> None:
    ours = lopt_plugin.accelerate(small)
    assert type(small) is PreTrainedTokenizerFast
    assert ours._tokenizer is small._tokenizer
    assert isinstance(ours, PreTrainedTokenizerFast)
    assert type(ours).__name__ == f"Lopt{type(small).__name__}"
    assert type(ours) is type(lopt_plugin.accelerate(small))
    again = lopt_plugin.accelerate(ours, route="hf")
    assert type(again) is type(ours)
    assert again.lopt.explain()["route"] == "hf"
    for number, adds in enumerate((ours, small, again)):
        adds.add_tokens([f"w{number}rld"])
        text = f"{SAMPLE} w{number}rld"
        expected = small(text)
        assert ours(text) == again(text) == expected
        assert len(ours) == len(again) == len(small)
    assert ours.lopt.explain()["route"] == "native"


def test_python_attributes_belong_to_each_tokenizer(small: Any) -> None:
    ours = lopt_plugin.accelerate(small)
    ours.padding_side, ours.model_max_length = "left", 7
    ours.add_special_tokens({"mask_token": "<mask>"})
    ours.pad_token = "</s>"
    assert (small.padding_side, small.model_max_length) == ("right", 20)
    assert (small.mask_token, small.pad_token, ours.pad_token) == (None, "<pad>", "</s>")
    assert small.convert_tokens_to_ids("<mask>") == ours.mask_token_id  # the Rust tokenizer is shared


@pytest.mark.parametrize("route", ["auto", "hf"])
def test_the_given_tokenizer_goes_on(small: Any, route: str) -> None:
    """Its truncation and padding are its own calls', whoever encodes in between; copies of either are independent."""
    alone, ours = copy.deepcopy(small), lopt_plugin.accelerate(small, route=route)
    calls: list[dict[str, Any]] = [
        {"truncation": True, "max_length": 4},
        {},
        {"padding": "max_length", "max_length": 30},
        {"truncation": True, "max_length": 6, "return_overflowing_tokens": True, "stride": 1},
    ]
    for given in (*calls, *calls[::-1]):
        for tokenizer in (ours, small, ours):
            assert comparable(tokenizer(SAMPLE, **given)) == comparable(alone(SAMPLE, **given))
        state = small._tokenizer.truncation, small._tokenizer.padding
        ours(SAMPLE)
        ours(SAMPLE, truncation=True, max_length=5)
        if route == "auto":  # who asks the Rust tokenizer itself finds what the last call of transformers left there
            assert (small._tokenizer.truncation, small._tokenizer.padding) == state
    for copied in (copy.deepcopy(small), pickle.loads(pickle.dumps(small)), copy.deepcopy(ours)):
        assert copied._tokenizer is not small._tokenizer
        copied.add_tokens(["world"])
        assert small.convert_tokens_to_ids("world") == alone.convert_tokens_to_ids("world")
    assert type(pickle.loads(pickle.dumps(small))) is PreTrainedTokenizerFast


def test_two_accelerated_tokenizers_share_a_lock(small: Any) -> None:
    """Both set the truncation of the one Rust tokenizer where Hugging Face answers."""
    one, other = lopt_plugin.accelerate(small, route="hf"), lopt_plugin.accelerate(small)
    assert one.lopt._runner.hf.lock is other.lopt._runner.hf.lock
    assert lopt_plugin.accelerate(small_tokenizer()).lopt._runner.hf.lock is not one.lopt._runner.hf.lock


def test_slow_tokenizer_is_refused() -> None:
    with pytest.raises(TypeError, match="fast tokenizers"):
        lopt_plugin.accelerate(object())  # type: ignore[arg-type]
    from transformers import PreTrainedTokenizer

    class Slow(PreTrainedTokenizer):
        vocab_size = 0

        def get_vocab(self) -> dict[str, int]:
            return {}

        def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
            return list(text)

    with pytest.raises(TypeError, match=r"fast tokenizers.*Slow"):
        lopt_plugin.accelerate(Slow())


def test_signatures(small: Any) -> None:
    ours = lopt_plugin.accelerate(small)
    assert inspect.signature(ours.apply_chat_template) == inspect.signature(small.apply_chat_template)
    for name in ("__call__", "encode"):
        expected = list(inspect.signature(getattr(small, name)).parameters)
        found = list(inspect.signature(getattr(ours, name)).parameters)
        assert [n for n in found if n != "tokenizer_kwargs"] == [n for n in expected if n != "tokenizer_kwargs"]


def test_chat_template(both: Any) -> None:
    pytest.importorskip("jinja2")
    hf, ours = both
    hf.chat_template = ours.chat_template = (
        "{% for m in messages %}<s>{{ m.role }}\n{% generation %}{{ m.content }}{% endgeneration %}</s>{% endfor %}"
    )
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": SAMPLE}]
    before = ours.lopt._runner.native_calls
    for given in (
        {},
        {"tokenize": False},
        {"return_dict": True},
        {"return_dict": True, "return_assistant_tokens_mask": True},
        {"truncation": True, "max_length": 7},
        {"padding": True, "return_tensors": "np", "return_dict": True},
        {"tokenizer_kwargs": {"return_offsets_mapping": True}, "return_dict": True},
    ):
        expected = outcome(lambda given=given: hf.apply_chat_template(chat, **given))
        assert outcome(lambda given=given: ours.apply_chat_template(chat, **given)) == expected
        expected = outcome(lambda given=given: hf.apply_chat_template([chat, chat[:1]], **given))
        assert outcome(lambda given=given: ours.apply_chat_template([chat, chat[:1]], **given)) == expected
    if ours.lopt.explain()["route"] == "native":
        assert ours.lopt._runner.native_calls > before


def test_copies_share_what_was_built(small: Any) -> None:
    ours = lopt_plugin.accelerate(small)
    ours.set_by_an_engine = {"a": 1}
    shallow, deep = copy.copy(ours), copy.deepcopy(ours)
    assert shallow._tokenizer is ours._tokenizer
    assert shallow.lopt is ours.lopt
    assert deep._tokenizer is not ours._tokenizer
    assert deep.lopt is not ours.lopt
    assert deep.lopt._runner.state.snapshot().native is ours.lopt._runner.state.snapshot().native
    assert deep.set_by_an_engine == {"a": 1}
    assert deep.set_by_an_engine is not ours.set_by_an_engine
    assert type(deep) is type(shallow) is type(ours)
    deep.add_tokens(["world"])
    assert deep("the world") != ours("the world")
    assert ours("the world") == small("the world")
    shallow.add_tokens(["world"])
    assert ours("the world") == deep("the world")
    assert hash(ours) != hash(deep)
    assert weakref.ref(ours)() is ours
    both = copy.deepcopy([ours, ours])
    assert both[0] is both[1]


def test_pickle(both: Any) -> None:
    hf, ours = copy.deepcopy(both)
    ours.add_tokens(["world"])
    hf.add_tokens(["world"])
    loaded = pickle.loads(pickle.dumps(ours))
    assert type(loaded) is type(ours)
    assert loaded(SAMPLE) == hf(SAMPLE)
    assert loaded.lopt._runner.settings == ours.lopt._runner.settings
    assert loaded.lopt.explain()["route"] == ours.lopt.explain()["route"]


def test_a_pickle_keeps_its_settings(small: Any) -> None:
    given: dict[str, Any] = {"threads": available_cpus() + 1, "verify": 0.5}
    restored = pickle.loads(pickle.dumps(lopt_plugin.accelerate(small, **given)))
    assert restored.lopt._runner.settings == Settings.read(**given)


def test_subclass_with_its_own_reduce(small: Any) -> None:
    """What vLLM's get_cached_tokenizer does."""
    ours = lopt_plugin.accelerate(small)
    cached = get_cached(ours)
    assert cached._lopt_direct == ours._lopt_direct
    assert len(cached) == 123
    for again in (cached, copy.copy(cached), copy.deepcopy(cached), pickle.loads(pickle.dumps(cached))):
        assert len(again) == 123
        assert type(again).__name__ == "Cached"
        assert isinstance(again(SAMPLE), LazyBatchEncoding) == (ours.lopt.explain()["route"] == "native")
        assert again(SAMPLE) == small(SAMPLE)


def get_cached(tokenizer: Any) -> Any:
    cached = copy.copy(tokenizer)

    class Cached(tokenizer.__class__):  # type: ignore[name-defined, misc]
        def __len__(self) -> int:
            return 123

        def __reduce__(self) -> Any:
            return get_cached, (tokenizer,)

    cached.__class__ = Cached
    return cached


def test_subclasses_that_override_are_obeyed(small: Any) -> None:
    class Marked(PreTrainedTokenizerFast):
        def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
            result = super()._encode_plus(*args, **kwargs)
            result["mark"] = 1
            return result

    class Shouting(PreTrainedTokenizerFast):
        def __call__(self, text: str, loud: bool = True) -> Any:
            return super().__call__(text.upper() if loud else text)

    class Whispering(PreTrainedTokenizerFast):
        def encode(self, text: str, **kwargs: Any) -> Any:
            return super().encode(text.lower(), **kwargs)

    class Counting(PreTrainedTokenizerFast):
        calls = 0

        def _get_padding_truncation_strategies(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super()._get_padding_truncation_strategies(*args, **kwargs)

    for kind in (Marked, Shouting, Whispering, Counting):
        hf = copy.deepcopy(small)
        hf.__class__ = kind
        ours = lopt_plugin.accelerate(hf)
        for _ in range(2):  # the second time, there is a shortcut
            assert ours("the Hello") == hf("the Hello")
            assert ours.encode("the Hello") == hf.encode("the Hello")
        assert getattr(ours, "calls", 0) == getattr(hf, "calls", 0)
        after = lopt_plugin.accelerate(small)
        after.__class__ = type("After", (type(after),), dict(vars(kind)) if kind is not Whispering else {})
        assert isinstance(after, PreTrainedTokenizerFast)
    assert Shouting.__call__ is type(lopt_plugin.accelerate(rebranded(small, Shouting))).__call__


def rebranded(tokenizer: Any, kind: type) -> Any:
    other = copy.deepcopy(tokenizer)
    other.__class__ = kind
    return other


def test_save_pretrained(both: Any, tmp_path: Path) -> None:
    hf, ours = both
    hf.save_pretrained(tmp_path / "hf")
    ours.save_pretrained(tmp_path / "ours")
    files = sorted(path.name for path in (tmp_path / "hf").iterdir())
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == files
    for name in files:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "hf" / name).read_bytes(), name
    reloaded = AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert type(reloaded) is type(hf)
    assert reloaded(SAMPLE) == hf(SAMPLE)


def test_train_new(small: Any) -> None:
    texts = [[SAMPLE, "hello hello"]]
    hf = small.train_new_from_iterator(texts, 350)
    ours = lopt_plugin.accelerate(small).train_new_from_iterator(texts, 350)
    assert type(ours).__name__.startswith("Lopt")
    assert ours(SAMPLE) == hf(SAMPLE)


def test_watching_leaks_nothing(small: Any) -> None:
    def make() -> weakref.ref[Any]:
        ours = lopt_plugin.accelerate(small)
        ours(SAMPLE)
        backend = ours._tokenizer
        encoder = weakref.ref(ours.lopt)
        del ours
        gc.collect()
        assert backend.add_tokens(["world"]) == 1
        return encoder

    assert make()() is None


def test_threads(both: Any) -> None:
    """Calls of every kind at once, while one thread keeps changing the truncation on the HF side."""
    hf, ours = both
    hf.truncation_side = ours.truncation_side = "right"
    calls: list[dict[str, Any]] = [
        {},
        {"truncation": True, "max_length": 5},
        {"truncation": True, "max_length": 9, "return_offsets_mapping": True},
        {"return_offsets_mapping": True},
        {"padding": "max_length", "max_length": 40, "truncation": True} if hf.pad_token else {"return_length": True},
    ]
    expected = [dict(hf(SAMPLE, **given)) for given in calls]
    wrong: list[Any] = []
    stop = threading.Event()

    def work(offset: int) -> None:
        for k in range(60):
            index = (k + offset) % len(calls)
            try:
                found = dict(ours(SAMPLE, **calls[index]))
            except Exception as error:
                found = {"error": error}
            if found != expected[index]:
                wrong.append((calls[index], found))

    def decode() -> None:
        while not stop.wait(0.001):
            ours.decode(expected[0]["input_ids"] * 50)

    workers = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    decoder = threading.Thread(target=decode)
    for thread in [decoder, *workers]:
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    decoder.join()
    assert wrong == []


class Lock:
    """A lock that says when somebody comes to it."""

    def __init__(self, comes: threading.Event) -> None:
        self._lock, self._comes = threading.RLock(), comes

    def __enter__(self) -> None:
        self._comes.set()
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def test_a_reference_call_during_another_one(small: Any) -> None:
    """The other one is in the Rust tokenizer, with its truncation set, until the second is there too or has to wait."""
    hf = copy.deepcopy(small)
    ours = lopt_plugin.accelerate(small, route="hf")
    ours.lopt._runner.state.snapshot()
    comes, first_is_done = threading.Event(), threading.Event()
    ours.lopt._runner.hf._lock.lock = Lock(comes)
    backend = ours._tokenizer
    encode_batch = backend.encode_batch
    found: dict[int, list[int]] = {}

    def call(limit: int) -> None:
        found[limit] = ours(SAMPLE, truncation=True, max_length=limit)["input_ids"]

    second = threading.Thread(target=call, args=(9,))

    def slow(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is second:
            comes.set()
            first_is_done.wait(10)
        else:
            comes.clear()
            second.start()
            comes.wait(10)
        return encode_batch(*args, **kwargs)

    backend.encode_batch = slow
    call(5)
    first_is_done.set()
    second.join()
    assert found == {limit: hf(SAMPLE, truncation=True, max_length=limit)["input_ids"] for limit in (5, 9)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("route", ["auto", "hf"])
def test_fork_while_a_thread_holds_the_lock(small: Any, route: str) -> None:
    ours = lopt_plugin.accelerate(small, route=route)
    expected = small(SAMPLE, return_offsets_mapping=True)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with ours.lopt._runner.hf.lock:
            entered.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=lambda: send.send(dict(ours(SAMPLE, return_offsets_mapping=True))))
    child.start()
    arrived = receive.poll(20)
    found = receive.recv() if arrived else None
    leave.set()
    holder.join()
    child.kill()
    child.join()
    assert found == dict(expected)


ASKED_BY_ENGINES: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "array": ("word " * 40, lambda ours, text: ours._lopt_array(text).tolist()),
    "batch": (["a", "word " * 40, "word " * 50], lambda ours, texts: rows_of(ours._lopt_batch(texts))),
    "batch of short texts": (["the end"] * 20, lambda ours, texts: rows_of(ours._lopt_batch(texts))),
}


def rows_of(batch: Any) -> list[list[int]]:
    return [batch.row(number).tolist() for number in range(len(batch))]


@pytest.mark.parametrize("asked", ASKED_BY_ENGINES)
def test_warnings_of_what_engines_ask_for(small: Any, asked: str) -> None:
    """Those of transformers, each as often."""
    texts, ask = ASKED_BY_ENGINES[asked]
    hf = copy.deepcopy(small)
    hf.deprecation_warnings.clear()
    ours = lopt_plugin.accelerate(hf)
    for _ in range(2):
        expected = outcome(lambda: hf(texts)["input_ids"])
        assert outcome(lambda: ask(ours, texts)) == expected


def test_explain_counts_and_gives_reasons(small: Any) -> None:
    ours = lopt_plugin.accelerate(small)
    ours(SAMPLE)
    ours(SAMPLE, return_offsets_mapping=True)
    ours(SAMPLE, "pair")
    ours(SAMPLE, truncation=True, max_length=9, return_overflowing_tokens=True)
    ours(SAMPLE.split(), is_split_into_words=True)
    ours(tuple(SAMPLE.split()), is_split_into_words=True)
    explained = ours.lopt.explain()
    assert explained["route"] == "native", explained["reason"]
    if TRANSFORMERS_4:  # where what overflows, and words, are left to it
        assert explained["calls"]["native"] == 3
        assert explained["hf_calls"] == {"return_overflowing_tokens": 1, "is_split_into_words": 2}
    else:
        assert explained["calls"]["native"] == 5
        assert explained["hf_calls"] == {"words that are not a list": 1}


def test_from_pretrained_takes_settings(folder: Path) -> None:
    ours = lopt_plugin.from_pretrained(folder, threads=1, truncation_side="left", verify=0.5)
    assert ours.truncation_side == "left"
    assert ours.lopt._runner.settings.threads == 1
    assert ours.lopt._runner.settings.verify == 0.5
    with pytest.raises(ValueError, match="route"):
        lopt_plugin.from_pretrained(folder, route="warp")
