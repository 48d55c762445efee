"""Parts that overlap and texts in words, over a grid of arguments: whole results as transformers gives them."""

from __future__ import annotations

import random
import warnings
from typing import Any

import interface_tokenizers
import pytest
import test_interface_grid as grid_of_arguments
import tier
from outcomes import outcome, whole
from test_interface_grid import FIRST, SAMPLE, SECOND, TEXTS, both

from lopt_plugin.tokenizer.arguments import TRANSFORMERS_4

NAMES = [name for name in interface_tokenizers.names() if name not in ("qwen3", "llama3", "t5_small")]


def arguments_of(rng: random.Random, texts: str) -> dict[str, Any]:
    arguments = grid_of_arguments.grid(rng)
    for name in ("stride", "return_overflowing_tokens", "is_split_into_words"):
        arguments.pop(name, None)
    if rng.random() < 0.6:
        arguments["return_overflowing_tokens"] = True
    if rng.random() < 0.6:
        arguments["stride"] = rng.choice([1, 2, 5])
    if "words" in texts or "lists" in texts or rng.random() < 0.1:
        arguments["is_split_into_words"] = rng.random() < 0.8
    return arguments


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_grid(name: str, texts: str, side: str) -> None:
    rng = random.Random(f"{name} {texts} {side}")
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = side
    given = TEXTS[texts]
    for number in range(tier.pick(3, 8)):
        arguments = arguments_of(rng, texts)
        hf.deprecation_warnings.clear()
        ours.deprecation_warnings.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outcome(lambda: hf(*given, **arguments))  # noqa: B023
            assert outcome(lambda: ours(*given, **arguments)) == expected, arguments  # noqa: B023
            if expected[0] != "returned":
                continue
            theirs, found = hf(*given, **arguments), ours(*given, **arguments)
        rows = len(theirs.encodings)
        assert [found.sequence_ids(row) for row in range(rows)] == [theirs.sequence_ids(row) for row in range(rows)]
        assert [found.word_ids(row) for row in range(rows)] == [theirs.word_ids(row) for row in range(rows)]
        if number % 4 == 0:
            assert whole(found) == whole(theirs), arguments


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", ["bert", "llama", "qwen"])
def test_calls_of_question_answering_and_token_classification_are_native(name: str, side: str) -> None:
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = side
    ours.lopt._runner.reference_calls.clear()
    contexts = [" ".join([text, SAMPLE, text]) for text in SECOND]
    strategy = "only_second" if side == "right" else "only_first"
    answering = {
        "truncation": strategy,
        "max_length": 60,
        "stride": 7,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": True,
        "padding": "max_length",
    }
    questions = ["what", "who is", "who", "where", "a"]
    texts = (questions, contexts) if side == "right" else (contexts, questions)
    expected, found = hf(*texts, **answering), ours(*texts, **answering)
    assert dict(found) == dict(expected)
    words = [text.split() for text in FIRST]
    expected_words = hf(words, is_split_into_words=True, truncation=True, max_length=12)
    found_words = ours(words, is_split_into_words=True, truncation=True, max_length=12)
    assert dict(found_words) == dict(expected_words)
    for row in range(len(words)):
        assert found_words.word_ids(row) == expected_words.word_ids(batch_index=row)
    for row in range(len(expected["input_ids"])):
        assert found.sequence_ids(row) == expected.sequence_ids(row)
    if TRANSFORMERS_4:
        assert ours.lopt._runner.reference_calls == {"stride": 1, "is_split_into_words": 1}
    else:
        assert found._made is None
        assert found_words._made is None
        assert not ours.lopt._runner.reference_calls
    assert found.char_to_token(0, 3) == expected.char_to_token(0, 3)
    assert whole(found_words) == whole(expected_words)


@pytest.mark.parametrize("name", ["roberta", "qwen", "bert", "llama"])
def test_words_with_offsets(name: str) -> None:
    """A post-processor that trims looks at a word's first token as at the text's, unless it begins elsewhere."""
    hf, ours = both(name)
    hf.truncation_side = ours.truncation_side = "right"
    words = ["", " ", "a", " a", "  b ", "\u2003", "Hello world", "中文", "e\u0301", "<mask>", "x" * 200]
    rows = [words, [" the"], [""]]
    for arguments in ({}, {"truncation": True, "max_length": 7}, {"padding": True}):
        call = {**arguments, "is_split_into_words": True, "return_offsets_mapping": True}
        assert whole(ours(rows, **call)) == whole(hf(rows, **call))
        assert dict(ours(rows[0], rows[1], **call)) == dict(hf(rows[0], rows[1], **call))
