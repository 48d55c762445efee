"""Engine.generate with the backend lopt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from texts import PROMPTS

pytestmark = pytest.mark.engine


def test_offline_engine(model: Path, oracle: Any, tmp_path: Path) -> None:
    from lopt_plugin.demo.sglang_server import ENVIRONMENT_ON_CPU

    script = Path(__file__).with_name("offline_engine.py")
    environment = os.environ | ENVIRONMENT_ON_CPU | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(model)],
        env=environment, capture_output=True, text=True, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stdout[-3000:] + done.stderr[-3000:]
    result = json.loads(lines[0].removeprefix("RESULT "))
    assert result["generate"] == oracle(list(PROMPTS))["input_ids"]
    assert result["explained"]["route"] == "native"
    assert result["explained"]["calls"]["native"] >= len(PROMPTS)
