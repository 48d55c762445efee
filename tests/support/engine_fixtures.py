"""What the tests of both engines start from: a tiny model, and the oracle. For their conftest.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES / "vllm_demo"))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model."""
    from tiny_model import build

    return build(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def oracle(model: Path) -> Any:
    """The Hugging Face tokenizer itself."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)
