"""Fixtures that many tests share; `corpus` has the tokenizers and texts behind them."""

from __future__ import annotations

import corpus
import pytest
from hypothesis import settings
from tokenizers import Tokenizer

# Two shared cores: a slow example is no failure.
settings.register_profile("lopt", deadline=None)
settings.load_profile("lopt")


@pytest.fixture(scope="session")
def small_tokenizers() -> dict[str, Tokenizer]:
    """The tokenizers of tests/data by name; not to be changed."""
    names = [name for name in corpus.tokenizer_names() if name.startswith("tiny_") or name == "roberta_base"]
    return {name: corpus.load_tokenizer(name) for name in names}
