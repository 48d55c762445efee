"""Scoring of pairs by a cross-encoder, and classification, in mode lopt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_texts import DOCUMENTS, QUERIES
from vllm_process import run_script

pytestmark = [pytest.mark.engine, pytest.mark.deep]


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from small_models import cross_encoder

    return cross_encoder(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture(scope="module")
def result(cross_encoder: Path) -> Any:
    return run_script("pooling.py", cross_encoder)


@pytest.fixture(scope="module")
def bert(cross_encoder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(cross_encoder)


def test_ids_of_pairs(result: Any, bert: Any) -> None:
    expected = [bert(query, document)["input_ids"] for query, document in zip(QUERIES, DOCUMENTS, strict=True)]
    assert result["pairs"] == expected
    assert result["one with many"] == [bert(QUERIES[0], document)["input_ids"] for document in DOCUMENTS]
    cut = [
        bert(query, document, truncation=True, max_length=17)["input_ids"]
        for query, document in zip(QUERIES, DOCUMENTS, strict=True)
    ]
    assert result["cut"] == cut


def test_ids_of_texts(result: Any, bert: Any) -> None:
    assert result["classified"] == bert(list(DOCUMENTS))["input_ids"]


def test_scores_are_those_of_transformers(result: Any, bert: Any, cross_encoder: Path) -> None:
    # They depend on token_type_ids, which vLLM takes from the tokenizer too.
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(cross_encoder).eval()
    by_types = []
    for query, document, score in zip(QUERIES, DOCUMENTS, result["scores"], strict=True):
        encoded = bert(query, document, return_tensors="pt")
        with torch.no_grad():
            expected = torch.sigmoid(model(**encoded).logits)[0, 0].item()
            other_types = {**encoded, "token_type_ids": torch.zeros_like(encoded["token_type_ids"])}
            without_types = torch.sigmoid(model(**other_types).logits)[0, 0].item()
        assert score == pytest.approx(expected, abs=5e-5)
        by_types.append(abs(expected - without_types))
    assert max(by_types) > 4e-4


def test_nothing_fell_back(result: Any) -> None:
    assert result["calls"]["native"] >= 4 * len(QUERIES)
    assert result["hf calls"] == {}
