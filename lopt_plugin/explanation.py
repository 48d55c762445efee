"""What is active in an Encoder and why, what it was asked, and the route that a text would take."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import Any

import tokenizers

from .route_calls import RouteCalls


def explanation(calls: RouteCalls, text: str | Sequence[str] | None) -> dict[str, Any]:
    """See Encoder.explain."""
    snapshot = calls.snapshot()
    native, hf_chunks = snapshot.native, snapshot.hf_chunks
    explained: dict[str, Any] = {
        "route": (snapshot.longest_route or calls.hf).name,
        "reason": snapshot.reason,
        "pipeline": snapshot.description,
        "threads": calls.settings.threads,
        "chunk_chars": calls.settings.chunk_chars,
        "parallel_min_chars": calls.settings.parallel_min_chars,
        "verify": calls.settings.verify,
        "versions": _versions(native is not None),
        "self_check": None if snapshot.checked is None else vars(snapshot.checked).copy(),
        "calls": {
            "native": calls.native_calls,
            "hf_chunks": calls.chunked_calls,
            "gpu": calls.gpu_calls,
            "hf": calls.hf_calls.total(),
            "verified": calls.verified_calls,
        },
        "hf_calls": dict(calls.hf_calls),
        "core": None if native is None else native.info(),
        "hf_chunks": None if hf_chunks is None else hf_chunks.info(),
        "gpu": calls.gpu_use.info(),
    }
    if isinstance(text, str):
        route, gpu = snapshot.route_for(len(text)), calls.gpu_use.outlook(snapshot, text)
        explained["text"] = {
            "characters": len(text),
            "route": "gpu" if gpu["gpu"] else (route or calls.hf).name,
            "chunks": 1 if route is None or gpu["gpu"] else route.chunks(len(text)),
            "gpu": gpu,
        }
    elif text is not None:
        route, gpu = snapshot.route_for(max(map(len, text), default=0)), calls.gpu_use.outlook(snapshot, text)
        explained["batch"] = {
            "texts": len(text),
            "characters": sum(map(len, text)),
            "route": "gpu" if gpu["gpu"] else (route or calls.hf).name,
            "gpu": gpu,
        }
    return explained


def _versions(with_character_classes: bool) -> dict[str, str | None]:
    from . import __version__, character_classes

    transformers = sys.modules.get("transformers")
    return {
        "lopt_plugin": __version__,
        "tokenizers": tokenizers.__version__,
        "transformers": getattr(transformers, "__version__", None),
        "python": platform.python_version(),
        "character_classes": character_classes.load().tokenizers_version if with_character_classes else None,
    }
