"""The output of `lopt bench`: speeds, latency by length and scaling with threads, each as a table and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from .benchmarking.by_length import Plan, Point
from .output import megabytes

SPEEDS = ("first", "cold", "warm", "hostile")


class View(NamedTuple):
    """Figures of one unit by engine: for each column a point and its figure, or None."""

    title: str
    unit: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[tuple[Point, float | None]]]
    is_log: bool = False


def views(points: Sequence[Point], plan: Plan) -> list[View]:
    """All speeds at the main length, latency by length, and speed by thread count if there are several counts."""
    found = {(point.engine, point.length, point.threads): point for point in points}
    threads = f"{plan.threads} thread{'' if plan.threads == 1 else 's'}"
    main = {name: found[name, plan.main_length, plan.threads] for name in plan.engines}
    speeds = {name: [(point, point.speed(speed)) for speed in SPEEDS] for name, point in main.items()}
    by_length = {name: [found[name, length, plan.threads] for length in plan.lengths] for name in plan.engines}
    latencies = {
        name: [(point, None if (seconds := point.seconds(point.unseen)) is None else 1e3 * seconds) for point in row]
        for name, row in by_length.items()
    }
    made = [
        View(f"prompts of {megabytes(plan.main_length)}, {threads}", "MB/s", SPEEDS, speeds),
        View(f"an unseen prompt, {threads}", "ms", [*map(megabytes, plan.lengths)], latencies, is_log=True),
    ]
    if plan.scaling:
        longest, counts = max(plan.lengths), [*plan.scaling, plan.threads]
        by_threads = {name: [found[name, longest, count] for count in counts] for name in plan.engines[1:]}
        scaling = {name: [(point, point.speed(point.unseen)) for point in row] for name, row in by_threads.items()}
        made.append(View(f"an unseen prompt of {megabytes(longest)} by threads", "MB/s", [*map(str, counts)], scaling))
    return made


def table(view: View) -> Table:
    """The view as a table; an engine without figures shows the reason."""
    made = Table("engine", title=f"{view.title}, {view.unit}")
    for column in view.columns:
        made.add_column(column, justify="right")
    for name, cells in view.rows.items():
        made.add_row(name, *(_cell(point, value) for point, value in cells))
    return made


def _cell(point: Point, value: float | None) -> str:
    if value is None:
        return point.problem.split(":", 1)[0] or "-"
    return (f"{value:.3g}" if value < 100 else f"{value:,.0f}") + ("" if point.cold else "*")


def remarks(points: Sequence[Point], plan: Plan, missing: Sequence[str]) -> list[str]:
    """Notes below the tables. `missing`: peers that are not installed."""
    lines = ["first: of a process; cold: others, each seen once; warm: all of them again; hostile: random words, once"]
    if any(not point.cold and not point.problem for point in points):
        lines.append("*: the texts have only one such prompt; it is the first of its process")
    reference, *others = (one for one in points if (one.length, one.threads) == (plan.main_length, plan.threads))
    for point in others:
        own, hf = point.speed(point.unseen), reference.speed(reference.unseen)
        if own and hf:
            lines.append(f"{point.engine}: {own / hf:.1f} x Hugging Face, unseen prompts of {megabytes(point.length)}")
    said = [(point.engine, line) for point in points for line in (point.problem, point.note) if line]
    lines += [f"{engine}: {line}" for engine, line in dict.fromkeys(said)]
    if missing:
        lines.append(f"not installed: {', '.join(missing)}")
    all_compared = all(not point.problem for point in points)
    return [
        *lines,
        "all ids equal to Hugging Face's" if all_compared else "ids equal to Hugging Face's wherever there is a number",
    ]


def draw(shown: Sequence[View], path: Path, title: str) -> None:
    """Writes the plots; the file's suffix chooses the format. Engines without numbers are left out."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(shown), 4.2), layout="constrained")
    figure.suptitle(title)
    for axes, view in zip(figure.subplots(1, len(shown)), shown, strict=True):
        for engine, cells in view.rows.items():
            places = [(place, value) for place, (_, value) in enumerate(cells) if value is not None]
            if places:
                axes.plot(*zip(*places, strict=True), marker="o", label=engine)
        axes.set_xticks(range(len(view.columns)), view.columns)
        axes.set(title=view.title, ylabel=view.unit, **({"yscale": "log"} if view.is_log else {"ylim": (0, None)}))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)
