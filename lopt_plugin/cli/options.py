"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

MODEL = typer.Argument(metavar="MODEL", help="Folder with a tokenizer, a tokenizer.json, or a name on the hub.")
Model = Annotated[str, MODEL]
Field = Annotated[str, typer.Option(help="Field of JSON lines, or column of Parquet files.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads. Default: all CPUs of the process.")]
Revision = Annotated[str | None, typer.Option(help="Revision of the model on the hub.")]
TrustRemoteCode = Annotated[bool, typer.Option("--trust-remote-code", help="As in transformers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
