"""The benchmark of the GPU route runs to its end where there is no GPU: who gets one has only to start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernel_device import make_interpreter_faster

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_interpreter_faster(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Last, so that what is installed comes before the checkout.
    monkeypatch.setattr(sys, "path", [*sys.path, str(REPOSITORY)])
    from benchmarks.gpu import speed_items

    # One run each, not three: the interpreter takes seconds for one.
    monkeypatch.setattr(speed_items, "seconds", lambda work, repeats: (work(), 1.0)[1])


TIMED = "methods,crossover,one prompt,stages"


@pytest.mark.deep
def test_what_is_timed_ends(
    gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.gpu import check

    given = ["--quick", "--out", str(tmp_path), "--items", TIMED, "--peers", "gigatoken,toktier"]
    monkeypatch.setattr(sys, "argv", ["check.py", *given])
    assert check.main() == 0
    titles = [table["title"] for table in json.loads((tmp_path / "found.json").read_text())["report"]["tables"]]
    for wanted in ("methods", "stages", "crossover", "one prompt"):
        assert any(wanted in title for title in titles), wanted
    printed = capsys.readouterr().out
    assert all(title in printed for title in titles[1:])
    assert "cache and merges" in printed


@pytest.mark.deep
def test_nothing_is_timed_of_wrong_ids(gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks.gpu import check
    from lopt_plugin.routes.gpu.route import GpuRoute

    monkeypatch.setattr(GpuRoute, "encode_batch", lambda self, *given: self.native.encode_batch(["other"], *given[1:]))
    monkeypatch.setattr(sys, "argv", ["check.py", "--quick", "--out", str(tmp_path), "--items", TIMED])
    assert check.main() == 1
    (outcomes,) = json.loads((tmp_path / "found.json").read_text())["report"]["tables"]
    assert all("other ids than HF" in outcome for *_, outcome in outcomes["rows"])
    assert len(outcomes["rows"]) == 4


def test_a_check_writes_what_it_has_after_each_item(
    gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.gpu import check, device_items

    out = tmp_path / "out"

    def broken(given: object) -> None:
        written = (out / "found.md").read_text()
        assert "| equality |" in written
        assert "| memcheck and racecheck | - | did not end |" in written
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


def test_a_check_compares_everything_and_names_the_first_difference(
    gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from benchmarks.gpu import check, device_items
    from lopt_plugin.routes.gpu.route import GpuRoute

    def wrong(self: GpuRoute, texts: list[str], request: object) -> object:
        ids, offsets = self.native.encode_batch(texts, request)  # type: ignore[arg-type]
        ids[-1] += len(texts) == 1
        return ids, offsets

    monkeypatch.setattr(GpuRoute, "encode_batch", wrong)
    monkeypatch.setattr(device_items, "SHAPES", {"one text": None, "of 40": 40})
    given = ["--quick", "--out", str(tmp_path), "--items", "equality", "--megabytes", "0.0004", "--corpora", "zh"]
    monkeypatch.setattr(sys, "argv", ["check.py", *given])
    assert check.main() == 1
    _, table = json.loads((tmp_path / "found.json").read_text())["report"]["tables"]
    (_, _, first, *_), (_, _, second, *_) = table["rows"]
    assert "other ids than HF, from id" in first
    assert "of row 0 on" in first
    assert second == "equal"


@pytest.mark.parametrize("stops", [True, False])
def test_processes_of_a_check_end_with_it(gpu: None, stops: bool) -> None:
    from benchmarks.gpu import device_items

    given = SimpleNamespace(deadline=time.monotonic() + (1 if stops else 60))
    command = ["bash", "-c", "sleep 100 & echo begun; wait" if stops else "echo begun"]
    if not stops:
        assert device_items.output_of(command, given) == "begun\n"  # type: ignore[arg-type]
        return
    with pytest.raises(TimeoutError, match="begun"):
        device_items.output_of(command, given)  # type: ignore[arg-type]


def test_a_device_that_hangs_ends_the_check(tmp_path: Path) -> None:
    """Whatever it waits for; what was found before is written, and which item did not end."""
    script = """if True:
        import faulthandler, sys, time
        from benchmarks.gpu import check, device_items
        later = faulthandler.dump_traceback_later
        faulthandler.dump_traceback_later = lambda seconds, **others: later(3 if 0 < seconds < 1006 else 60, **others)
        device_items.versions = lambda: time.sleep(50)
        sys.argv = ["check.py", "--quick", "--items", "versions", "--seconds", "1000", "--out", sys.argv[1]]
        check.main()
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([*sys.path, str(REPOSITORY)])}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "| versions | - | did not end |" in (tmp_path / "found.md").read_text()


@pytest.mark.parametrize(("arguments", "outcome"), [(["--seconds", "1"], "left out: no time left"), ([], "passed")])
def test_a_check_starts_no_item_that_cannot_finish_in_time(
    gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], outcome: str
) -> None:
    from benchmarks.gpu import check

    given = ["--quick", "--out", str(tmp_path), "--items", "versions", *arguments]
    monkeypatch.setattr(sys, "argv", ["check.py", *given])
    assert check.main() == 0
    assert f"| {outcome} |" in (tmp_path / "found.md").read_text()
