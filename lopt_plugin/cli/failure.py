"""How a command ends: its exit status, and the one line that says why."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import TypeVar

import typer

from ..corpus.inputs import CorpusError
from .terminal import errors

DIFFERENT = 1
CANNOT_LOAD = 2
INTERRUPTED = 130

_F = TypeVar("_F", bound=Callable[..., None])


class CommandError(Exception):
    """Ends the command with `status`; the message is for the user."""

    def __init__(self, message: str, status: int, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint


def ends_well(on_error: int) -> Callable[[_F], _F]:
    """For a command whose errors are one line on stderr and an exit status, never a traceback of what the user did.

    `on_error` is the status where a file cannot be read or written.
    """

    def decorate(command: _F) -> _F:
        @functools.wraps(command)
        def wrapped(*args: object, **kwargs: object) -> None:
            try:
                command(*args, **kwargs)
            except CommandError as error:
                _say(str(error), error.hint)
                status = error.status
            except CorpusError as error:
                _say(str(error))
                status = on_error
            except BrokenPipeError:
                # Whoever read our output has gone; nothing may be written at the interpreter's end either.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                status = on_error
            except OSError as error:
                if error.strerror is None:
                    raise
                _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
                status = on_error
            except KeyboardInterrupt:
                _say("interrupted")
                status = INTERRUPTED
            else:
                return
            raise typer.Exit(status)

        return wrapped  # type: ignore[return-value]

    return decorate


def _say(message: str, hint: str = "") -> None:
    console = errors()
    console.print("lopt: error: ", style="bold red", end="", highlight=False)
    console.print(message, markup=False, highlight=False, soft_wrap=True)
    if hint:
        console.print(f"  {hint}", markup=False, highlight=False, soft_wrap=True)
