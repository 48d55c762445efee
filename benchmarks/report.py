"""Tables for a terminal or for Markdown, and results as JSON with the machine that they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopt_plugin.benchmarking.machine import machine


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
