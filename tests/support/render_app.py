"""vLLM's render server in this process, without a socket: what a server with this tokenizer mode answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any


class RenderApp:
    """The application that `vllm launch render MODEL` serves under the name "tiny"."""

    def __init__(self, model: Path, mode: str, context_length: int) -> None:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.entrypoints.cli.launch import make_arg_parser
        from vllm.entrypoints.launchers.app import build_app
        from vllm.entrypoints.launchers.render.app_state import init_render_app_state
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        given = ["--model", str(model), "--tokenizer-mode", mode, "--max-model-len", str(context_length)]
        arguments = make_arg_parser(FlexibleArgumentParser()).parse_args([*given, "--served-model-name", "tiny"])
        self._app = build_app(arguments, ("render",))
        config = AsyncEngineArgs.from_cli_args(arguments).create_engine_config()
        asyncio.run(init_render_app_state(config, self._app.state, arguments))

    @property
    def online_renderer(self) -> Any:
        """What turns requests into ids, for the routes of this application."""
        return self._app.state.online_renderer

    def post(self, path: str, body: dict[str, Any] | bytes) -> tuple[int, Any]:
        """HTTP status and parsed answer of a POST."""
        return asyncio.run(self._post(path, {"content" if isinstance(body, bytes) else "json": body}))

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        import httpx

        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
        headers = {"Content-Type": "application/json"}
        async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
            answer = await client.post(path, headers=headers, timeout=60, **body)
        return answer.status_code, answer.json()
