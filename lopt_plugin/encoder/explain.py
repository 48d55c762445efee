"""What is active in an Encoder and why, its counters, and the route that a text would take."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import Any

import tokenizers

from .._version import version
from ..native import build_description
from ..unicode_tables.load import character_classes
from .decoding import Decoding
from .runner import Runner


def explanation(runner: Runner, decoding: Decoding, text: str | Sequence[str] | None) -> dict[str, Any]:
    """See Encoder.explain."""
    snapshot = runner.state.snapshot()
    native, hf_chunks = snapshot.native, snapshot.hf_chunks
    explained: dict[str, Any] = {
        "route": (snapshot.longest_route or runner.hf).name,
        "reason": snapshot.reason,
        "pipeline": snapshot.description,
        "threads": runner.settings.threads,
        "chunk_chars": runner.settings.chunk_chars,
        "parallel_min_chars": runner.settings.parallel_min_chars,
        "verify": runner.settings.verify,
        "versions": {
            "lopt_plugin": version(),
            "native_core": build_description(),
            "tokenizers": tokenizers.__version__,
            "transformers": getattr(sys.modules.get("transformers"), "__version__", None),
            "python": platform.python_version(),
            "character_classes": None if native is None else character_classes().tokenizers_version,
        },
        "self_check": None if snapshot.checked is None else vars(snapshot.checked).copy(),
        "calls": {
            "native": runner.native_calls,
            "hf_chunks": runner.chunked_calls,
            "gpu": runner.gpu_calls,
            "hf": runner.reference_calls.total(),
            "verified": runner.verification.calls,
        },
        "hf_calls": dict(runner.reference_calls),
        "core": None if native is None else native.info(),
        "decoding": decoding.info(),
        "hf_chunks": None if hf_chunks is None else hf_chunks.info(),
        "gpu": runner.gpu.info(),
    }
    if text is None:
        return explained
    lengths = [len(text)] if isinstance(text, str) else list(map(len, text))
    route, gpu = snapshot.route_for(max(lengths, default=0)), runner.gpu.outlook(snapshot, text)
    about: dict[str, Any] = {
        "characters": sum(lengths),
        "route": "gpu" if gpu["gpu"] else (route or runner.hf).name,
        "gpu": gpu,
    }
    if isinstance(text, str):
        explained["text"] = {**about, "chunks": 1 if route is None or gpu["gpu"] else route.chunks(len(text))}
    else:
        explained["batch"] = {**about, "texts": len(text)}
    return explained
