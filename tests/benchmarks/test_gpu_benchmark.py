"""The benchmark of the GPU route runs to its end where there is no GPU: who gets one has only to start it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kernel_device import make_interpreter_faster

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    make_interpreter_faster(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Last, so that what is installed comes before the checkout.
    monkeypatch.setattr(sys, "path", [*sys.path, str(REPOSITORY)])
    from benchmarks.gpu import gpu, route_tables

    # One run each, not three: the interpreter takes seconds for one.
    monkeypatch.setattr(route_tables, "seconds", lambda work, repeats: (work(), 1.0)[1])
    return gpu


@pytest.mark.deep
def test_to_its_end(
    gpu: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gpu.json"
    arguments = ["--quick", "--json", str(file), "--peers", "gigatoken,toktier"]
    monkeypatch.setattr(sys, "argv", ["gpu.py", *arguments])
    assert gpu.main() == 0  # type: ignore[attr-defined]
    titles = [table["title"] for table in json.loads(file.read_text())["report"]["tables"]]
    wanted_titles = ("Targets", "methods", "stages", "crossover", "one prompt", "tables on the device")
    for wanted in wanted_titles:
        assert any(wanted in title for title in titles), wanted
    printed = capsys.readouterr().out
    assert all(title in printed for title in titles)
    assert "cache and merges" in printed


@pytest.mark.deep
def test_wrong_ids_end_it(gpu: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from lopt_plugin.routes.gpu.route import GpuRoute

    monkeypatch.setattr(GpuRoute, "encode_batch", lambda self, *given: self.native.encode_batch(["other"], *given[1:]))
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--quick", "--peers", ""])
    assert gpu.main() == 1  # type: ignore[attr-defined]
    found = capsys.readouterr()
    assert "other ids than HF" in found.err
    assert "GB/s" not in found.out


def test_a_check_writes_what_it_has_after_each_item(
    gpu: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.gpu import check, device_items

    out = tmp_path / "out"

    def broken() -> None:
        assert "equality" in (out / "found.md").read_text()
        raise RuntimeError("a device that is lost")

    monkeypatch.setattr(device_items, "sanitizers", broken)
    monkeypatch.setattr(device_items, "SHAPES", {"of 0 to 100": 100})
    arguments = [
        "--quick",
        "--out",
        str(out),
        "--megabytes",
        "0.0003",
        "--corpora",
        "zh",
        "--items",
        "versions,equality,memcheck",
    ]
    monkeypatch.setattr(sys, "argv", ["check.py", *arguments])
    assert check.main() == 1
    report = json.loads((out / "found.json").read_text())["report"]
    outcomes = {row[0]: row[2] for row in report["tables"][0]["rows"]}
    assert outcomes == {
        "versions": "passed",
        "equality": "passed",
        "memcheck and racecheck": "FAILED: RuntimeError: a device that is lost",
    }
    assert "a device that is lost" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "outcome"), [(["--seconds", "1"], "left out: no time left"), ([], "passed")])
def test_a_check_begins_nothing_that_would_not_end_in_time(
    gpu: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], outcome: str
) -> None:
    from benchmarks.gpu import check

    given = ["--quick", "--out", str(tmp_path), "--items", "versions", *arguments]
    monkeypatch.setattr(sys, "argv", ["check.py", *given])
    assert check.main() == 0
    assert f"| {outcome} |" in (tmp_path / "found.md").read_text()
