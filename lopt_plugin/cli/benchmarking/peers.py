"""Other libraries, each used through its fastest documented call that returns a list (see engine.py)."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from ...unicode_tables.byte_level import alphabet
from .engine import Engine, UnavailableError


class Tiktoken(Engine):
    """tiktoken.Encoding with the file's split pattern and vocabulary, using ids as merge ranks.

    Only for byte-level BPE with one split pattern; the comparison of ids shows whether ids really are merge ranks. NFC
    comes from unicodedata, as in Qwen's own tiktoken-based tokenizer.
    """

    modules = ("tiktoken",)
    is_peer = True

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        import tiktoken

        parsed = json.loads(tokenizer_json)
        normalizer = parsed["normalizer"]
        if normalizer not in (None, {"type": "NFC"}):
            raise UnavailableError("tiktoken does not have this normalizer")
        self.normalize = normalizer is not None
        self.threads = threads
        special_tokens = {token["content"]: token["id"] for token in parsed["added_tokens"]}
        self.encoding = tiktoken.Encoding(
            "benchmark",
            pat_str=_only_split_pattern(parsed["pre_tokenizer"]),
            mergeable_ranks=byte_level_ranks(parsed),
            special_tokens=special_tokens,
        )

    def encode(self, text: str) -> Any:
        if self.normalize:
            text = unicodedata.normalize("NFC", text)
        return self.encoding.encode(text, allowed_special="all")

    def encode_batch(self, texts: list[str]) -> Any:
        if self.normalize:
            texts = [unicodedata.normalize("NFC", text) for text in texts]
        return self.encoding.encode_batch(texts, num_threads=self.threads, allowed_special="all")


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

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts)


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

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_list(texts, parallel=self.parallel)

    def batch_ids(self, result: Any) -> Any:
        return result


class GigatokenBatch(Gigatoken):
    """gigatoken.Tokenizer.encode_batch_list([text])[0]: its other call for a list, faster on some texts."""

    def encode(self, text: str) -> Any:
        return self.tokenizer.encode_batch_list([text], parallel=self.parallel)

    def ids(self, result: Any) -> Any:
        return result[0]


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
    raise UnavailableError("tiktoken supports one split pattern and nothing else")


def byte_level_ranks(parsed: Any) -> dict[bytes, int]:
    """A tokenizer.json's vocabulary by bytes, without added tokens. Raises UnavailableError if not byte-level BPE."""
    model, special_tokens = parsed["model"], {token["content"] for token in parsed["added_tokens"]}
    if model.get("type", "BPE") != "BPE":
        raise UnavailableError(f"tiktoken does not support {model['type']}")
    byte_of = {character: byte for byte, character in enumerate(alphabet())}
    try:
        ranks = {
            bytes(byte_of[character] for character in entry): rank
            for entry, rank in model["vocab"].items()
            if entry not in special_tokens
        }
    except KeyError as error:
        raise UnavailableError("the vocabulary is not byte-level") from error
    if any(bytes([byte]) not in ranks for byte in range(0x100)):
        raise UnavailableError("tiktoken needs an entry for every byte")
    return ranks
