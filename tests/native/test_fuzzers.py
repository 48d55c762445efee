"""The fuzzers still fit the native core; `make fuzz` and `make test-threads` run them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import tier

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path.name for path in (ROOT / "tests" / "fuzz").glob("*.cpp"))
COMPILER = shutil.which(os.environ.get("CXX", "c++")) or ""


@pytest.mark.skipif(not COMPILER, reason="no C++ compiler here")
@pytest.mark.every_parameter
@pytest.mark.parametrize("source", tier.pick(["threads.cpp"], SOURCES))
def test_the_source_compiles(source: str) -> None:
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Ilopt_plugin/native", "-Itests/fuzz"]
    ended = subprocess.run([*command, f"tests/fuzz/{source}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
