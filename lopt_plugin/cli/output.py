"""How commands print and exit: results on stdout; progress and one-line errors on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from .corpus.inputs import CorpusError

DIFFERENT = 1
CANNOT_LOAD = 2
INTERRUPTED = 130

_PIPED_WIDTH = 200


def results() -> Console:
    """The console for results. Output to a file or a pipe is not wrapped at 80 characters."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH
    return Console(highlight=False, width=wide)


def errors() -> Console:
    """The console for everything else."""
    return Console(stderr=True, highlight=False)


def print_line(text: str, console: Console | None = None, style: str | None = None) -> None:
    """Prints a text without markup or wrapping, to stdout by default."""
    (console or results()).print(text, style=style, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Prints JSON to stdout, for programs."""
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=True, default=str) + "\n")


def progress_bar(shown: bool = True) -> Progress:
    """A progress bar on stderr; a task has `total` and `completed` in bytes, and a text in `fields["rate"]`."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=errors(),
        transient=True,
        disable=not (shown and sys.stderr.isatty()),
    )


def megabytes(size: float) -> str:
    """A number of bytes in readable form: "3.2 MB"."""
    return decimal(int(size))


class CommandError(Exception):
    """Ends the command with the exit status `status`, showing the message and the hint to the user."""

    def __init__(self, message: str, status: int = CANNOT_LOAD, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint


@contextlib.contextmanager
def ends_well(on_error: int) -> Iterator[None]:
    """Turns a user's error into one line on stderr and an exit status, without a traceback.

    `on_error` is the exit status if a file cannot be read or written.
    """
    status = on_error
    try:
        yield
        return
    except CommandError as error:
        _print_error(str(error), error.hint)
        status = error.status
    except CorpusError as error:
        _print_error(str(error))
    except BrokenPipeError:
        # The reader of our output is gone. Nothing may be written when the interpreter exits either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.strerror is None:
            raise
        _print_error(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    except KeyboardInterrupt:
        _print_error("interrupted")
        status = INTERRUPTED
    raise typer.Exit(status)


def _print_error(message: str, hint: str = "") -> None:
    console = errors()
    console.print("lopt: error: ", style="bold red", end="")
    print_line(message, console)
    if hint:
        print_line(f"  {hint}", console)
