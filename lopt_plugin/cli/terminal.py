"""Results go to stdout, progress and errors to stderr; NO_COLOR and pipes are respected (rich does it)."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

_PIPED_WIDTH = 200


def results() -> Console:
    """For what the user asked for. Lines that go to a file or a pipe are not broken at 80 characters."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH
    return Console(highlight=False, width=wide)


def errors() -> Console:
    """For all that is not the result."""
    return Console(stderr=True, highlight=False)


def print_json(content: Any) -> None:
    """To stdout, for programs."""
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=True, default=str) + "\n")


def progress_bar(shown: bool = True) -> Progress:
    """A bar on stderr; a task has `total` and `completed`, in bytes, and may have `fields["rate"]`, a text."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        _Share(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=errors(),
        transient=True,
        disable=not (shown and sys.stderr.isatty()),
    )


class _Share(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.percentage:.0f}%")


def megabytes(size: float) -> str:
    """Bytes for reading: "3.2 MB"."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"
