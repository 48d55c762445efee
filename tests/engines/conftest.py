"""Records what whole test files found with the installed engine, for docs/engines/versions.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import engine_versions
import pytest
import tier

_found: defaultdict[Path, Counter[str]] = defaultdict(Counter)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts the outcome of a test: of its call, or of a setup or teardown that did not pass."""
    path = Path(report.nodeid.partition("::")[0])
    if path.parent.name in engine_versions.ENGINES and (report.when == "call" or report.outcome != "passed"):
        _found[path][report.outcome] += 1


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Writes the record, unless the run was stopped or some tests of a file were left out by hand."""
    given = session.config.option
    chosen = given.keyword or given.markexpr or given.deselect or any("::" in name for name in session.config.args)
    if chosen or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    for engine in engine_versions.ENGINES:
        found = {path.stem: counts for path, counts in _found.items() if path.parent.name == engine}
        if any(counts["passed"] or counts["failed"] for counts in found.values()):
            engine_versions.record(engine, tier.NAME, found)
