"""Engines, the tokenizers under test: each is loaded from the text of a tokenizer.json. The reference, and ours.

`ENGINES` has them by name. A module is imported only in the process that measures its engine.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

# The benchmarks add others.
ENGINES = {
    "hf": f"{__package__}.engine:Hf",
    "lopt": f"{__package__}.engine:Lopt",
    "tiktoken": f"{__package__}.peers:Tiktoken",
    "fastokens": f"{__package__}.peers:Fastokens",
    "gigatoken": f"{__package__}.peers:Gigatoken",
    "gigatoken_batch": f"{__package__}.peers:GigatokenBatch",
}


class UnavailableError(Exception):
    """The engine does not support this tokenizer; the message says why."""


class Engine:
    """Raises UnavailableError, or its library's own error, for a tokenizer that it cannot load.

    `encode` and `ids` are timed together; what they return is freed outside the timed part. Engines are compared only
    with others of the same kind.

    modules     imported before loading is timed, including those that the library would import in its first call
    is_peer     whether other engines' figures are compared with this one's
    kind        "list", "array" or "count": what `ids` returns
    note        what a reader of its figures should know
    """

    modules: ClassVar[Sequence[str]] = ()
    is_peer: ClassVar[bool] = False
    kind: ClassVar[str] = "list"

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        raise NotImplementedError

    def encode(self, text: str) -> Any:
        """What the library returns for the text, without the ids that a post-processor adds."""
        raise NotImplementedError

    def ids(self, result: Any) -> Any:
        """The ids of that result: list[int], an integer array, or their number, by `kind`."""
        return result

    def encode_batch(self, texts: list[str]) -> Any:
        """The same for several texts, by the library's call for batches."""
        return [self.encode(text) for text in texts]

    def batch_ids(self, result: Any) -> Any:
        """The ids of that result: list[list[int]]; for the kind "array", all ids and int64 [texts + 1] row offsets."""
        return [self.ids(one) for one in result]

    @property
    def note(self) -> str:
        return ""


def engine_class(name: str) -> type[Engine]:
    """The engine of that name, or the class "module:Class". Raises ValueError."""
    if name not in ENGINES and ":" not in name:
        raise ValueError(f"unknown engine {name!r}; known are {', '.join(ENGINES)}, and module:Class")
    found: type[Engine] = pkgutil.resolve_name(ENGINES.get(name, name))
    return found


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
    """Encoder.encode_list, the lowest-level call of an inference engine, without the prefix cache."""

    modules = ("tokenizers", "numpy", "lopt_plugin.encoder.encoder")
    settings: ClassVar[Mapping[str, Any]] = {"prefix_cache_mb": 0}

    def __init__(self, tokenizer_json: str, threads: int) -> None:
        from tokenizers import Tokenizer

        from lopt_plugin.encoder.encoder import Encoder
        from lopt_plugin.routes.request import PLAIN, NeedsReference
        from lopt_plugin.settings import Settings

        settings = Settings.read(threads=threads, **self.settings)
        self.encoder = Encoder(Tokenizer.from_str(tokenizer_json), settings)
        self.request, self.needs_reference = PLAIN[False][False], NeedsReference

    def encode(self, text: str) -> Any:
        return self.encoder.encode_list(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        try:
            return self.encoder._encode(texts, self.request)[0].ids
        except self.needs_reference:
            batch = self.encoder.encode_batch_ids(texts, add_special_tokens=False)
            return [batch.row(row).tolist() for row in range(len(batch))]

    @property
    def note(self) -> str:
        explained = self.encoder.explain()
        return "" if explained["route"] == "native" else f"{explained['route']} route: {explained['reason']}"
