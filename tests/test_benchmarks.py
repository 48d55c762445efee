"""The benchmark runs on a small text, and shows no number for an engine whose ids are not the oracle's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SMALL = ["--repeat", "1", "--prompts", "3", "--prompt-chars", "3000", "--hostile-chars", "3000"]

WRONG_ENGINE = """
from lopt_plugin.benchmarking.engines import Hf


class LastIdWrong(Hf):
    def ids(self, result):
        ids = result.ids
        ids[-1] += 1
        return ids
"""


def speed(tmp_path: Path, engines: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit status, output, and the rows of the JSON file."""
    results = tmp_path / "results.json"
    python_path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    what = ["--tokenizers", "tiny_qwen2", "--corpora", "zh", "--engines", engines, "--json", str(results)]
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / "speed.py"), *what, *SMALL],
        env={**os.environ, "PYTHONPATH": python_path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, json.loads(results.read_text())["results"]


def test_two_engines_on_a_small_text(tmp_path: Path) -> None:
    status, output, rows = speed(tmp_path, "hf,lopt")
    assert status == 0
    assert [row["engine"] for row in rows] == ["hf", "lopt"]
    for row in rows:
        assert row["problem"] == ""
        assert len(row["repetitions"]) == 1
        assert all(row["repetitions"][0][speed] > 0 for speed in ("first", "cold", "warm", "hostile", "load_seconds"))
    assert "ids differ" not in output


def test_lopt_table(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    what = ["--tokenizers", "tiny_cl100k", "--corpora", "zh", "--prompts", "2", "--prompt-chars", "8000"]
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / "lopt_table.py"), *what, "--json", str(results)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    rows = {row["method"]: row for row in json.loads(results.read_text())["results"]}
    ours = ["hf_chunks, overlaps only", "hf_chunks"]
    assert all(rows[method]["equal"] == [True, True] and not rows[method]["lossy"] for method in ours)
    lossy = ["cut at space", "cut at comma", "cut at period", "longest common ids", "LoPT as published"]
    assert all(rows[method]["lossy"] and f"{method} (lossy)" in ended.stdout for method in lossy)
    assert all(len(row["seconds"]) == 2 for row in rows.values() if not row["problem"])


def test_no_number_where_ids_differ(tmp_path: Path) -> None:
    (tmp_path / "wrong_engine.py").write_text(WRONG_ENGINE)
    status, output, rows = speed(tmp_path, "hf,wrong_engine:LastIdWrong")
    assert status == 1
    assert rows[1]["problem"] == "ids differ"
    assert rows[1]["repetitions"] == []
    shown = next(line for line in output.splitlines() if "LastIdWrong" in line)
    assert shown.split() == ["wrong_engine:LastIdWrong", "ids", "differ"]
    assert rows[0]["repetitions"]


def test_growing(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    small = ["--megabytes", "0.02", "--worst", "0.004", "--repeat", "5", "--json", str(results)]
    command = [sys.executable, str(BENCHMARKS / "growing.py"), "--tokenizer", "tiny_cl100k", "--corpus", "books_en"]
    ended = subprocess.run([*command, *small], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0
    tables = json.loads(results.read_text())["results"]
    assert len(tables) == 6
    assert all(len(row) == len(table["columns"]) for table in tables for row in table["rows"])
