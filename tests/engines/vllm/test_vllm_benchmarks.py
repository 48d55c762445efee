"""The benchmarks of vLLM's servers compare ids and texts, and have figures for each server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from vllm_process import ENVIRONMENT

pytestmark = [pytest.mark.engine, pytest.mark.deep]

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "engines"


@pytest.mark.parametrize(("name", "tables"), [("render", 4), ("vllm_streams", 1), ("conversations", 5)])
def test_small_run(name: str, tables: int, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--quick", "--json", str(figures)]
    ended = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, timeout=1200)
    assert ended.returncode == 0, ended.stderr[-4000:]
    content = json.loads(figures.read_text())
    assert {"hf", "lopt"} <= {result["engine"] for result in content["results"]}
    for result in content["results"]:
        assert not result["problem"]
        assert all(figure > 0 for samples in result["samples"].values() for figure in samples)
    assert len(content["report"]["tables"]) == tables
