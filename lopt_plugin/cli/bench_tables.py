"""The tables that `lopt bench` shows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from ..benchmarking.by_length import Plan, Point
from .terminal import megabytes

SPEEDS = ("first", "cold", "warm", "hostile")


def main_table(points: Sequence[Point], plan: Plan) -> Table:
    """All speeds at the main length, and how many times Hugging Face's the cold one is."""
    table = Table(title=f"prompts of {megabytes(plan.main_length)}, {_threads(plan.threads)}, MB/s")
    table.add_column("engine")
    for name in (*SPEEDS, "cold x HF"):
        table.add_column(name, justify="right")
    shown = [point for point in points if point.length == plan.main_length and point.threads == plan.threads]
    hf = _unseen_speed(shown[0])
    for point in shown:
        if point.problem:
            table.add_row(point.engine, _reason(point))
            continue
        own = _unseen_speed(point)
        ratio = "-" if own is None or hf is None else f"{own / hf:.1f}"
        table.add_row(point.engine, *(_number(point.speed(name)) for name in SPEEDS), ratio)
    return table


def by_length_table(points: Sequence[Point], plan: Plan) -> Table:
    """Milliseconds until the ids of an unseen prompt are there."""
    table = Table(title=f"an unseen prompt, {_threads(plan.threads)}, ms")
    table.add_column("engine")
    for length in plan.lengths:
        table.add_column(megabytes(length), justify="right")
    for engine in plan.engines:
        cells = []
        for length in plan.lengths:
            point = find(points, engine, length, plan.threads)
            seconds = point.unseen_seconds
            mark = "" if point.cold else "*"
            cells.append(_reason(point) if seconds is None else _number(1e3 * seconds) + mark)
        table.add_row(engine, *cells)
    return table


def scaling_table(points: Sequence[Point], plan: Plan) -> Table:
    """MB/s of an unseen prompt of the greatest length by the number of threads."""
    length = max(plan.lengths)
    counts = [*plan.scaling, plan.threads]
    table = Table(title=f"an unseen prompt of {megabytes(length)} by threads, MB/s")
    table.add_column("engine")
    for count in counts:
        table.add_column(str(count), justify="right")
    for engine in plan.engines[1:]:
        cells = []
        for count in counts:
            point = find(points, engine, length, count)
            cells.append(_reason(point) if point.problem else _number(_unseen_speed(point)))
        table.add_row(engine, *cells)
    return table


def remarks(points: Sequence[Point], plan: Plan, missing: Sequence[str]) -> list[str]:
    """What the reader of the tables must know."""
    lines = ["first: of a process; cold: others, each seen once; warm: all of them again; hostile: random words, once"]
    if any(not point.cold and not point.problem for point in points):
        lines.append("*: the texts have one such prompt only; it is the first of its process")
    seen: set[str] = set()
    for point in points:
        for said in (point.problem, point.note):
            line = f"{point.engine}: {said}"
            if said and line not in seen:
                seen.add(line)
                lines.append(line)
    if missing:
        lines.append(f"not installed: {', '.join(missing)}")
    compared = all(not point.problem for point in points)
    ids = "all ids equal to Hugging Face's" if compared else "ids equal to Hugging Face's wherever there is a number"
    return [*lines, ids]


def find(points: Sequence[Point], engine: str, length: int, threads: int) -> Point:
    """The one point for these."""
    wanted = (engine, length, threads)
    return next(point for point in points if (point.engine, point.length, point.threads) == wanted)


def _unseen_speed(point: Point) -> float | None:
    return point.speed("cold") or point.speed("first")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _reason(point: Point) -> str:
    return point.problem.split(":", 1)[0]


def _threads(count: int) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"
