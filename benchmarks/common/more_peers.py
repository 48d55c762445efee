"""Peers that only the benchmarks measure: snaptokens, tokie, quicktok and toktok."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from lopt_plugin.cli.benchmarking.engine import Engine, UnavailableError
from lopt_plugin.cli.benchmarking.peers import Fastokens, byte_level_ranks


class Snaptokens(Fastokens):
    """snaptokens.Tokenizer.encode(text).ids."""

    modules = ("snaptokens",)

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import snaptokens

        self.tokenizer = snaptokens.Tokenizer.from_json_str(tokenizer_json)


class Tokie(Engine):
    """tokie.Tokenizer.encode(text).ids."""

    modules = ("tokie",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import tokie

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tokenizer.json")
            path.write_text(tokenizer_json, encoding="utf-8")
            self.tokenizer = tokie.Tokenizer.from_json(str(path))

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def ids(self, result: Any) -> Any:
        return result.ids


class Quicktok(Engine):
    """quicktok.get_encoding(...).encode_ordinary(text), for the vocabularies that the package brings."""

    modules = ("quicktok",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import quicktok

        ranks = byte_level_ranks(json.loads(tokenizer_json))
        for name in ("qwen3", "llama3", "o200k_base", "cl100k_base"):
            self.encoding = quicktok.get_encoding(name)
            if self._has(ranks):
                return
        raise UnavailableError("quicktok has only the vocabularies of OpenAI, Llama 3 and Qwen 3")

    def _has(self, ranks: dict[bytes, int]) -> bool:
        try:
            return all(self.encoding.encode_single_token(entry) == rank for entry, rank in ranks.items())
        except (KeyError, ValueError):
            return False

    def encode(self, text: str) -> Any:
        return self.encoding.encode_ordinary(text)


class Toktok(Engine):
    """toktok.batch_count(texts, encoding), which never builds ids, for the vocabularies that the package brings.

    Without special tokens, which make it 30 times as slow: texts should have none.
    """

    modules = ("toktok",)
    is_peer = True
    kind = "count"

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import toktok

        self.count, self.threads = toktok.batch_count, threads
        # Its vocabularies cannot be read, so their sizes decide, and counts are compared with the reference's.
        ranks = byte_level_ranks(json.loads(tokenizer_json))
        encoding = {199_998: "o200k_base", 100_256: "cl100k_base"}.get(len(ranks))
        if encoding is None:
            raise UnavailableError("toktok has only the vocabularies of OpenAI and Qwen 3.5")
        self.encoding = encoding
        self.count(["a"], self.encoding)

    def encode(self, text: str) -> Any:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> Any:
        return self.count(texts, self.encoding, threads=self.threads)

    def batch_ids(self, result: Any) -> Any:
        return sum(result)
