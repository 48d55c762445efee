"""A multimodal model whose processor adds tokens to the tokenizer that it is given, in mode lopt."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_texts import CAPTION_PROMPTS
from vllm_process import run_script

pytestmark = [pytest.mark.engine, pytest.mark.deep]
IMAGE_TOKENS = 4


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from small_models import captioner

    return captioner(tmp_path_factory.mktemp("blip") / "model")


def test_ids(captioner: Path) -> None:
    from transformers import AutoTokenizer

    result = run_script("captions.py", captioner)
    oracle = AutoTokenizer.from_pretrained(captioner)
    # The processor did change the tokenizer, but vLLM asks for ids of the one that was loaded.
    assert result["changed"] is True
    expected = [oracle(prompt)["input_ids"] for prompt in CAPTION_PROMPTS]
    assert result["text"] == expected
    image = oracle.convert_tokens_to_ids("<image>")
    assert result["with an image"] == [[image] * IMAGE_TOKENS + ids for ids in expected]
    assert result["calls"]["native"] >= 2 * len(CAPTION_PROMPTS)
    assert result["hf calls"] == {}
