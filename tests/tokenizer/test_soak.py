"""A short run of tests/soak.py; `make soak` is the long one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).resolve().parents[1] / "soak.py"


@pytest.mark.deep
def test_many_calls_from_many_threads() -> None:
    command = [sys.executable, "-W", "ignore", str(SOAK), "--calls", "40000"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-3_000:]
