"""A gateway's checks before a prompt goes to an engine: how many tokens it has, whether it fits, and what of it does.

    pip install lopt-plugin fastapi uvicorn
    MODEL=Qwen/Qwen3-8B MOST_TOKENS=32768 uvicorn app:app

The functions are not `async`: FastAPI runs them on its threads, and counting lets other threads run.
"""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import lopt_plugin


class Prompt(BaseModel):
    """What a client sends."""

    prompt: str


def application(tokenizer: Any, most_tokens: int) -> FastAPI:
    """The application for one tokenizer and a limit in tokens."""
    app, lopt = FastAPI(), tokenizer.lopt

    @app.post("/count")
    def count(given: Prompt) -> dict[str, int]:
        return {"tokens": lopt.count(given.prompt)}

    @app.post("/admit")
    def admit(given: Prompt) -> dict[str, int]:
        tokens = lopt.count_until(given.prompt, most_tokens)
        if tokens is None:
            raise HTTPException(413, f"the prompt has more than {most_tokens} tokens")
        return {"tokens": tokens}

    @app.post("/cut")
    def cut(given: Prompt) -> Prompt:
        return Prompt(prompt=lopt.cut(given.prompt, most_tokens))

    return app


if "MODEL" in os.environ:
    app = application(lopt_plugin.from_pretrained(os.environ["MODEL"]), int(os.environ.get("MOST_TOKENS", "32768")))
