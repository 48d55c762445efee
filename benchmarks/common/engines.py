"""Engines that only the benchmarks measure, beside those of `lopt bench`. `ENGINES` has all of them by name."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from lopt_plugin.cli.benchmarking.engine import ENGINES, Engine, Lopt, UnavailableError, engine_class
from lopt_plugin.cli.benchmarking.peers import Fastokens, Gigatoken, byte_level_ranks

__all__ = ["ENGINES", "engine_class"]


class LoptArray(Lopt):
    """Encoder.encode_ids: a numpy int32 array instead of a list."""

    kind = "array"

    def encode(self, text: str) -> Any:
        return self.encoder.encode_ids(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encoder.encode_batch_ids(texts, add_special_tokens=False)

    def batch_ids(self, result: Any) -> Any:
        return result.ids, result.row_offsets


def _with(base: type[Lopt], **settings: Any) -> type[Lopt]:
    return type(base.__name__, (base,), {"settings": {**base.settings, **settings}})


# With the prefix cache, as by default.
LoptStore, LoptStoreArray = _with(Lopt, prefix_cache_mb=256), _with(LoptArray, prefix_cache_mb=256)
# Long texts are divided without loss for the Hugging Face tokenizer's own threads.
LoptHfChunks = _with(Lopt, route="hf_chunks")


class LoptGpu(_with(LoptArray, route="gpu", gpu_min_bytes=0)):  # type: ignore[misc]
    """Encoder.encode_batch_ids by the GPU route, with the ids copied to the host; unavailable without a GPU."""

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.encode("a text")
        if not self.encoder.explain()["calls"]["gpu"]:
            devices = (self.encoder.explain()["gpu"] or {}).values()
            reasons = [device["unavailable"] for device in devices if "unavailable" in device]
            raise UnavailableError(reasons[0] if reasons else "the tokenizer has no GPU route")

    def encode(self, text: str) -> Any:
        return self.encode_batch([text]).ids


class LoptCount(Lopt):
    """Encoder.count and count_batch: numbers of ids."""

    kind = "count"

    def encode(self, text: str) -> Any:
        return self.encoder.count(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encoder.count_batch(texts, add_special_tokens=False)

    def batch_ids(self, result: Any) -> Any:
        return sum(result)


class LoptSession(Lopt):
    """Encoder.incremental for prompts that each extend the one before: all ids each time, in a new list.

    The caller of a session knows what is new in a turn; taking the slice is part of the turn's time here.
    """

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.growing = self.encoder.incremental(add_special_tokens=False)
        self.length = 0
        self.kept: list[int] = []

    def encode(self, text: str) -> Any:
        self.growing.append(text[self.length :])
        self.length = len(text)
        return self.answer()

    def answer(self) -> Any:
        return self.growing.ids


class LoptSessionNew(LoptSession):
    """The same with `update`, which updates the caller's list."""

    def answer(self) -> Any:
        self.growing.update(self.kept)
        return self.kept


class LoptSessionCount(LoptSession):
    """The same, for the number of ids only."""

    kind = "count"

    def answer(self) -> Any:
        return self.growing.count


class GigatokenArray(Gigatoken):
    """gigatoken.Tokenizer.encode(text): a numpy uint32 array instead of a list."""

    kind = "array"

    def ids(self, result: Any) -> Any:
        return result

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, parallel=self.parallel)

    def batch_ids(self, result: Any) -> Any:
        import awkward
        import numpy as np

        rows = awkward.to_packed(result).layout
        return np.asarray(rows.content.data), np.asarray(rows.offsets.data)


class GitHubBpe(Engine):
    """bpe_openai.get_encoding(...).encode: Python bindings of GitHub's crate, for OpenAI's vocabularies only."""

    modules = ("bpe_openai",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import bpe_openai

        ranks = byte_level_ranks(json.loads(tokenizer_json))
        for name in ("o200k_base", "cl100k_base"):
            self.encoding = bpe_openai.get_encoding(name)
            entries = self.encoding.token_byte_values()
            if all(rank < len(entries) and entries[rank] == entry for entry, rank in ranks.items()):
                return
        raise UnavailableError("bpe_openai has only OpenAI's vocabularies")

    def encode(self, text: str) -> Any:
        return self.encoding.encode_ordinary(text)


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


_OWN = {
    **{"lopt_array": "LoptArray", "lopt_hf_chunks": "LoptHfChunks", "lopt_gpu": "LoptGpu"},
    **{"lopt_store": "LoptStore", "lopt_store_array": "LoptStoreArray", "lopt_count": "LoptCount"},
    **{"lopt_session": "LoptSession", "lopt_session_new": "LoptSessionNew", "lopt_session_count": "LoptSessionCount"},
    **{"gigatoken_array": "GigatokenArray", "github_bpe": "GitHubBpe"},
    **{"snaptokens": "Snaptokens", "tokie": "Tokie", "quicktok": "Quicktok", "toktok": "Toktok"},
}
ENGINES.update({name: f"{__name__}:{kind}" for name, kind in _OWN.items()})
