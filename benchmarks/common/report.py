"""Tables, plots and losses of a benchmark: for the terminal, for Markdown, and as JSON with the machine."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.data import REPOSITORY
from lopt_plugin.cli.benchmarking.machine import machine

# Smaller differences are noise, on a quiet machine too.
NOISE = 0.03
OURS = "lopt"
Figures = Mapping[str, Mapping[Any, float]]  # by engine, then by place


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first `text_columns` are words, the others are numbers and aligned to the right."""

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
        """A Markdown table, followed by a paragraph for each remark."""
        rule = ["---" if k < self.text_columns else "---:" for k in range(len(self.columns))]
        rows = [self.columns, rule, *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, *lines, *(f"\n{remark}" for remark in self.remarks)])


@dataclass(frozen=True)
class Plot:
    """Lines over numbers, or groups of bars over words.

    name    of the image file, without its ending
    series  by name: points (x, y), or a bar for each group
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Any]]
    groups: Sequence[str] = ()
    log_x: bool = False
    log_y: bool = False

    @property
    def file_name(self) -> str:
        """Of the image: without characters that a file's name or an address may not have."""
        return re.sub(r"[^A-Za-z0-9_-]+", "_", self.name) + ".svg"

    def draw(self, folder: Path) -> bool:
        """Writes a small SVG file; the same figures give the same bytes. False where there is nothing to draw."""
        from matplotlib import rc_context
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        series = {name: values for name, values in self.series.items() if any(values)}
        if not series:
            return False
        # Without the salt and the date, every run would give other files.
        salt = self.file_name.removesuffix(".svg")
        with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": 9}):
            figure = Figure(figsize=(6.4, 3.6), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.subplots()
            if self.groups:
                width = 0.8 / len(series)
                for place, (name, values) in enumerate(series.items()):
                    middle = (place - (len(series) - 1) / 2) * width
                    axes.bar([group + middle for group in range(len(self.groups))], values, width, label=name)
                axes.set_xticks(range(len(self.groups)), self.groups)
            else:
                for name, points in series.items():
                    style = {"linewidth": 2.2, "zorder": 3} if name == OURS else {"linewidth": 1.2}
                    axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name, **style)
                axes.set(xscale="log" if self.log_x else "linear")
                if not self.log_x:
                    axes.set_xticks(sorted({x for points in series.values() for x, _ in points}))
            yscale = "log" if self.log_y else "linear"
            axes.set(yscale=yscale, xlabel=self.x_label, ylabel=self.y_label, title=self.title)
            if not self.log_y:
                axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
            figure.savefig(folder / self.file_name, metadata={"Date": None})
        return True


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

    def add_lines(
        self,
        figures: Figures,
        columns: Sequence[int] | Mapping[int, str],
        title: str,
        label: str,
        unit: str,
        plot: tuple[str, str],
        *,
        log: str = "xy",
        place: str = "",
        remarks: Iterable[str] = (),
    ) -> None:
        """A table, a plot and the losses, of figures by engine and by a number such as a length.

        columns  the numbers in order, perhaps with the heads of their columns; a number of 0 is not plotted
        label    what the numbers are
        unit     of the figures; MB/s are better when greater, all others when smaller
        plot     the name of the image, and its title
        log      the axes that are logarithmic
        place    a format string for a number, for losses; "" for none
        """
        rows = [[name, *(number(own.get(n)) for n in columns)] for name, own in figures.items()]
        heads = columns.values() if isinstance(columns, Mapping) else (f"{n:,}" for n in columns)
        self.tables.append(Table([label, *heads], rows, title, remarks=list(remarks)))
        series = {name: [(n, own[n]) for n in columns if n and n in own] for name, own in figures.items()}
        self.plots.append(Plot(*plot, label, unit, series, log_x="x" in log, log_y="y" in log))
        if place:
            self.add_losses(figures, place, smaller_is_better=unit != "MB/s")

    def add_losses(self, figures: Figures, place: str, ours: str = OURS, smaller_is_better: bool = False) -> None:
        """Lines "where: engine 1.2 times" for what is faster than `ours`.

        figures: by engine, then by place; place: a format string for one.
        """
        for key, own in figures.get(ours, {}).items():
            others = {engine: by[key] for engine, by in figures.items() if not engine.startswith("lopt") and key in by}
            if others:
                best = (min if smaller_is_better else max)(others, key=others.__getitem__)
                times = own / others[best] if smaller_is_better else others[best] / own
                if times > 1 + NOISE:
                    self.others_win.append(f"{place.format(key)}: {best} {times:.2f} times")


def number(value: float | None) -> str:
    """Three digits, or "-"."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _command() -> str:
    """How the script was called, without where its figures go."""
    script, *arguments = sys.argv
    if "--json" in arguments:
        place = arguments.index("--json")
        del arguments[place : place + 2]
    path = Path(script).resolve()
    inside = path.is_relative_to(REPOSITORY)
    return " ".join(["python", path.relative_to(REPOSITORY).as_posix() if inside else path.name, *arguments])


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def write_json(path: str | None, benchmark: str, settings: dict[str, Any], results: Any, report: Report) -> None:
    """Writes the results with the machine and the versions of the libraries; nothing if `path` is None."""
    if path is not None:
        asked = {name: value for name, value in settings.items() if name != "json"}  # without a path of this machine
        content = {"benchmark": benchmark, "settings": asked, "machine": machine(), "results": results}
        content |= {"command": _command(), "report": report}
        text = json.dumps(content, indent=1, ensure_ascii=False, default=_plain)
        Path(path).write_text(text + "\n", encoding="utf-8")
