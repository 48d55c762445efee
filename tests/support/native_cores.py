"""Native cores for tests: that of a tokenizer as the plugin builds it, and one of any arguments."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable
from typing import Any

import corpus
import tier
from random_models import STAND_INS as STAND_INS
from reference import Reference
from tokenizers import Tokenizer

from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.core_values import CoreValues, write_steps
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.native_core import core_of as core_of_values
from lopt_plugin.settings import Settings
from lopt_plugin.unicode_tables import byte_level, load

# The BPE tokenizers of ../shared, one a family and more; the others have another kind of model.
LARGE = ["clip_vit", "deepseek_v3", "falcon", "gpt2", "gpt4o", "gpt_oss", "llama3", "mistral_tekken", "qwen3"]
LARGE_SENTENCEPIECE = ["gemma3", "llama2", "llama2_added_normalized", "mistral_7b_v0_1", "mistral_7b_v0_3", "phi3_mini"]
LARGE += LARGE_SENTENCEPIECE
# Those of characters, with U+2581 for the space; the others are byte-level.
SENTENCEPIECE = {"tiny_llama2", "tiny_gemma", "tiny_metaspace", "tiny_metaspace_first", *LARGE_SENTENCEPIECE}
SMALL = [name for name in corpus.tokenizer_names() if name.startswith("tiny_") or name == "roberta_base"]
# qwen3 is large for the quick tier; test_native_ids.py and test_native_bpe.py try it there too.
ALL = [*SMALL, *(name for name in LARGE if tier.DEEP and name in corpus.tokenizer_names())]
BYTE_LEVEL = [name for name in ALL if name not in SENTENCEPIECE]


@functools.lru_cache(maxsize=2)
def core_and_reference(name: str) -> tuple[Any, Reference]:
    """The core of a tokenizer, which divides long texts, and the tokenizer; for those with a native route."""
    reference = Reference(name)
    return core_of(reference.tokenizer), reference


def route_of(tokenizer: Tokenizer) -> NativeRoute:
    """The native route of a tokenizer, on one thread and without a prefix cache. Raises Unsupported."""
    return NativeRoute(read_pipeline(tokenizer), Settings.read({}, threads=1, prefix_cache_mb=0))


def core_of(tokenizer: Tokenizer) -> Any:
    """The core of a tokenizer with a native route. It divides long texts at seams."""
    core = route_of(tokenizer).core
    core.trust_seams()
    return core


def core_with_runs(character: str) -> tuple[Any, Tokenizer]:
    """tiny_gemma with no added tokens but runs of a character, which no other entry holds; and its core."""
    state = json.loads(corpus.tokenizer_json("tiny_gemma"))
    model = state["model"]
    first = max(model["vocab"].values()) + 1
    runs = [character * length for length in range(1, 32)]
    model["merges"] = [pair for pair in model["merges"] if character not in "".join(pair)]
    model["merges"] += [[character, run] for run in runs[:-1]]
    model["vocab"] = {name: i for name, i in model["vocab"].items() if character not in name}
    model["vocab"] |= {run: first + len(run) for run in runs}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    state["added_tokens"] = [{"id": model["vocab"][run], "content": run, **flags} for run in runs]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    return core_of(tokenizer), tokenizer


def expected(reference: Tokenizer | Reference, texts: list[str]) -> list[list[int]]:
    """The reference's ids without those of the post-processor."""
    if isinstance(reference, Reference):
        return reference.ids(texts)
    return [encoding.ids for encoding in reference.encode_batch_fast(texts, add_special_tokens=False)]


def different(core: Any, reference: Tokenizer | Reference, texts: Iterable[str], **options: Any) -> list[str]:
    """The texts, at most five, that the core does not encode as the reference does."""
    texts = list(texts)
    pairs = zip(texts, expected(reference, texts), strict=True)
    return list(itertools.islice((text for text, ids in pairs if core.encode(text, **options) != ids), 5))


def make_core(vocabulary: dict[str, int] | tuple[bytes, int], merges: list[Any] | bytes, **changes: Any) -> Any:
    """A core without added tokens that takes a text as one pre-token, where `changes` does not say otherwise.

    Merges that are bytes are the JSON text of them, right or wrong.
    """
    given = {**_arguments(), **changes}
    out = CoreValues()
    out.begin("byte pair")
    out.vocabulary(vocabulary)
    out.add(merges if isinstance(merges, bytes) else json.dumps(merges).encode())
    out.add(*(given[name] for name in ("ignore_merges", "add_prefix_space", "dropped_bytes", "end_of_word_suffix")))
    unknown = given["unknown_characters"]
    out.add(unknown is not None)
    if unknown is not None:
        token, fused, byte_fallback = unknown
        out.rows([] if token is None else [[token]])
        out.add(fused, byte_fallback)
    out.add(given["class_pages"], given["class_cells"], given["compose_pairs"])
    out.rows([[given["form_pages"], given["form_cells"]]] if given["form_cells"] else [])
    write_steps(out, given["normalizer"])
    out.add(given["scanner"])
    out.rows(given["refinements"])
    out.fixed(given["byte_classes"])
    out.rows([])
    out.rows(given["added_tokens"])
    core = core_of_values(out)
    core.trust_seams()
    return core


@functools.cache
def _arguments() -> dict[str, Any]:
    classes = load.character_classes()
    return {
        "ignore_merges": False,
        "class_pages": classes.pages.tobytes(),
        "class_cells": classes.cells.tobytes(),
        "compose_pairs": classes.compose_pairs.astype("<u4").tobytes(),
        "byte_classes": byte_level.byte_classes(),
        "scanner": "whole",
        "refinements": [],
        "add_prefix_space": False,
        "normalizer": [],
        "added_tokens": [],
        "dropped_bytes": b"",
        "form_pages": b"",
        "form_cells": b"",
        "end_of_word_suffix": "",
        "unknown_characters": None,
    }
