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
from typing import Any

import numpy as np
from vllm.v1.core.sched.scheduler import Scheduler

from lopt_plugin.tokenizer.calls import Calls

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
    """Replaces the call that vLLM's renderer makes; all accelerated tokenizers have it from this class."""
    method = Calls.__call__
    memory: dict[str, Any] = {}

    def remembered(self: Any, text: Any, *args: Any, **kwargs: Any) -> Any:
        if text not in memory:
            memory[text] = method(self, text, *args, **kwargs)
        return memory[text]

    setattr(Calls, "__call__", remembered)  # noqa: B010


if os.environ.get(FREE_VARIABLE):
    _remember()
