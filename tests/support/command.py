"""The `lopt` command in this process, and tokenizers as folders that it can load."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import corpus
from typer.testing import CliRunner

from lopt_plugin.cli.app import app


def lopt(*arguments: object, given: bytes | None = None) -> Any:
    """The command's result: exit_code, stdout, stderr. What it did not expect is raised."""
    logger = logging.getLogger("lopt_plugin")
    level = logger.level
    try:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    finally:
        logger.setLevel(level)  # the command quiets the process that it thinks is its own
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def model_folder(folder: Path, name: str = "tiny_qwen2") -> Path:
    """A folder with nothing but the tokenizer.json of that tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(corpus.tokenizer_json(name), encoding="utf-8")
    return folder
