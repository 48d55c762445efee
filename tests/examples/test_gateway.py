"""examples/gateway/app.py: the answers of its three paths. FastAPI comes with vLLM."""

from __future__ import annotations

import runpy
from pathlib import Path

import corpus
from required import skip_without
from transformers import PreTrainedTokenizerFast

import lopt_plugin

skip_without("fastapi", "LOPT_REQUIRE_VLLM")

from fastapi.testclient import TestClient  # noqa: E402

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gateway" / "app.py"


def test_answers() -> None:
    hf = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_roberta"))
    application = runpy.run_path(str(EXAMPLE))["application"]
    client = TestClient(application(lopt_plugin.accelerate(hf), 20))
    for text in ("", "Hello world", "Hello world, \u4e2d\u6587 " * 50):
        tokens, given = len(hf(text)["input_ids"]), {"prompt": text}
        assert client.post("/count", json=given).json() == {"tokens": tokens}
        admitted = client.post("/admit", json=given)
        assert admitted.status_code == (200 if tokens <= 20 else 413)
        assert "more than 20 tokens" in admitted.text or admitted.json() == {"tokens": tokens}
        prefix = client.post("/cut", json=given).json()["prompt"]
        assert text.startswith(prefix)
        assert len(hf(prefix)["input_ids"]) <= 20
        assert tokens > 20 or prefix == text
    assert client.post("/count", json={}).status_code == 422
