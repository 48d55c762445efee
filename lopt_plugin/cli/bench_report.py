"""The output of `lopt bench`: tables, and plots of throughput, latency by length and scaling with threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from .benchmarking.by_length import Plan, Point
from .output import megabytes

SPEEDS = ("first", "cold", "warm", "hostile")


class Report:
    """The points that were measured by a plan."""

    def __init__(self, points: Sequence[Point], plan: Plan) -> None:
        self.points = points
        self.plan = plan
        found = {(point.engine, point.length, point.threads): point for point in points}
        longest = max(plan.lengths)
        self._counts = [*plan.scaling, plan.threads]
        self._main = {name: found[name, plan.main_length, plan.threads] for name in plan.engines}
        self._by_length = {name: [found[name, size, plan.threads] for size in plan.lengths] for name in plan.engines}
        self._by_threads = {name: [found[name, longest, n] for n in self._counts] for name in plan.engines[1:]}
        self._longest = f"an unseen prompt of {megabytes(longest)}"

    def tables(self) -> list[Table]:
        """All speeds at the main length, latency by length, and speed by thread count if there are several counts."""
        plan = self.plan
        threads = f"{plan.threads} thread{'' if plan.threads == 1 else 's'}"
        speeds = {name: self._speeds(point) for name, point in self._main.items()}
        latencies = {name: map(_latency, points) for name, points in self._by_length.items()}
        tables = [
            _table(f"prompts of {megabytes(plan.main_length)}, {threads}, MB/s", (*SPEEDS, "cold x HF"), speeds),
            _table(f"an unseen prompt, {threads}, ms", map(megabytes, plan.lengths), latencies),
        ]
        if plan.scaling:
            scaling = {name: map(_unseen_speed, points) for name, points in self._by_threads.items()}
            tables.append(_table(f"{self._longest} by threads, MB/s", map(str, self._counts), scaling))
        return tables

    def _speeds(self, point: Point) -> list[str]:
        if point.problem:
            return [_reason(point)]
        own, hf = point.speed(point.unseen), self._main["hf"].speed(point.unseen)
        ratio = "-" if own is None or hf is None else f"{own / hf:.1f}"
        return [*(_number(point.speed(name)) for name in SPEEDS), ratio]

    def remarks(self, missing: Sequence[str]) -> list[str]:
        """What the reader of the tables must know. `missing`: peers that are not installed."""
        lines = [
            "first: of a process; cold: others, each seen once; warm: all of them again; hostile: random words, once"
        ]
        if any(not point.cold and not point.problem for point in self.points):
            lines.append("*: the texts have only one such prompt; it is the first of its process")
        said = [(point.engine, line) for point in self.points for line in (point.problem, point.note) if line]
        lines += [f"{engine}: {line}" for engine, line in dict.fromkeys(said)]
        if missing:
            lines.append(f"not installed: {', '.join(missing)}")
        all_compared = all(not point.problem for point in self.points)
        where = "" if all_compared else " wherever there is a number"
        return [*lines, f"{'all ids' if all_compared else 'ids'} equal to Hugging Face's{where}"]

    def draw(self, path: Path, title: str) -> None:
        """Writes the plots; the file's suffix chooses the format. Engines without numbers are left out."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        panels = 3 if self.plan.scaling else 2
        figure = Figure(figsize=(5.2 * panels, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title)
        throughput, latency, *scaling = figure.subplots(1, panels)
        self._draw_throughput(throughput)
        _draw_lines(latency, self._by_length, lambda of: (of.prompt_bytes, 1e3 * of.seconds(of.unseen)))
        latency.set(xscale="log", yscale="log", xlabel="bytes of the prompt", ylabel="ms", title="an unseen prompt")
        for axes in scaling:
            _draw_lines(axes, self._by_threads, lambda of: (of.threads, of.speed(of.unseen)))
            axes.set(xlabel="threads", ylabel="MB/s", title=self._longest, ylim=(0, None), xticks=self._counts)
        figure.savefig(path, dpi=150)

    def _draw_throughput(self, axes: Any) -> None:
        shown = [point for point in self._main.values() if not point.problem]
        width = 0.8 / len(SPEEDS)
        for number, speed in enumerate(SPEEDS):
            places = [k + (number - (len(SPEEDS) - 1) / 2) * width for k in range(len(shown))]
            axes.bar(places, [point.speed(speed) or 0.0 for point in shown], width, label=speed)
        axes.set_xticks(range(len(shown)), [point.engine for point in shown], rotation=20, ha="right")
        title = f"prompts of {megabytes(self.plan.main_length)}, threads: {self.plan.threads}"
        axes.set(ylabel="MB/s", title=title)
        axes.legend()


def _draw_lines(axes: Any, lines: Mapping[str, list[Point]], place: Callable[[Any], tuple[float, float]]) -> None:
    for engine, points in lines.items():
        places = [place(point) for point in points if not point.problem]
        if places:
            axes.plot(*zip(*places, strict=True), marker="o", label=engine)
    axes.grid(alpha=0.3)
    axes.legend()


def _table(title: str, columns: Iterable[str], rows: Mapping[str, Iterable[str]]) -> Table:
    table = Table("engine", title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def _latency(point: Point) -> str:
    seconds = point.seconds(point.unseen)
    return _reason(point) if seconds is None else _number(1e3 * seconds) + ("" if point.cold else "*")


def _unseen_speed(point: Point) -> str:
    return _reason(point) if point.problem else _number(point.speed(point.unseen))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _reason(point: Point) -> str:
    return point.problem.split(":", 1)[0]
