"""Writes RESULTS.md and its plots from the JSON files of the benchmarks.

    python benchmarks/results.py build/benchmarks/*.json --out benchmarks

`run_all.py` calls it. With --readme the table of the repository's README.md is printed instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plots
import readme_table
from report import Plot, Table

WIDTH = 120
BEGINNING = """\
Written by `make bench`, whole or in parts: each section names its command. [README.md](README.md) says how it is
measured. The ids of every row were compared with those of the installed `tokenizers` before its figures were shown, and
a row that differs has none."""


@dataclass(frozen=True)
class Result:
    """A benchmark's JSON file."""

    name: str
    content: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """See report.Report."""
        found: dict[str, Any] = self.content["report"]
        return found

    @property
    def machine(self) -> dict[str, Any]:
        """See lopt_plugin.benchmarking.machine."""
        found: dict[str, Any] = self.content["machine"]
        return found


def write(results: Sequence[Result], out: Path, remark: str) -> None:
    """RESULTS.md and plots/, which is made anew, in the folder `out`."""
    folder = out / "plots"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["# Results", "", _machine(results), "", _wrapped(BEGINNING + (f" {remark}" if remark else "")), ""]
    lines += _losses(results)
    for result in results:
        report = result.report
        lines += [f"## {report['title']}", "", f"`{result.content['command']}`", "", _wrapped(report["about"]), ""]
        for plot in report["plots"]:
            drawn = Plot(**{**plot, "name": plots.file_name(plot["name"])})
            if plots.draw(drawn, folder):
                lines += [f"![{drawn.title}](plots/{drawn.name}.svg)", ""]
        for table in report["tables"]:
            lines += [Table(**table).markdown(), ""]
    (out / "RESULTS.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def read(paths: Sequence[Path]) -> list[Result]:
    """The results that have a report, in the order given."""
    found = [Result(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    for result in found:
        if not result.content.get("report"):
            print(f"{result.name}: left out, it has no report", file=sys.stderr)
    return [result for result in found if result.content.get("report")]


def _machine(results: Sequence[Result]) -> str:
    machines = [result.machine for result in results]
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


def _losses(results: Sequence[Result]) -> list[str]:
    lines = ["## Where others win", "", "By more than 3%, how many times as fast.", ""]
    for result in results:
        found = result.report["others_win"]
        if found:
            lines.append(_wrapped(f"- **{result.report['title']}.** " + "; ".join(found) + "."))
    return [*lines, ""] if len(lines) > 4 else [*lines[:2], "Nowhere by more than 3%.", ""]


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def main() -> int:
    """Writes the files; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", nargs="+", type=Path, metavar="FILE", help="what a benchmark's --json wrote")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="folder (default: this one)")
    parser.add_argument("--readme", action="store_true", help="print the table of README.md")
    given = parser.parse_args()
    results = read(given.json)
    if given.readme:
        speeds = [result for result in results if result.content["benchmark"] == "speed"]
        print(readme_table.make([row for result in speeds for row in result.content["results"]]).markdown())
        return 0
    if not results:
        parser.error("none of the files has a report")
    write(results, given.out, "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
