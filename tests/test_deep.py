"""The deep tier as the nightly workflow runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_each_part_belongs_to_a_nightly_job() -> None:
    command = [sys.executable, str(ROOT / "tests" / "deep.py"), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [line.split(" | ")[0].strip() for line in listed[1:] if " | " in line]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "deep.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]["deep"]["strategy"]["matrix"]["parts"]
    assert len(parts) > 30
    assert [part for part in parts if not part.startswith(tuple(" ".join(jobs).split()))] == []
