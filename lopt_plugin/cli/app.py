"""The commands and what is common to them."""

from __future__ import annotations

from typing import Annotated

import typer

from . import bench, check, demo, encode

app = typer.Typer(
    name="lopt",
    help="Exact, fast tokenization: the ids of the installed Hugging Face tokenizer, sooner.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("check")(check.check)
app.command("bench")(bench.bench)
app.command("encode")(encode.encode)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"lopt_plugin {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Exact, fast tokenization: the ids of the installed Hugging Face tokenizer, sooner."""
