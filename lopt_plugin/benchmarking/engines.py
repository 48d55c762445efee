"""The tokenizers under test, one small class each: load from the text of a tokenizer.json, then text to ids.

`encode` and then `ids` are timed together; what they return is freed outside the timed part. An engine ends in a
list[int]; one that ends in a numpy array says so by its kind, and is compared with its own kind only. Modules that a
library would import at its first call are in `modules`, so that no first prompt pays for them.
"""

from __future__ import annotations

import importlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar


class UnavailableError(Exception):
    """The engine cannot do this tokenizer; the message says why."""


class Engine:
    """Raises UnavailableError, or whatever its library raises, for a tokenizer that it cannot load.

    modules     imported before the load is timed
    is_peer     whether the figures of others are compared with it
    kind        "list" or "array": what `ids` gives
    note        what the reader of its figures should know
    """

    modules: ClassVar[Sequence[str]] = ()
    is_peer: ClassVar[bool] = False
    kind: ClassVar[str] = "list"

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        raise NotImplementedError

    def encode(self, text: str) -> Any:
        """Whatever the library returns; no ids of a post-processor."""
        raise NotImplementedError

    def ids(self, result: Any) -> Any:
        """The ids of that: list[int], or an integer array where `kind` is "array"."""
        return result

    @property
    def note(self) -> str:
        return ""


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


class Lopt(Engine):
    """Encoder.encode_list, the lowest level that an inference engine calls; no text is known from before."""

    modules = ("tokenizers", "numpy", "lopt_plugin.encoder")
    prefix_cache_mb: ClassVar[int] = 0

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from tokenizers import Tokenizer

        from lopt_plugin.encoder import Encoder
        from lopt_plugin.settings import Settings

        settings = Settings.read(threads=threads, prefix_cache_mb=self.prefix_cache_mb)
        self.encoder = Encoder(Tokenizer.from_str(tokenizer_json), settings)

    def encode(self, text: str) -> Any:
        return self.encoder.encode_list(text, add_special_tokens=False)

    @property
    def note(self) -> str:
        return _lopt_note(self.encoder)


class LoptArray(Lopt):
    """Encoder.encode_ids: a numpy int32 array, no list."""

    kind = "array"

    def encode(self, text: str) -> Any:
        return self.encoder.encode_ids(text, add_special_tokens=False)


class LoptStore(Lopt):
    """The same with what texts began with kept, as it is by default."""

    prefix_cache_mb = 256


class LoptStoreArray(LoptArray):
    """LoptArray with what texts began with kept."""

    prefix_cache_mb = 256


class HfCall(Engine):
    """The whole call of a transformers tokenizer: tokenizer(text)["input_ids"]."""

    modules: ClassVar[Sequence[str]] = ("tokenizers", "transformers", "transformers.models.auto.tokenization_auto")

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        self.tokenizer = _transformers_tokenizer(tokenizer_json)

    def encode(self, text: str) -> Any:
        return self.tokenizer(text, add_special_tokens=False)

    def ids(self, result: Any) -> Any:
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


class Tiktoken(Engine):
    """tiktoken.Encoding from the file's own entries, as ranks, and its own pattern.

    Only for byte-level BPE with one split pattern; that ids in order are ranks is for the comparison of ids to show.
    NFC comes from unicodedata, as in Qwen's own tiktoken-based tokenizer.
    """

    modules = ("tiktoken",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import tiktoken

        parsed = json.loads(tokenizer_json)
        normalizer = parsed["normalizer"]
        if normalizer not in (None, {"type": "NFC"}):
            raise UnavailableError("tiktoken has no such normalizer")
        self.normalize = normalizer is not None
        special_tokens = {token["content"]: token["id"] for token in parsed["added_tokens"]}
        self.encoding = tiktoken.Encoding(
            "benchmark",
            pat_str=_only_split_pattern(parsed["pre_tokenizer"]),
            mergeable_ranks=_byte_level_ranks(parsed["model"], special_tokens),
            special_tokens=special_tokens,
        )

    def encode(self, text: str) -> Any:
        if self.normalize:
            text = unicodedata.normalize("NFC", text)
        return self.encoding.encode(text, allowed_special="all")


class Fastokens(Engine):
    """fastokens.Tokenizer.encode(text).ids."""

    modules = ("fastokens",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import fastokens

        self.tokenizer = fastokens.Tokenizer.from_json_str(tokenizer_json)

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def ids(self, result: Any) -> Any:
        return result.ids


class Gigatoken(Engine):
    """gigatoken.Tokenizer.encode(text).tolist()."""

    modules = ("numpy", "awkward", "gigatoken")
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import gigatoken

        self.tokenizer = gigatoken.Tokenizer.from_json(tokenizer_json)
        self.parallel = threads > 1

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def ids(self, result: Any) -> Any:
        return result.tolist()


class GigatokenBatch(Gigatoken):
    """gigatoken.Tokenizer.encode_batch_list([text])[0]: its other way to a list, faster on some texts."""

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode_batch_list([text], parallel=self.parallel)

    def ids(self, result: Any) -> Any:
        return result[0]


class GigatokenArray(Gigatoken):
    """gigatoken.Tokenizer.encode(text): a numpy uint32 array, no list."""

    kind = "array"

    def ids(self, result: Any) -> Any:
        return result


ENGINES: dict[str, type[Engine]] = {
    "hf": Hf,
    "hf_call": HfCall,
    "lopt": Lopt,
    "lopt_call": LoptCall,
    "lopt_array": LoptArray,
    "lopt_store": LoptStore,
    "lopt_store_array": LoptStoreArray,
    "tiktoken": Tiktoken,
    "fastokens": Fastokens,
    "gigatoken": Gigatoken,
    "gigatoken_batch": GigatokenBatch,
    "gigatoken_array": GigatokenArray,
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


def _only_split_pattern(pre_tokenizer: Any) -> str:
    steps = pre_tokenizer.get("pretokenizers", [pre_tokenizer]) if pre_tokenizer else []
    kinds = [step["type"] for step in steps]
    if kinds == ["Split", "ByteLevel"] and not (steps[1]["use_regex"] or steps[1]["add_prefix_space"]):
        split = steps[0]
        finds_matches = (split["behavior"], split["invert"]) in (("Isolated", False), ("Removed", True))
        if finds_matches and "Regex" in split["pattern"]:
            return str(split["pattern"]["Regex"])
    if kinds == ["ByteLevel"] and steps[0].get("use_regex", True) and not steps[0]["add_prefix_space"]:
        return r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    raise UnavailableError("tiktoken takes one split pattern and nothing else")


def _byte_level_ranks(model: Any, special_tokens: dict[str, int]) -> dict[bytes, int]:
    if model.get("type", "BPE") != "BPE":
        raise UnavailableError(f"tiktoken has no {model['type']}")
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(0x100 + k): byte for k, byte in enumerate(others)}
    try:
        ranks = {
            bytes(byte_of[character] for character in entry): rank
            for entry, rank in model["vocab"].items()
            if entry not in special_tokens
        }
    except KeyError as error:
        raise UnavailableError("the vocabulary is not byte-level") from error
    if any(bytes([byte]) not in ranks for byte in range(0x100)):
        raise UnavailableError("tiktoken wants an entry for every byte")
    return ranks
