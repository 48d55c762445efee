"""What RESULTS.md shows of speed.py: a table, a plot and the losses of each tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from report import Plot, Report, Table, number, others_win

from lopt_plugin.benchmarking.engines import engine_class

if TYPE_CHECKING:
    from speed import Group, Row

SPEEDS = ("first", "cold", "warm", "hostile")
# Of each kind of result, the engine whose ratios to its peers are shown.
OURS = {"list": "lopt", "array": "lopt_array"}


def make(groups: Sequence[Group], about: str) -> Report:
    """Groups in the order of their tokenizers and corpora."""
    report = Report(f"Speed of one prompt: {', '.join(dict.fromkeys(group.tokenizer for group in groups))}", about)
    for tokenizer in dict.fromkeys(group.tokenizer for group in groups):
        of_tokenizer = [group for group in groups if group.tokenizer == tokenizer]
        for kind, ours in OURS.items():
            engines = [name for name in of_tokenizer[0].rows if engine_class(name).kind == kind]
            if not engines:
                continue
            report.tables.append(_table(tokenizer, kind, ours, engines, of_tokenizer))
            for speed in SPEEDS:
                places = {
                    f"{tokenizer}, {group.corpus}, {speed}{'' if kind == 'list' else ', to an array'}": {
                        name: group.rows[name].median(speed) for name in engines if group.rows[name].repetitions
                    }
                    for group in of_tokenizer
                }
                report.others_win += others_win(places, ours)
        report.plots.append(_plot(tokenizer, of_tokenizer))
    return report


def _table(tokenizer: str, kind: str, ours: str, engines: Sequence[str], groups: Sequence[Group]) -> Table:
    # The first column of an engine has its name.
    columns = [f"{name}: {speed}" if speed == SPEEDS[0] else speed for name in engines for speed in SPEEDS]
    rows = []
    for group in groups:
        cells = [cell for name in engines for cell in _cells(group.rows[name])]
        own = group.rows.get(ours)
        ratios = {} if own is None else own.ratios
        rows.append([group.corpus, *cells, *(number(ratios.get(speed)) for speed in ("first", "cold"))])
    found = [(name, group.rows[name]) for group in groups for name in engines]
    remarks = [f"{name}: {row.problem or row.note}" for name, row in found if row.problem or row.note]
    remarks += [f"{group.corpus}: {group.remark}" for group in groups if group.remark]
    title = f"{tokenizer}, MB/s" + ("" if kind == "list" else ", to a NumPy array")
    return Table(["corpus", *columns, "first x", "cold x"], rows, title, remarks=list(dict.fromkeys(remarks)))


def _cells(row: Row) -> list[str]:
    return [number(row.median(speed)) if row.repetitions else "-" for speed in SPEEDS]


def _plot(tokenizer: str, groups: Sequence[Group]) -> Plot:
    engines = [name for name in groups[0].rows if engine_class(name).kind == "list"]
    return Plot(
        f"speed_{tokenizer}",
        f"{tokenizer}: prompts that were not seen before, one thread",
        "",
        "MB/s",
        {
            name: [group.rows[name].median("cold") if group.rows[name].repetitions else 0.0 for group in groups]
            for name in engines
        },
        groups=[group.corpus for group in groups],
    )
