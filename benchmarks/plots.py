"""Draws a Plot as a small SVG file; the same figures give the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from report import Plot

OURS = "lopt"


def draw(plot: Plot, folder: Path) -> bool:
    """Writes `folder`/NAME.svg. Gives False, and writes nothing, where there is nothing to draw."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    series = {name: values for name, values in plot.series.items() if any(values)}
    if not series:
        return False
    # Without the salt and the date, every run would give other files.
    with rc_context({"svg.hashsalt": plot.name, "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        if plot.groups:
            _bars(axes, series, plot.groups)
        else:
            for name, points in series.items():
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name, **_style(name))
            axes.set(xscale="log" if plot.log_x else "linear")
            if not plot.log_x:
                axes.set_xticks(sorted({x for points in series.values() for x, _ in points}))
        axes.set(yscale="log" if plot.log_y else "linear", xlabel=plot.x_label, ylabel=plot.y_label, title=plot.title)
        if not plot.log_y:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(folder / f"{plot.name}.svg", metadata={"Date": None})
    return True


def file_name(name: str) -> str:
    """The name with nothing in it that a file's name or an address may not have."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)


def _bars(axes: Any, series: dict[str, Any], groups: Any) -> None:
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        middle = (place - (len(series) - 1) / 2) * width
        axes.bar([group + middle for group in range(len(groups))], values, width, label=name)
    axes.set_xticks(range(len(groups)), groups)


def _style(name: str) -> dict[str, Any]:
    return {"linewidth": 2.2, "zorder": 3} if name == OURS else {"linewidth": 1.2}
