"""Tables for a terminal or for Markdown, and what a benchmark leaves for RESULTS.md, as JSON with the machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lopt_plugin.benchmarking.machine import machine

# Differences below that are noise on a quiet machine as well.
NOISE = 0.03


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


@dataclass(frozen=True)
class Plot:
    """Lines over numbers, or groups of bars over words. `series`: name to points (x, y), or to a bar for each group.

    name  of the image file
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Any]]
    groups: Sequence[str] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass
class Report:
    """What RESULTS.md shows of a benchmark.

    about       how it is measured, what its columns mean, and what paper it follows: a paragraph
    others_win  where another engine is faster by more than the noise: lines
    """

    title: str
    about: str
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    others_win: list[str] = field(default_factory=list)


def others_win(
    figures: Mapping[str, Mapping[str, float]], ours: str = "lopt", smaller_is_better: bool = False
) -> list[str]:
    """Lines "where: engine 1.2 times" for what is faster than `ours`; `figures` are by place, then by engine."""
    lines = []
    for where, by_engine in figures.items():
        own = by_engine.get(ours)
        others = {engine: value for engine, value in by_engine.items() if engine != ours}
        if own is None or not others:
            continue
        best = (min if smaller_is_better else max)(others, key=lambda engine: others[engine])
        times = own / others[best] if smaller_is_better else others[best] / own
        if times > 1 + NOISE:
            lines.append(f"{where}: {best} {times:.2f} times")
    return lines


def number(value: float | None) -> str:
    """Three digits, or "-"."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def show(table: Table, as_markdown: bool) -> None:
    """Prints the table and an empty line."""
    print(table.markdown() if as_markdown else table.text(), end="\n\n", flush=True)


def _command() -> str:
    """How the script was called, without where its figures go."""
    script, *arguments = sys.argv
    if "--json" in arguments:
        place = arguments.index("--json")
        del arguments[place : place + 2]
    return " ".join(["python", f"benchmarks/{Path(script).name}", *arguments])


def write_json(
    path: str | None, benchmark: str, settings: dict[str, Any], results: Any, report: Report | None = None
) -> None:
    """Writes the results with the machine and the versions of the libraries; nothing if `path` is None."""
    if path is not None:
        content = {"benchmark": benchmark, "settings": settings, "machine": machine(), "results": results}
        content["command"] = _command()
        content["report"] = None if report is None else asdict(report)
        text = json.dumps(content, indent=1, ensure_ascii=False, default=str)
        Path(path).write_text(text + "\n", encoding="utf-8")
