"""How the Encoder chooses hf_chunks: for which tokenizers and texts, what it reports, and which changes it sees."""

from __future__ import annotations

import copy
import json
import logging
import sys
from typing import Any
from unittest.mock import ANY

import corpus
import pytest
from small_pipelines import small_pipelines
from tokenizers import AddedToken, Tokenizer, processors
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin import native
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.routes.hf_chunks import route as hf_chunks
from lopt_plugin.settings import Settings

LONG = "Hello world, isn't it 12345? [MASK] é中文 \n\n  the end 👍🏽 " * 40
SHORT = "Hello world"


def settings(**given: Any) -> Settings:
    return Settings.read({}, **{"threads": 2, "parallel_min_chars": 1000, "chunk_chars": 150, **given})


@pytest.fixture
def wordpiece() -> Tokenizer:
    return copy.deepcopy(small_pipelines()["wordpiece"])


@pytest.fixture
def no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(native, "_core", raising=False)
    monkeypatch.setitem(sys.modules, "lopt_plugin.native._core", None)


def test_long_texts_are_divided_without_a_native_route(no_core: None, caplog: pytest.LogCaptureFixture) -> None:
    backend = corpus.load_tokenizer("tiny_cl100k")
    with caplog.at_level(logging.INFO, "lopt_plugin"):
        encoder = Encoder(backend, settings())
    (record,) = caplog.records
    reason = "installed without the native core (LOPT_PURE); texts from 1,000 characters on are divided into chunks"
    assert reason in record.getMessage()
    assert encoder.encode_list(LONG) == backend.encode(LONG).ids
    assert encoder.encode_ids(LONG, False).tolist() == backend.encode(LONG, add_special_tokens=False).ids
    assert encoder.encode_list(SHORT) == backend.encode(SHORT).ids
    batch = encoder.encode_batch_ids([SHORT, LONG, "", LONG[::-1]])
    for row, text in enumerate([SHORT, LONG, "", LONG[::-1]]):
        assert batch.row(row).tolist() == backend.encode(text).ids
    explained = json.loads(json.dumps(encoder.explain(LONG)))
    assert (explained["route"], explained["reason"]) == ("hf_chunks", reason)
    assert explained["text"]["route"] == "hf_chunks"
    assert explained["text"]["chunks"] == -(-len(LONG) // 150)
    assert explained["calls"] == {"native": 0, "hf_chunks": 3, "gpu": 0, "hf": 1, "verified": 0}
    counts = explained["hf_chunks"]["counts"]
    assert counts["texts"] == 4
    assert counts["boundaries"] + counts["seams"] + counts["merged"] + counts["texts"] == counts["chunks"]
    assert encoder.explain(SHORT)["text"] == {"characters": len(SHORT), "route": "hf", "chunks": 1, "gpu": ANY}


@pytest.mark.parametrize("name", ["tiny_roberta", "tiny_tekken", "wordpiece", "sentencepiece", "clip"])
def test_the_route_can_be_asked_for(name: str) -> None:
    backend = small_pipelines().get(name) or corpus.load_tokenizer(name)
    encoder = Encoder(backend, settings(route="hf_chunks"))
    assert encoder.explain()["reason"].startswith("route is set to 'hf_chunks'")
    for text in (LONG, SHORT, "", LONG.upper()):
        assert encoder.encode_list(text) == backend.encode(text).ids
    assert encoder._runner.chunked_calls == 2


@pytest.mark.parametrize("given", [{"threads": 1}, {"route": "native"}, {"route": "hf"}])
def test_nothing_is_divided_on_one_thread_or_for_another_route(wordpiece: Tokenizer, given: dict[str, Any]) -> None:
    encoder = Encoder(wordpiece, settings(**given))
    assert encoder._runner.state.snapshot().hf_chunks is None
    if encoder._runner.state.snapshot().native is None:
        assert encoder.explain(LONG)["text"]["route"] == "hf"
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids


def test_why_nothing_is_divided() -> None:
    backend = copy.deepcopy(small_pipelines()["sentencepiece"])
    backend.model.dropout = 0.5
    encoder = Encoder(backend, settings())
    assert "long texts are not divided: model BPE with dropout" in encoder.explain()["reason"]
    assert encoder.explain()["route"] == "hf"


def test_a_wrong_join_is_found_at_load(
    wordpiece: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    divided = hf_chunks.encode
    monkeypatch.setattr(hf_chunks, "encode", lambda *a: (divided(*a)[0][1:], divided(*a)[1]))
    encoder = Encoder(wordpiece, settings(route="hf_chunks"))
    assert encoder._runner.state.snapshot().hf_chunks is None
    assert "self-check of chunks found ids that differ" in encoder.explain()["reason"]
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids


def test_verification(wordpiece: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(wordpiece, settings(route="hf_chunks", verify=1.0))
    want = wordpiece.encode(LONG).ids
    assert encoder.encode_list(LONG) == want
    assert encoder._runner.verification.calls == 1
    divided = hf_chunks.encode
    monkeypatch.setattr(hf_chunks, "encode", lambda *a: (divided(*a)[0][1:], divided(*a)[1]))
    assert encoder.encode_list(LONG) == want
    assert encoder.explain()["route"] == "hf"


def test_changes_are_noticed(wordpiece: Tokenizer) -> None:
    encoder = Encoder(wordpiece, settings(route="hf_chunks"))
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids
    wordpiece.add_tokens([AddedToken("world", normalized=False)])
    assert wordpiece.token_to_id("world") in wordpiece.encode(LONG).ids
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids
    wordpiece.normalizer.lowercase = True
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids
    wordpiece.post_processor = processors.TemplateProcessing(
        single="[SEP] $A", pair="$A $B", special_tokens=[("[SEP]", wordpiece.token_to_id("[SEP]"))]
    )
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids
    assert encoder._runner.chunked_calls == 4


def test_copies_do_not_share_a_backend_that_may_change() -> None:
    backend = copy.deepcopy(small_pipelines()["sentencepiece"])
    encoder = Encoder(backend, settings(route="hf_chunks"))
    copied_backend = copy.deepcopy(backend)
    copied = encoder._copy_for(copied_backend)
    want = copied_backend.encode(LONG).ids
    assert copied.encode_list(LONG) == want
    backend.model.dropout = 1.0
    assert copied.encode_list(LONG) == want
    assert copied._runner.chunked_calls == 2


def test_texts_that_hf_refuses(wordpiece: Tokenizer) -> None:
    encoder = Encoder(wordpiece, settings(route="hf_chunks"))
    bad = LONG + "\ud800" + LONG
    with pytest.raises(Exception) as of_hf:  # noqa: PT011
        wordpiece.encode(bad)
    with pytest.raises(type(of_hf.value)):
        encoder.encode_list(bad)
    assert encoder.encode_list(LONG) == wordpiece.encode(LONG).ids
    assert encoder.explain()["route"] != "hf"


@pytest.mark.parametrize("side", ["left", "right"])
def test_calls_of_a_tokenizer(wordpiece: Tokenizer, side: str) -> None:
    hf = PreTrainedTokenizerFast(tokenizer_object=wordpiece, truncation_side=side)
    ours = lopt_plugin.accelerate(hf, threads=2, parallel_min_chars=1000, chunk_chars=150, route="hf_chunks")
    for call in ({}, {"truncation": True, "max_length": 100}, {"add_special_tokens": False}):
        assert ours(LONG, **call)["input_ids"] == hf(LONG, **call)["input_ids"]
        assert ours([LONG, LONG + "x"], **call)["input_ids"] == hf([LONG, LONG + "x"], **call)["input_ids"]
        assert ours([LONG, SHORT], **call)["input_ids"] == hf([LONG, SHORT], **call)["input_ids"]
    encoded = ours(LONG)
    assert encoded.tokens() == hf(LONG).tokens()
    assert ours.lopt._runner.chunked_calls >= 9
