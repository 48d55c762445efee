"""Calls of the transformers interface over a grid of arguments, each compared with the original tokenizer's.

It holds for every family, whether a call is answered natively or by HF.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import itertools
import random
import warnings
from pathlib import Path
from typing import Any

import corpus
import interface_tokenizers
import pytest
import tier
import transformers
from hypothesis import given, strategies as st
from outcomes import comparable, outcome, whole
from transformers import AutoTokenizer, BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

import lopt_plugin

SAMPLE = "Hello world, isn't it 12345? <mask> </s> Cafe\u0301 中文 \n\n  the end 👍🏽"
FIRST = ["The quick brown fox", " jumps over\u0301 the  lazy dog ", "", "isn't it?", SAMPLE]
SECOND = ["the rest", "", " of the world 中文", "a", SAMPLE[::-1]]

TEXTS: dict[str, tuple[Any, ...]] = {
    "text": (SAMPLE,),
    "empty": ("",),
    "pair": (SAMPLE, "the rest of it, isn't it"),
    "short and long": ("a", SAMPLE * 2),
    "empty pair": (SAMPLE, ""),
    "batch": (FIRST,),
    "batch of pairs": (FIRST, SECOND),
    "tuples": ([*zip(FIRST, SECOND, strict=True)],),
    "texts and tuples": (["the world", ("a pair", "of texts"), SAMPLE],),
    "one row": ([SAMPLE],),
    "rows of one length": (["the end", "the end"],),
    "no tokens": (["", ""],),
    "words": (SAMPLE.split(),),
    "batch of words": ([SAMPLE.split(), ["a"], []],),
    "lists": ([["a", "b"], ["the", "end"]],),
    "other lengths": (FIRST, SECOND[:2]),
    "pair of a batch": (FIRST, "text"),
    "pair of lists": ("text", SECOND),
    "surrogate": (["a", "\ud800"],),
    "surrogate in a pair": ("a", "b\udfff"),
    "no text": ([1, 2],),
}
TRUNCATION: list[dict[str, Any]] = [
    {},
    {"truncation": True},
    {"truncation": True, "max_length": 1},
    {"truncation": True, "max_length": 4},
    {"truncation": True, "max_length": 5},
    {"truncation": "longest_first", "max_length": 16},
    {"truncation": TruncationStrategy.LONGEST_FIRST, "max_length": 24},
    {"truncation": "only_first", "max_length": 16},
    {"truncation": "only_first", "max_length": 40},
    {"truncation": "only_second", "max_length": 16},
    {"truncation": "only_second", "max_length": 24},
    {"truncation": True, "max_length": 16, "stride": 3},
    {"max_length": 16},
    {"truncation": False, "max_length": 16},
]
PADDING: list[dict[str, Any]] = [
    {},
    {},
    {"padding": True},
    {"padding": "longest", "padding_side": "left"},
    {"padding": "max_length", "max_length": 24},
    {"padding": PaddingStrategy.MAX_LENGTH, "max_length": 40, "padding_side": "left"},
    {"padding": True, "pad_to_multiple_of": 8},
    {"padding": "max_length", "max_length": 24, "pad_to_multiple_of": 16},
    {"padding": True, "pad_to_multiple_of": 0},
    {"padding": "max_length"},
    {"padding": "do_not_pad", "pad_to_multiple_of": 8},
]
TENSORS: list[dict[str, Any]] = [{}, {}, {}, *({"return_tensors": kind} for kind in ("np", "pt", "xy"))]
COLUMNS: list[dict[str, Any]] = [
    {name: value}
    for name, values in {
        "return_token_type_ids": (None, True, False),
        "return_attention_mask": (None, True, False),
        "return_special_tokens_mask": (False, True),
        "return_offsets_mapping": (False, True),
        "return_length": (False, True),
        "return_overflowing_tokens": (False, False, False, True),
    }.items()
    for value in values
]
SPECIAL: list[dict[str, Any]] = [{}, {"add_special_tokens": False}, {"split_special_tokens": True}]
WORDS: list[dict[str, Any]] = [{}, {}, {}, {"is_split_into_words": True}]


@functools.lru_cache(maxsize=2)
def both(name: str) -> tuple[Any, Any]:
    """(HF, accelerated)."""
    tokenizer = interface_tokenizers.original(name)
    return tokenizer, lopt_plugin.accelerate(tokenizer, threads=2)


def grid(rng: random.Random) -> dict[str, Any]:
    """One point of the product of all arguments."""
    arguments: dict[str, Any] = {}
    for axis in (TRUNCATION, PADDING, TENSORS, SPECIAL, WORDS):
        arguments.update(rng.choice(axis))
    for _, columns in itertools.groupby(COLUMNS, key=lambda column: next(iter(column))):
        arguments.update(rng.choice(list(columns)))
    if rng.random() < 0.5:  # half of the points are plain in all that HF alone does
        for name in ("stride", "return_overflowing_tokens", "is_split_into_words"):
            arguments.pop(name, None)
    return arguments


def assert_same(name: str, texts: tuple[Any, ...], arguments: dict[str, Any]) -> bool:
    """Whether the call gave a result; the same one from both, or the same exception."""
    hf, ours = both(name)
    hf.deprecation_warnings.clear()
    ours.deprecation_warnings.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(lambda: hf(*texts, **arguments))
        assert outcome(lambda: ours(*texts, **arguments)) == expected, (texts, arguments)
    return expected[0] == "returned"


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_grid(name: str, texts: str, side: str) -> None:
    rng = random.Random(f"{name} {texts} {side}")
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = side
    for number in range(tier.pick(6, 20)):
        arguments = grid(rng)
        returned = assert_same(name, TEXTS[texts], arguments)
        if returned and number % 4 == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, found = hf(*TEXTS[texts], **arguments), ours(*TEXTS[texts], **arguments)
            assert whole(found) == whole(expected), arguments


@pytest.mark.parametrize("name", ["bert", "llama", "roberta", "qwen", "template"])
def test_every_pair_of_arguments(name: str) -> None:
    """Each argument with each other one, for a pair and for a batch."""
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = "right"
    single = [*TRUNCATION, *PADDING, *TENSORS, *COLUMNS, *SPECIAL]
    for one, other in itertools.combinations([*map(dict, {frozenset(a.items()) for a in single})], 2):
        for texts in ((SAMPLE, "the rest"), (FIRST,)):
            assert_same(name, texts, {**one, **other})


@pytest.mark.parametrize("name", ["roberta", "qwen", "template", "bert"])
@given(data=st.data())
def test_pairs_of_any_texts(name: str, data: st.DataObject) -> None:
    pieces = st.sampled_from([*SAMPLE, " ", "the", " world", "<mask>", "e\u0301", "\u2003", "Ġ", "中", "</s>"])
    text = st.lists(pieces, max_size=12).map("".join)
    arguments = {
        "truncation": data.draw(st.sampled_from([False, "longest_first", "only_first", "only_second"])),
        "max_length": data.draw(st.integers(1, 30)),
        "return_offsets_mapping": True,
        "return_token_type_ids": True,
        "return_special_tokens_mask": True,
        "padding": data.draw(st.sampled_from([False, "longest"])),
    }
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = data.draw(st.sampled_from(["left", "right"]))
    assert_same(name, ([data.draw(text), "a"], [data.draw(text), "b"]), arguments)
    assert_same(name, (data.draw(text),), arguments)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_padding_side_of_the_tokenizer(name: str, side: str) -> None:
    hf, ours = both(name)
    before = hf.padding_side
    hf.padding_side = ours.padding_side = side
    try:
        for arguments in ({"padding": True}, {"padding": "max_length", "max_length": 50, "return_tensors": "np"}):
            assert_same(name, (FIRST,), {**arguments, "return_offsets_mapping": True})
            assert_same(name, (FIRST, SECOND), {**arguments, "return_special_tokens_mask": True})
    finally:
        hf.padding_side = ours.padding_side = before


def calls_of(ids: list[int]) -> list[Any]:
    """Calls of the other methods of a tokenizer, those of older versions too."""
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": SAMPLE}]
    return [
        lambda t: t.decode(ids),
        lambda t: t.decode(ids, skip_special_tokens=True),
        lambda t: t.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=True),
        lambda t: t.decode(ids[0]),
        lambda t: t.decode([ids, ids[:2]]),
        lambda t: t.batch_decode([ids, ids[:3]], skip_special_tokens=True),
        lambda t: t.batch_decode(t([SAMPLE, "a"], padding=True, return_tensors="np")["input_ids"]),
        lambda t: t.convert_ids_to_tokens(ids),
        lambda t: t.convert_ids_to_tokens(ids[0]),
        lambda t: t.convert_ids_to_tokens(ids, skip_special_tokens=True),
        lambda t: t.convert_tokens_to_ids(t.convert_ids_to_tokens(ids)),
        lambda t: t.convert_tokens_to_ids("no such token"),
        lambda t: t.convert_tokens_to_string(t.convert_ids_to_tokens(ids)),
        lambda t: t.tokenize(SAMPLE),
        lambda t: t.tokenize(SAMPLE, "pair", add_special_tokens=True),
        lambda t: t.tokenize("the end", pair="of it", truncation=True, max_length=3),
        lambda t: t.encode(SAMPLE, "pair"),
        lambda t: t.encode(SAMPLE, "pair", truncation="only_first", max_length=9),
        lambda t: t.encode(SAMPLE, padding="max_length", max_length=60),
        lambda t: t.encode(SAMPLE, return_tensors="np"),
        lambda t: t.encode([SAMPLE, "a"]),
        lambda t: t.encode(SAMPLE.split(), is_split_into_words=True),
        lambda t: t.encode_plus(SAMPLE, "pair", return_offsets_mapping=True),
        lambda t: t.encode_plus([SAMPLE, "pair"]),
        lambda t: t.batch_encode_plus([SAMPLE, "pair"], padding=True),
        lambda t: t.batch_encode_plus([(SAMPLE, "pair"), ("a", "b")], return_offsets_mapping=True),
        lambda t: t.batch_encode_plus(SAMPLE),
        lambda t: t.pad({"input_ids": [ids, ids[:2]]}, padding_side="left"),
        lambda t: t.pad(t([SAMPLE, "a"]), return_tensors="np"),
        lambda t: t.pad([t(SAMPLE), t("a")], padding="max_length", max_length=99),
        lambda t: t.prepare_for_model(ids, ids[:3], truncation=True, max_length=7),
        lambda t: t.truncate_sequences(ids, ids[:3], num_tokens_to_remove=2),
        lambda t: t.num_special_tokens_to_add(pair=True),
        lambda t: t.build_inputs_with_special_tokens(ids, ids[:2]),
        lambda t: t.create_token_type_ids_from_sequences(ids, ids[:2]),
        lambda t: t.get_special_tokens_mask(ids, already_has_special_tokens=True),
        lambda t: t(text_target=SAMPLE, return_offsets_mapping=True),
        lambda t: t(SAMPLE, text_target="the rest", text_pair_target="of it", padding=True),
        lambda t: t([SAMPLE, "a"], text_target=["b", "the end"], max_target_length=3, truncation=True, max_length=9),
        lambda t: t(SAMPLE, tokenizer_kwargs={"return_offsets_mapping": True, "padding": "longest"}),
        lambda t: t.apply_chat_template(chat, tokenize=True),
        lambda t: t.apply_chat_template(chat, tokenize=True, return_dict=True, return_assistant_tokens_mask=True),
        lambda t: t.apply_chat_template([chat, chat[:1]], padding=True, return_tensors="np", return_dict=True),
        lambda t: t.apply_chat_template(chat, truncation=True, max_length=7, add_generation_prompt=True),
        lambda t: t.apply_chat_template(chat, continue_final_message=True, return_dict=True),
        lambda t: t.apply_chat_template(chat, tokenizer_kwargs={"return_offsets_mapping": True}, return_dict=True),
        lambda t: t.apply_chat_template([chat, chat[:1]], return_tensors="pt", padding="longest"),
        lambda t: t.apply_chat_template(chat, tokenize=False),
        lambda t: t(SAMPLE).convert_to_tensors("np", prepend_batch_axis=True),
        lambda t: t(SAMPLE, "pair", return_tensors="np").to("cpu"),
        lambda t: t(b"bytes", padding=True),
        lambda t: t(None, "pair"),
        lambda t: t(SAMPLE, padding="sometimes"),
        lambda t: t(SAMPLE, padding=True, padding_side="up"),
        lambda t: t([SAMPLE, "a"], padding="max_length", max_length=-3),
        lambda t: t([SAMPLE, "a"], padding="max_length", max_length=7.5),
        lambda t: t([SAMPLE, "a"], padding=True, pad_to_multiple_of=3, truncation=True, max_length=8),
    ]


@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_other_calls(name: str) -> None:
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = "right"
    hf.chat_template = ours.chat_template = (
        "{% for m in messages %}{{ m.role }}\n{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, call in enumerate(calls_of(hf.encode(SAMPLE))):
            hf.deprecation_warnings.clear()
            ours.deprecation_warnings.clear()
            expected, found = outcome(lambda call=call: call(hf)), outcome(lambda call=call: call(ours))
            if expected[0] == "raised" and expected[1][0] is AttributeError:
                assert found[1][0] is AttributeError, number
                continue
            assert found == expected, number


@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    hf, ours = both(name)
    ours.save_pretrained(tmp_path)
    plain = AutoTokenizer.from_pretrained(tmp_path)
    again = lopt_plugin.from_pretrained(tmp_path, threads=1)
    assert again.lopt.explain()["route"] == lopt_plugin.accelerate(plain).lopt.explain()["route"]
    for texts in ((SAMPLE, "the rest"), (FIRST,)):
        given = {"padding": hf.pad_token is not None, "return_offsets_mapping": True}
        assert comparable(again(*texts, **given)) == comparable(plain(*texts, **given))


@pytest.mark.parametrize("name", ["qwen", "roberta", "template", "tiny_falcon", "bert", "llama"])
def test_common_calls_are_native(name: str) -> None:
    """So that the grid does not only compare HF with HF."""
    _, ours = both(name)
    ours.truncation_side = "right"
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((SAMPLE,), {}),
        ((SAMPLE,), {"return_offsets_mapping": True}),
        ((SAMPLE, "the rest"), {"return_token_type_ids": True}),
        ((FIRST,), {"padding": True, "return_tensors": "np"}),
        ((FIRST, SECOND), {"padding": "max_length", "max_length": 40, "truncation": True, "return_length": True}),
        ((SAMPLE, "the rest"), {"truncation": "only_first", "max_length": 20, "return_special_tokens_mask": True}),
        (([("a", "b"), "c"],), {"return_offsets_mapping": True}),
    ]
    ours.lopt._runner.reference_calls.clear()
    for texts, given_arguments in calls:
        ours(*texts, **given_arguments)
    only_falcon_drops = {"the vocabulary lacks a byte of the text"} if name == "tiny_falcon" else set()
    assert set(ours.lopt.explain()["hf_calls"]) <= only_falcon_drops


@pytest.mark.parametrize("verify", [0.0, 1.0])
def test_batches_on_several_threads(verify: float) -> None:
    hf = interface_tokenizers.original("qwen")
    ours = lopt_plugin.accelerate(hf, threads=3, parallel_min_chars=200, chunk_chars=50, verify=verify)
    rng = random.Random(7)
    texts = ["".join(rng.choices(SAMPLE, k=rng.choice([0, 3, 40, 150, 199, 200, 201, 700]))) for _ in range(60)]
    few_long = ["", SAMPLE * 9, "the end", SAMPLE * 5, " "]
    for arguments in (
        {},
        {"truncation": True, "max_length": 30},
        {"padding": True, "return_tensors": "np", "return_offsets_mapping": True},
        {"return_offsets_mapping": True},
    ):
        assert comparable(ours(texts, **arguments)) == comparable(hf(texts, **arguments))
        assert comparable(ours(texts, texts[::-1], **arguments)) == comparable(hf(texts, texts[::-1], **arguments))
        assert comparable(ours(few_long, **arguments)) == comparable(hf(few_long, **arguments))
    assert ours.lopt.explain()["calls"]["hf"] == 0
    batch = ours.lopt.encode_batch_ids(few_long)
    assert [batch.row(row).tolist() for row in range(len(batch))] == hf(few_long)["input_ids"]


def test_verification_finds_wrong_rows(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    hf = interface_tokenizers.original("qwen")
    ours = lopt_plugin.accelerate(hf, threads=1, verify=1.0)
    native = ours.lopt._runner.state.snapshot().native
    right = native.text_with_offsets

    def wrong(*args: Any, **kwargs: Any) -> Any:
        ids, offsets = right(*args, **kwargs)
        return ids, [(0, 1)] * len(offsets)

    monkeypatch.setattr(native, "text_with_offsets", wrong)
    assert comparable(ours(SAMPLE, return_offsets_mapping=True)) == comparable(hf(SAMPLE, return_offsets_mapping=True))
    assert "verification" in caplog.text
    assert ours.lopt.explain()["route"] == "hf"


@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_decoding(name: str) -> None:
    """Transformers patches `decode` on the Rust tokenizer of CLIP."""
    hf, ours = both(name)
    ids = hf([SAMPLE, "a photo of a cat"])["input_ids"]
    for skip in (False, True):
        expected = [hf.decode(row, skip_special_tokens=skip) for row in ids]
        assert [ours.decode(row, skip_special_tokens=skip) for row in ids] == expected
        assert ours.batch_decode(ids, skip_special_tokens=skip) == hf.batch_decode(ids, skip_special_tokens=skip)
    assert ours.decode(ids[0][:1]) == hf.decode(ids[0][:1])
    assert ours.convert_ids_to_tokens(ids[0]) == hf.convert_ids_to_tokens(ids[0])


@pytest.mark.parametrize("name", interface_tokenizers.names())
def test_runs(name: str) -> None:
    """Where several ways to divide a run cost the same, a model that went through JSON may choose another one."""
    hf, ours = both(name)
    for text in ("SUPPORT\n-------", *("-" * number for number in range(1, 60))):
        expected = hf(text)["input_ids"]
        assert ours(text)["input_ids"] == ours.lopt.encode_list(text) == expected


def test_result_is_a_batch_encoding() -> None:
    _, ours = both("qwen")
    result = ours(FIRST, SECOND, padding=True, return_tensors="np")
    assert isinstance(result, BatchEncoding)
    assert result["input_ids"].flags.writeable
    if importlib.util.find_spec("torch"):
        tensors = ours(FIRST, padding=True, return_tensors="pt")
        tensors["input_ids"] += 1
        assert not tensors["input_ids"].requires_grad


def test_a_result_of_a_tokenizer_that_has_changed() -> None:
    hf = copy.deepcopy(interface_tokenizers.original("qwen"))
    ours = lopt_plugin.accelerate(hf)
    expected, result = (made(["the world", "a"], ["the rest", "b"], padding=True) for made in (hf, ours))
    ours.add_tokens(["world"])
    assert [result.tokens(row) for row in range(2)] == [expected.tokens(row) for row in range(2)]


def test_which_version() -> None:
    """What the two lines of transformers have in common is tested in both; the suite is run with each."""
    assert transformers.__version__.split(".")[0] in ("4", "5")
    assert corpus.tokenizer_names()
