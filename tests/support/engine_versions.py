"""Which releases of the engines were tested, and what was found: the table of docs/engines/versions.md.

    python tests/support/engine_versions.py

Tests of tests/engines that run as whole files are recorded in build/engine_versions (tests/engines/conftest.py). This
writes the rows of those releases into the page and leaves the others as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "build" / "engine_versions"
PAGE = ROOT / "docs" / "engines" / "versions.md"
ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}
OUTCOMES = ("passed", "skipped", "failed")


def record(engine: str, tier: str, found: dict[str, Counter[str]], records: Path = RECORDS) -> None:
    """Adds the outcomes of test files, by the name of the file, to those of the installed release."""
    release = version(engine)
    path = records / f"{engine}-{release}-{tier}.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"files": {}}
    files = {**kept["files"], **{name: {key: counts[key] for key in OUTCOMES} for name, counts in found.items()}}
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    records.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"engine": engine, "version": release, "tier": tier, "date": date, "files": files}))


def row(recorded: dict[str, Any]) -> str:
    """The line of the table for one record. A file whose tests were all skipped is not named."""
    totals: Counter[str] = Counter()
    named = []
    for name, counts in sorted(recorded["files"].items()):
        totals.update(counts)
        if counts["passed"] or counts["failed"]:
            named.append(name.removeprefix("test_").removeprefix(f"{recorded['engine']}_").replace("_", " "))
    result = ", ".join(f"{totals[key]:,} {key}" for key in OUTCOMES if totals[key])
    release = f"{ENGINES[recorded['engine']]} {recorded['version']}"
    return f"| {release} | {recorded['tier']} | {', '.join(named)} | {recorded['date']} | {result} |"


def updated(page: str, recorded: list[dict[str, Any]]) -> str:
    """The page with the rows of these records, in place of earlier ones of the same release and tier."""
    lines = page.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|---")) + 1
    end = next((number for number in range(first, len(lines)) if not lines[number].startswith("|")), len(lines))
    rows = {tuple(line.split(" | ")[:2]): line for line in [*lines[first:end], *map(row, recorded)]}
    return "\n".join([*lines[:first], *(rows[key] for key in sorted(rows, reverse=True)), *lines[end:]]) + "\n"


if __name__ == "__main__":
    recorded = [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))]
    PAGE.write_text(updated(PAGE.read_text(), recorded))
