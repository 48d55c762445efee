"""RESULTS.md with its plots, and the table of docs/performance.md, from the JSON files of the benchmarks."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.report import Plot, Table, number

WIDTH = 120
BEGINNING = """\
Written by `make bench`, whole or in parts: each section names its command. [README.md](README.md) says how it is
measured. The ids of every row were compared with those of the installed `tokenizers` before its figures were shown, and
a row that differs has none."""
README_NAMES = {
    "qwen3": "Qwen3",
    "llama3": "Llama 3",
    "llama2": "Llama 2",
    "gemma3": "Gemma 3",
    "leval_en": "English (LEval)",
    "math": "mathematics",
    "chat": "chats in JSON",
    "code": "code",
    "zh": "Chinese",
    "multi": "370 languages",
}
OURS, PEERS = "lopt", ("fastokens", "gigatoken", "gigatoken_batch", "tiktoken")
Content = dict[str, Any]  # of a JSON file that `report.write_json` wrote


def read(paths: Sequence[Path]) -> list[Content]:
    """The files that have a report, in the order given."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    for path, content in zip(paths, found, strict=True):
        if not content.get("report"):
            print(f"{path.stem}: left out, it has no report", file=sys.stderr)
    return [content for content in found if content.get("report")]


def write(results: Sequence[Content], out: Path, remark: str) -> None:
    """RESULTS.md and plots/, which is emptied before, in the folder `out`."""
    folder = out / "plots"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["# Results", "", _machine(results), "", _wrapped(BEGINNING + (f" {remark}" if remark else "")), ""]
    lines += _losses(results)
    for result in results:
        report = result["report"]
        lines += [f"## {report['title']}", "", f"`{result['command']}`", "", _wrapped(report["about"]), ""]
        for plot in (Plot(**one) for one in report["plots"]):
            if plot.draw(folder):
                lines += [f"![{plot.title}](plots/{plot.file_name})", ""]
        for table in report["tables"]:
            lines += [Table(**table).markdown(), ""]
    (out / "RESULTS.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _machine(results: Sequence[Content]) -> str:
    machines = [result["machine"] for result in results]
    dates = sorted({machine["date"][:10] for machine in machines})
    lines = []
    for key in ("processor", "cpus", "python", "gpus"):
        values = list(dict.fromkeys(json.dumps(machine.get(key)) for machine in machines if machine.get(key)))
        shown = ", ".join(value.strip('[]"') for value in values)
        if shown:
            lines.append({"cpus": f"{shown} CPUs", "python": f"Python {shown}"}.get(key, shown))
    versions: dict[str, set[str]] = {}
    for machine in machines:
        for name, version in machine["versions"].items():
            if version:
                versions.setdefault(name, set()).add(version)
    lines += [f"{name} {' and '.join(sorted(found))}" for name, found in versions.items()]
    return _wrapped(f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}; {', '.join(lines)}.")


def _losses(results: Sequence[Content]) -> list[str]:
    reports = [result["report"] for result in results if result["report"]["others_win"]]
    lines = ["## Where others win", ""]
    if not reports:
        return [*lines, "Nowhere by more than 3%.", ""]
    losses = [_wrapped(f"- **{report['title']}.** " + "; ".join(report["others_win"]) + ".") for report in reports]
    return [*lines, "By more than 3%; the figure is how many times as fast.", "", *losses, ""]


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def readme_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The table of docs/performance.md from the results of speed.py, as JSON has them: rows are corpora.

    For each tokenizer it has our cold speed and the best peer's; for the first tokenizer also our first prompt. The
    faster of the two is bold. Results without samples have no number.
    """
    speeds = {(row["case"]["tokenizer"], row["case"]["corpus"], row["engine"]): row["samples"] for row in rows}
    tokenizers = [name for name in dict.fromkeys(tokenizer for tokenizer, _, _ in speeds) if name in README_NAMES]
    corpora = [name for name in dict.fromkeys(corpus for _, corpus, _ in speeds) if name in README_NAMES]
    wanted = [*((name, "first") for name in tokenizers[:1]), *((name, "cold") for name in tokenizers)]
    columns = [""]
    for place, (name, speed) in enumerate(wanted):
        columns += [f"{'' if place == 1 else README_NAMES[name] + ': '}{'first' if speed == 'first' else 'then'}"]
        columns += ["best peer"]
    table = []
    for corpus in corpora:
        cells = [README_NAMES[corpus]]
        for name, speed in wanted:
            samples = [speeds.get((name, corpus, engine)) for engine in (OURS, *PEERS)]
            own, *others = (statistics.median(one[speed]) if one else None for one in samples)
            cells += _pair(own, max((one for one in others if one is not None), default=None))
        table.append(cells)
    return Table(columns, table)


def _pair(own: float | None, other: float | None) -> list[str]:
    best = max((value for value in (own, other) if value is not None), default=None)
    return [f"**{number(value)}**" if value is not None and value == best else number(value) for value in (own, other)]
