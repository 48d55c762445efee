"""The chunker of the examples: chunks cover the text, and none has too many ids."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import corpus
import pytest

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

FILE = Path(__file__).resolve().parents[2] / "examples" / "chunker" / "chunk.py"


@pytest.fixture(scope="module")
def chunker() -> ModuleType:
    specification = importlib.util.spec_from_file_location("chunker", FILE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("overlap", [0, 12])
@pytest.mark.parametrize("tokens", [20, 200])
@pytest.mark.parametrize("name", ["tiny_qwen2", "wordpiece_uncased"])
def test_chunks(chunker: ModuleType, name: str, tokens: int, overlap: int) -> None:
    encoder = Encoder(corpus.load_tokenizer(name), Settings.read({}, threads=1))
    text = "\n".join([*corpus.texts("books_en", 4_000), *corpus.texts("zh", 1_000), "x" * 3_000])
    chunks = list(chunker.chunks(encoder, text, tokens, overlap))
    assert chunks[0][0] == 0
    assert chunks[-1][1] == len(text)
    for begin, end in chunks:
        assert begin < end
        assert len(encoder._backend.encode(text[begin:end]).ids) <= tokens
    for (_, end), (begin, _) in itertools.pairwise(chunks):
        assert begin <= end if overlap else begin == end
        assert len(encoder._backend.encode(text[begin:end], add_special_tokens=False).ids) <= overlap


def test_arguments(chunker: ModuleType) -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings.read({}, threads=1))
    assert list(chunker.chunks(encoder, "", 5)) == []
    with pytest.raises(ValueError, match="overlap"):
        list(chunker.chunks(encoder, "a", 5, 5))
