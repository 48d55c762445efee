"""Loaded into vLLM's processes by vllm_over_http.py: reports when a request arrives, and stubs out tokenization.

The engine's scheduler takes no request: it tells the benchmark when it got one, and with which ids. With FREE_VARIABLE,
the accelerated tokenizers of a process that imports this store whole prompts with their ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from vllm.v1.core.sched.scheduler import Scheduler

import lopt_plugin

FREE_VARIABLE = "LOPT_BENCHMARK_FREE"
SOCKET_VARIABLE = "LOPT_BENCHMARK_ARRIVALS"


def digest(ids: list[int]) -> str:
    """What two equal lists of ids have in common."""
    return hashlib.sha256(np.array(ids, np.int32).tobytes()).hexdigest()


class Arrivals(Scheduler):  # type: ignore[misc]
    """Reports each request and drops it; the sender has to hang up."""

    def add_request(self, request: Any) -> None:
        now = time.monotonic()
        arrival = json.dumps({"seconds": now, "digest": digest(request.prompt_token_ids)}).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(arrival, os.environ[SOCKET_VARIABLE])


class Nothing:
    """An ASGI middleware that does nothing."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, *arguments: Any) -> None:
        await self._app(*arguments)


def _remember() -> None:
    # All accelerated tokenizers share the class with these two: lopt's renderer calls `encode`, vLLM's `__call__`.
    accelerated = lopt_plugin.accelerate(PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE())))
    ours = (kind for kind in type(accelerated).__mro__ if kind.__module__.startswith("lopt_plugin."))
    calls: Any = next(kind for kind in ours if {"encode", "__call__"} <= vars(kind).keys())
    for name in ("encode", "__call__"):
        setattr(calls, name, _remembering(getattr(calls, name)))


def _remembering(method: Callable[..., Any]) -> Callable[..., Any]:
    memory: dict[str, Any] = {}

    def remembered(self: Any, text: Any, *args: Any, **kwargs: Any) -> Any:
        if text not in memory:
            memory[text] = method(self, text, *args, **kwargs)
        return memory[text]

    return remembered


if os.environ.get(FREE_VARIABLE):
    _remember()
