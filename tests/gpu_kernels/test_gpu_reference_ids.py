"""The NumPy references of all kernels in a row against Hugging Face's ids: no GPU, torch or Triton is needed."""

from __future__ import annotations

import corpus
import gpu_reference
import gpu_texts
import pytest
import tier

SMALL = list(gpu_texts.PATTERNS.values())
LARGE = [name for name in gpu_reference.FAMILIES if name in corpus.tokenizer_names() and name not in SMALL]
PIECE = 2_000


def compare(name: str, texts: list[str]) -> int:
    """The characters of those texts that were compared."""
    found = gpu_reference.compare(name, texts)
    assert found.different == []
    return found.characters


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)])
def test_documents_and_hard_texts(name: str) -> None:
    """Some of each corpus; `python tests/support/gpu_reference.py` compares all of it."""
    texts = [text for kind in corpus.corpora() for text in gpu_reference.documents(kind, tier.pick(1500, 8000), PIECE)]
    assert compare(name, texts) > sum(map(len, texts)) // 2
    assert compare(name, list(gpu_reference.hard(name, [0], tier.pick(60, 150)))) > 0
