"""All columns of rows of one text and of two, == the reference's: truncation by every strategy, overflow, padding."""

from __future__ import annotations

import random
from collections import Counter
from typing import get_args

import numpy as np
import pytest
import word_pieces
from native_cores import route_of
from tokenizers import processors

from lopt_plugin.routes.columns import all_columns
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import EncodeRequest, NeedsReference, Padding, Row, Strategy

# In the last one the second text comes first, and an id is larger than all of the vocabulary.
TEMPLATES = {
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "nothing between": ("$A", "$A $B:1"),
    "second first": ("[SEP]:2 $A:3 [BIG]:1", "[SEP] $B:1 [CLS]:5 [SEP] $A:4 [BIG]:2"),
}
SPECIAL = [("[CLS]", 1), ("[SEP]", 2), ("[BIG]", 3_000_000_000)]


def routes(name: str) -> tuple[NativeRoute, HfRoute]:
    backend = word_pieces.tokenizer_with(word_pieces.DEFAULT, ["a", "b", "##c", "d"])
    single, pair = TEMPLATES[name]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=SPECIAL)
    return route_of(backend), HfRoute(backend)


def rows_of(rng: random.Random, kind: str) -> list[Row]:
    def text() -> str:
        return " ".join(rng.choices(["a", "b", "ac", "dcc", "x"], k=rng.choice([0, 1, 2, 4, 9])))

    pairs = {"texts": [False], "pairs": [True], "both": [False, True]}[kind]
    return [(text(), text()) if rng.choice(pairs) else text() for _ in range(rng.choice([1, 1, 2, 5]))]


def request_of(rng: random.Random, strategy: Strategy) -> EncodeRequest:
    side = rng.choice(["left", "right"])
    padding = Padding(rng.choice([None, 1, 20]), rng.choice([None, 1, 8]), side, 7, rng.choice([0, 6]), "[PAD]")
    return EncodeRequest(
        add_special_tokens=rng.random() < 0.7,
        max_length=rng.choice([5, 6, 7, 11, 30]),
        truncation_side=rng.choice(["left", "right"]),
        strategy=strategy,
        offsets=rng.random() < 0.5,
        stride=rng.choice([0, 0, 1, 2]),
        overflow=rng.random() < 0.5,
        padding=rng.choice([None, padding]),
        arrays=rng.random() < 0.5,
    )


@pytest.mark.every_parameter
@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize("kind", ["texts", "pairs", "both"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_random_rows(name: str, kind: str, strategy: Strategy) -> None:
    rng = random.Random(f"{name} {kind} {strategy}")
    native, hf = routes(name)
    answers: Counter[str] = Counter()
    for _ in range(150):
        rows, request = rows_of(rng, kind), request_of(rng, strategy)
        try:
            found = all_columns(native, rows, request)
        except NeedsReference:
            answers["reference"] += 1
            continue
        expected = hf.encode_columns(rows, request)
        lengths = {len(ids) for ids in expected.ids}
        are_arrays = request.arrays and len(lengths) == 1 and lengths != {0}
        answers["arrays" if are_arrays else "lists"] += 1
        for name_of_column in ("ids", "type_ids", "special", "attention", "offsets"):
            column, theirs = getattr(found, name_of_column), getattr(expected, name_of_column)
            if are_arrays and theirs is not None:
                assert column.dtype == (np.int32 if name_of_column == "offsets" else np.int64)
                assert column.tolist() == np.array(theirs).tolist(), (rows, request)
            else:
                assert column == theirs, (rows, request)
        assert len(found.places) == len(found.ids)
    assert answers["arrays"] > 5, answers
    assert answers["lists"] > 5, answers


def test_wrong_arguments() -> None:
    rows = routes("bert")[0].core.finished_rows
    ids, ends = np.arange(3, dtype=np.int32), np.array([0, 1, 3], np.int64)
    single, pair = ([(None, 7, 0), (0, 0, 0)], None, 9), ([(0, 0, 0), (1, 0, 1)], None, 9)
    truncation, padding = ("longest_first", False, 0, False), (0, None, "right", 0, 0)
    assert rows(ids, ends, None, [False, False], [single], truncation, padding, True)[0] == [[7, 0], [7, 1, 2]]
    assert rows(ids, ends, None, [True], [single, pair], truncation, padding, True)[0] == [[0, 1, 2]]
    for wrong in ([], [0], [0, 4], [1, 3], [0, 2, 1, 3], [0, 2]):
        with pytest.raises(ValueError, match="row offsets"):
            rows(ids, np.array(wrong, np.int64), None, [False], [single], truncation, padding, True)
    for pairs in ([], [False], [True, False], [False] * 3):
        with pytest.raises(ValueError, match="as many texts"):
            rows(ids, ends, None, pairs, [single, pair], truncation, padding, True)
    with pytest.raises(ValueError, match="as many offsets"):
        rows(ids, ends, np.zeros((2, 2), np.int32), [True], [single, pair], truncation, padding, True)
    for layouts in ([single], [single, ([(2, 0, 0)], None, 9)]):
        with pytest.raises(IndexError):
            rows(ids, ends, None, [True], layouts, truncation, padding, True)
    short, overflow = ([(0, 0, 0)], [], 1), ("longest_first", False, 0, True)
    with pytest.raises(IndexError):
        rows(ids, ends, None, [False, False], [short], overflow, padding, True)
    with pytest.raises(MemoryError):
        rows(ids, ends, None, [True], [single, pair], truncation, (1 << 62, None, "right", 0, 0), True)
