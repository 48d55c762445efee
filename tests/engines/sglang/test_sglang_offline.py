"""Engine.generate with the backend lopt, also from a process that joins the Engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import offline_engine
import pytest
from engine_texts import PROMPTS
from patched_sglang import PATCHES, patched_sglang, path_with

pytestmark = [pytest.mark.engine, pytest.mark.deep]


def run_engine(model: Path, folder: Path, *arguments: str, **environment: str) -> list[dict[str, Any]]:
    from lopt_plugin.cli.serving.sglang_server import ENVIRONMENT_ON_CPU

    script = Path(offline_engine.__file__)
    done = subprocess.run(
        [sys.executable, str(script), str(model), *arguments],
        env=os.environ | ENVIRONMENT_ON_CPU | {"HF_HUB_OFFLINE": "1"} | environment,
        capture_output=True, text=True, timeout=1800, cwd=folder,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stdout[-3000:] + done.stderr[-3000:]
    results: list[dict[str, Any]] = json.loads(lines[0].removeprefix("RESULT "))
    return results


def check(result: dict[str, Any], oracle: Any) -> None:
    assert result["ids"] == oracle(list(PROMPTS))["input_ids"]
    assert result["explained"]["route"] == "native"
    assert result["explained"]["calls"]["native"] >= len(PROMPTS)


def test_offline_engine(model: Path, oracle: Any, tmp_path: Path) -> None:
    (result,) = run_engine(model, tmp_path)
    check(result, oracle)


@pytest.mark.parametrize("how", ["asked", "patched"])
def test_process_that_joins_the_engine(model: Path, oracle: Any, tmp_path: Path, how: str) -> None:
    if how == "asked":
        results = run_engine(model, tmp_path, "asked")
    else:
        patched = patched_sglang(tmp_path / "patched", *sorted(PATCHES.glob("*.patch")))
        results = run_engine(model, tmp_path, "unasked", PYTHONPATH=path_with(patched))
    assert len({result["process"] for result in results}) == 2
    for result in results:
        check(result, oracle)
