"""A pytest plugin: what the examples in docstrings may use without making it. `make doctest` loads it."""

from __future__ import annotations

import json
from typing import Any

import corpus
import pytest
from tiktoken_encodings import encoding_of


@pytest.fixture(scope="session", autouse=True)
def _names(doctest_namespace: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    """`example_folder`, a folder with a small tokenizer, and `tokenizer`, that tokenizer accelerated.

    `encoding`, a small encoding of tiktoken, and `fast`, that encoding accelerated.
    """
    import lopt_plugin

    folder = tmp_path_factory.mktemp("example")
    (folder / "tokenizer.json").write_text(corpus.tokenizer_json("tiny_qwen2"), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    doctest_namespace["example_folder"] = str(folder)
    doctest_namespace["tokenizer"] = lopt_plugin.from_pretrained(folder)
    doctest_namespace["encoding"] = encoding_of("o200k")
    doctest_namespace["fast"] = lopt_plugin.from_tiktoken(doctest_namespace["encoding"])
