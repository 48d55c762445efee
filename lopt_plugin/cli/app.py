"""The command line: the commands, and the options that precede them."""

from __future__ import annotations

from typing import Annotated

import typer

from . import bench, check, compile, demo, encode

app = typer.Typer(
    name="lopt",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (check.check, bench.bench, encode.encode, compile.compile, demo.demo):
    app.command(command.__name__)(command)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__
        from ..native import build_description

        typer.echo(f"lopt_plugin {__version__}\nnative core: {build_description() or 'not installed'}")
        raise typer.Exit()


@app.callback(help="Fast, exact tokenization: the same ids as the installed Hugging Face tokenizer, sooner.")
def common(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and the build.")
    ] = False,
) -> None:
    """The options of `lopt` itself."""
