"""What an engine's server streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lopt_plugin.cli.serving.server import EngineServer


def stream(server: EngineServer, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The server-sent events of a POST with "stream": true, until [DONE]. Raises OSError for an HTTP error."""
    with server.request("POST", path, body) as response:
        if response.status != 200:
            raise OSError(f"POST {path}: HTTP {response.status}: {response.read()[:500]!r}")
        for line in response:
            event = line.decode().strip().removeprefix("data: ")
            if event == "[DONE]":
                return
            if event:
                yield json.loads(event)
