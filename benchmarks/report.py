"""Tables for a terminal or for Markdown, and results as JSON with the machine that they come from."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARIES = ("lopt-plugin", "tokenizers", "transformers", "tiktoken", "fastokens", "gigatoken", "numpy")


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first `text_columns` are words, the others are numbers and stand on the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    text_columns: int = 1
    remarks: Sequence[str] = ()

    def text(self) -> str:
        """For a terminal."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [self.title] if self.title else []
        for row in (self.columns, *self.rows):
            cells = [
                cell.ljust(width) if k < self.text_columns else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append(("  " + "  ".join(cells)).rstrip())
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks)])

    def markdown(self) -> str:
        """A Markdown table; its remarks stand behind it as a paragraph each."""
        rule = ["---" if k < self.text_columns else "---:" for k in range(len(self.columns))]
        rows = [self.columns, rule, *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, *lines, *(f"\n{remark}" for remark in self.remarks)])


def show(table: Table, as_markdown: bool) -> None:
    """Prints the table and an empty line."""
    print(table.markdown() if as_markdown else table.text(), end="\n\n", flush=True)


def write_json(path: str | None, benchmark: str, settings: dict[str, Any], results: Any) -> None:
    """Writes the results with the machine and the versions of the libraries; nothing if `path` is None."""
    if path is not None:
        content = {"benchmark": benchmark, "settings": settings, "machine": machine(), "results": results}
        Path(path).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What a reader has to know to judge the figures."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "load_average": list(os.getloadavg()),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
    }


def machine_line() -> str:
    """The same in one line, with a warning if the machine has other work to do."""
    found = machine()
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items() if version)
    line = f"{found['processor']}, {found['cpus']} CPUs, Python {found['python']}; {versions}"
    busy = found["load_average"][0]
    return line + (f"\nWARNING: the machine is busy (load average {busy:.1f})" if busy > 0.5 else "")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
