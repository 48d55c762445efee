"""The figures of `lopt bench` as plots: throughput by engine, latency by length, and scaling with threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..benchmarking.by_length import Plan, Point
from .bench_tables import SPEEDS, find
from .terminal import megabytes


def draw(points: Sequence[Point], plan: Plan, path: Path, title: str) -> None:
    """Writes the plots; the file's suffix chooses its format. Engines without numbers are left out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = 3 if plan.scaling else 2
    figure = Figure(figsize=(5.2 * panels, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels)
    figure.suptitle(title)
    _throughput(axes[0], points, plan)
    _latency(axes[1], points, plan)
    if plan.scaling:
        _scaling(axes[2], points, plan)
    figure.savefig(path, dpi=150)


def _throughput(axes: Any, points: Sequence[Point], plan: Plan) -> None:
    shown = [find(points, engine, plan.main_length, plan.threads) for engine in plan.engines]
    shown = [point for point in shown if not point.problem]
    width = 0.8 / len(SPEEDS)
    for number, speed in enumerate(SPEEDS):
        places = [k + (number - (len(SPEEDS) - 1) / 2) * width for k in range(len(shown))]
        axes.bar(places, [point.speed(speed) or 0.0 for point in shown], width, label=speed)
    axes.set_xticks(range(len(shown)), [point.engine for point in shown], rotation=20, ha="right")
    axes.set(ylabel="MB/s", title=f"prompts of {megabytes(plan.main_length)}, threads: {plan.threads}")
    axes.legend()


def _latency(axes: Any, points: Sequence[Point], plan: Plan) -> None:
    for engine in plan.engines:
        found = [find(points, engine, length, plan.threads) for length in plan.lengths]
        line = [(p.prompt_bytes, 1e3 * p.unseen_seconds) for p in found if p.unseen_seconds is not None]
        if line:
            axes.plot(*zip(*line, strict=True), marker="o", label=engine)
    axes.set(xscale="log", yscale="log", xlabel="bytes of the prompt", ylabel="ms", title="an unseen prompt")
    axes.grid(alpha=0.3)
    axes.legend()


def _scaling(axes: Any, points: Sequence[Point], plan: Plan) -> None:
    length = max(plan.lengths)
    for engine in plan.engines[1:]:
        found = [find(points, engine, length, threads) for threads in (*plan.scaling, plan.threads)]
        line = [(p.threads, p.prompt_bytes / 1e6 / p.unseen_seconds) for p in found if p.unseen_seconds is not None]
        if line:
            axes.plot(*zip(*line, strict=True), marker="o", label=engine)
    axes.set(xlabel="threads", ylabel="MB/s", title=f"an unseen prompt of {megabytes(length)}", ylim=(0, None))
    axes.set_xticks([*plan.scaling, plan.threads])
    axes.grid(alpha=0.3)
    axes.legend()
