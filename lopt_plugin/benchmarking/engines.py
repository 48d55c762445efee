"""The tokenizers under test, one small class each: HF, lopt and, from peers.py, the others."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .engine import Engine, UnavailableError
from .peers import Fastokens, Gigatoken, GigatokenArray, GigatokenBatch, GitHubBpe, Tiktoken


class Hf(Engine):
    """The oracle: tokenizers.Tokenizer.encode."""

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
    """Encoder.encode_list, the lowest level that an inference engine calls; no text is known from before."""

    modules = ("tokenizers", "numpy", "lopt_plugin.encoder")
    settings: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from tokenizers import Tokenizer

        from lopt_plugin.encoder import Encoder
        from lopt_plugin.settings import Settings

        settings = Settings.read(threads=threads, **{"prefix_cache_mb": 0, **self.settings})
        self.encoder = Encoder(Tokenizer.from_str(tokenizer_json), settings)

    def encode(self, text: str) -> Any:
        return self.encoder.encode_list(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        rows = self.encoder.native_lists(self.encoder.snapshot(), texts, False, False, None, False)
        return super().encode_batch(texts) if rows is None else rows

    @property
    def note(self) -> str:
        return _lopt_note(self.encoder)


class LoptArray(Lopt):
    """Encoder.encode_ids: a numpy int32 array, no list."""

    kind = "array"

    def encode(self, text: str) -> Any:
        return self.encoder.encode_ids(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encoder.encode_batch_ids(texts, add_special_tokens=False)

    def batch_ids(self, result: Any) -> Any:
        return result.ids, result.row_offsets


class LoptHfChunks(Lopt):
    """Long texts divided without loss for the HF tokenizer's own threads: LoPT over any tokenizer."""

    settings: ClassVar[Mapping[str, Any]] = {"route": "hf_chunks"}


class LoptGpu(LoptArray):
    """Encoder.encode_batch_ids by the GPU route, ids on the host again; unavailable without that route or a GPU."""

    settings: ClassVar[Mapping[str, Any]] = {"route": "gpu", "gpu_min_bytes": 0}

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from lopt_plugin.settings import ROUTES

        if "gpu" not in ROUTES:
            raise UnavailableError("there is no GPU route in this version")
        super().__init__(tokenizer_json, threads)
        self.encoder.encode_batch_ids(["a text"], add_special_tokens=False)
        if not self.encoder.gpu_calls:
            device = (self.encoder.explain()["gpu"] or {}).get("cuda", {})
            raise UnavailableError(device.get("unavailable", "the tokenizer has no GPU route"))

    def encode(self, text: str) -> Any:
        return self.encoder.encode_batch_ids([text], add_special_tokens=False).ids


class LoptStore(Lopt):
    """The same with what texts began with kept, as it is by default."""

    settings: ClassVar[Mapping[str, Any]] = {"prefix_cache_mb": 256}


class LoptStoreArray(LoptArray):
    """LoptArray with what texts began with kept."""

    settings: ClassVar[Mapping[str, Any]] = {"prefix_cache_mb": 256}


class LoptSession(Lopt):
    """Encoder.incremental for prompts of which each is the one before and more: all ids each time, a new list.

    Who has a session knows what is new in a turn: the slice is taken here as a part of the turn's time.
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
    """The same where the caller keeps its list and has it brought up to date."""

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        super().__init__(tokenizer_json, threads)
        self.kept: list[int] = []

    def encode(self, text: str) -> Any:
        self.append(text)
        self.growing.update(self.kept)
        return self.kept


class LoptSessionCount(LoptSession):
    """The same where only the number of ids is asked for."""

    kind = "count"

    def encode(self, text: str) -> Any:
        self.append(text)
        return self.growing.count


class HfCall(Engine):
    """The whole call of a transformers tokenizer: tokenizer(text)["input_ids"]."""

    modules: ClassVar[Sequence[str]] = ("tokenizers", "transformers", "transformers.models.auto.tokenization_auto")

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        self.tokenizer = _transformers_tokenizer(tokenizer_json)

    def encode(self, text: str) -> Any:
        return self.tokenizer(text, add_special_tokens=False)

    def ids(self, result: Any) -> Any:
        return result["input_ids"]

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer(texts, add_special_tokens=False)

    def batch_ids(self, result: Any) -> Any:
        return result["input_ids"]


class LoptCall(HfCall):
    """The same call of an accelerated tokenizer. Its load holds a copy of the HF tokenizer, made by `accelerate`."""

    modules = (*HfCall.modules, "numpy", "lopt_plugin.tokenizer")

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
    """The engine of that name, or the class that "module:Class" names, for tokenizers that are not in this file."""
    module, _, attribute = name.partition(":")
    if attribute:
        found: type[Engine] = getattr(importlib.import_module(module), attribute)
        return found
    if name not in ENGINES:
        raise ValueError(f"no engine {name!r}; there are {', '.join(ENGINES)}, and module:Class")
    return ENGINES[name]


def _lopt_note(encoder: Any) -> str:
    explained = encoder.explain()
    return "" if explained["route"] == "native" else f"{explained['route']} route: {explained['reason']}"


def _transformers_tokenizer(tokenizer_json: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer_json))
