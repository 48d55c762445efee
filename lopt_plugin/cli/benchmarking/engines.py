"""The tokenizers under test, one small class each: Hugging Face, lopt and, from peers.py, other libraries."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .engine import Engine, UnavailableError
from .peers import Fastokens, Gigatoken, GigatokenArray, GigatokenBatch, GitHubBpe, Tiktoken


class Hf(Engine):
    """The reference: tokenizers.Tokenizer.encode."""

    modules = ("tokenizers",)

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_str(tokenizer_json)

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def ids(self, result: Any) -> Any:
        return result.ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)


class Lopt(Engine):
    """Encoder.encode_list, the lowest level that an inference engine calls; without the prefix cache."""

    modules = ("tokenizers", "numpy", "lopt_plugin.encoder.encoder")
    settings: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from tokenizers import Tokenizer

        from lopt_plugin.encoder.encoder import Encoder
        from lopt_plugin.settings import Settings

        settings = Settings.read(threads=threads, **{"prefix_cache_mb": 0, **self.settings})
        self.encoder = Encoder(Tokenizer.from_str(tokenizer_json), settings)

    def encode(self, text: str) -> Any:
        return self.encoder.encode_list(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        from lopt_plugin.routes.request import PLAIN

        return self.encoder._encode(texts, PLAIN[False][False])[0].ids

    @property
    def note(self) -> str:
        return _lopt_note(self.encoder)


class LoptArray(Lopt):
    """Encoder.encode_ids: a numpy int32 array instead of a list."""

    kind = "array"

    def encode(self, text: str) -> Any:
        return self.encoder.encode_ids(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encoder.encode_batch_ids(texts, add_special_tokens=False)

    def batch_ids(self, result: Any) -> Any:
        return result.ids, result.row_offsets


class LoptHfChunks(Lopt):
    """The route hf_chunks: long texts are divided without loss for the Hugging Face tokenizer's own threads."""

    settings: ClassVar[Mapping[str, Any]] = {"route": "hf_chunks"}


class LoptGpu(LoptArray):
    """Encoder.encode_batch_ids by the GPU route, with the ids copied to the host; unavailable without a GPU."""

    settings: ClassVar[Mapping[str, Any]] = {"route": "gpu", "gpu_min_bytes": 0}

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.encoder.encode_batch_ids(["a text"], add_special_tokens=False)
        if not self.encoder.explain()["calls"]["gpu"]:
            device = (self.encoder.explain()["gpu"] or {}).get("cuda", {})
            raise UnavailableError(device.get("unavailable", "the tokenizer has no GPU route"))

    def encode(self, text: str) -> Any:
        return self.encoder.encode_batch_ids([text], add_special_tokens=False).ids


class LoptStore(Lopt):
    """Lopt with the prefix cache, as by default."""

    settings: ClassVar[Mapping[str, Any]] = {"prefix_cache_mb": 256}


class LoptStoreArray(LoptArray):
    """LoptArray with the prefix cache."""

    settings: ClassVar[Mapping[str, Any]] = {"prefix_cache_mb": 256}


class LoptSession(Lopt):
    """Encoder.incremental for prompts that each extend the one before: all ids each time, in a new list.

    The caller of a session knows what is new in a turn; taking the slice is part of the turn's time here.
    """

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.growing = self.encoder.incremental(add_special_tokens=False)
        self.length = 0

    def append(self, text: str) -> None:
        self.growing.append(text[self.length :])
        self.length = len(text)

    def encode(self, text: str) -> Any:
        self.append(text)
        return self.growing.ids


class LoptSessionNew(LoptSession):
    """The same with `update`, which brings the caller's list up to date."""

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.kept: list[int] = []

    def encode(self, text: str) -> Any:
        self.append(text)
        self.growing.update(self.kept)
        return self.kept


class LoptSessionCount(LoptSession):
    """The same, for the number of ids only."""

    kind = "count"

    def encode(self, text: str) -> Any:
        self.append(text)
        return self.growing.count


class HfCall(Engine):
    """The full call of a transformers tokenizer: tokenizer(text)["input_ids"]."""

    modules: ClassVar[Sequence[str]] = ("tokenizers", "transformers", "transformers.models.auto.tokenization_auto")

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        self.tokenizer = _transformers_tokenizer(tokenizer_json)

    def encode(self, text: str) -> Any:
        return self.tokenizer(text, add_special_tokens=False)

    def ids(self, result: Any) -> Any:
        return result["input_ids"]

    batch_ids = ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer(texts, add_special_tokens=False)


class LoptCall(HfCall):
    """The same call of an accelerated tokenizer. Its load includes the copy that `accelerate` makes."""

    modules = (*HfCall.modules, "numpy", "lopt_plugin.tokenizer.accelerated")

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import lopt_plugin

        self.tokenizer = lopt_plugin.accelerate(
            _transformers_tokenizer(tokenizer_json), threads=threads, prefix_cache_mb=0
        )

    @property
    def note(self) -> str:
        return _lopt_note(self.tokenizer.lopt)


ENGINES: dict[str, type[Engine]] = {
    "hf": Hf,
    "hf_call": HfCall,
    "lopt": Lopt,
    "lopt_call": LoptCall,
    "lopt_array": LoptArray,
    "lopt_hf_chunks": LoptHfChunks,
    "lopt_gpu": LoptGpu,
    "lopt_store": LoptStore,
    "lopt_store_array": LoptStoreArray,
    "lopt_session": LoptSession,
    "lopt_session_new": LoptSessionNew,
    "lopt_session_count": LoptSessionCount,
    "tiktoken": Tiktoken,
    "fastokens": Fastokens,
    "gigatoken": Gigatoken,
    "gigatoken_batch": GigatokenBatch,
    "gigatoken_array": GigatokenArray,
    "github_bpe": GitHubBpe,
}


def engine_class(name: str) -> type[Engine]:
    """The engine of that name, or the class "module:Class" from another file. Raises ValueError."""
    module, _, attribute = name.partition(":")
    if attribute:
        found: type[Engine] = getattr(importlib.import_module(module), attribute)
        return found
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known are {', '.join(ENGINES)}, and module:Class")
    return ENGINES[name]


def _lopt_note(encoder: Any) -> str:
    explained = encoder.explain()
    return "" if explained["route"] == "native" else f"{explained['route']} route: {explained['reason']}"


def _transformers_tokenizer(tokenizer_json: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer_json))
