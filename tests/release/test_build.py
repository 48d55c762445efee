"""What a build says and what it installs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def test_without_a_compiler_one_line_says_what_is_needed(tmp_path: Path) -> None:
    command = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(tmp_path)]
    environment = {**os.environ, "PATH": PATH, "CXX": "/bin/false"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    wanted = "a C++20 compiler is needed (Debian: g++), or LOPT_PURE=1 for the slower one, or a wheel"
    assert wanted in [line.strip() for line in ended.stderr.splitlines()]


def test_linked_libraries_are_named() -> None:
    """A bill of materials (CycloneDX) as PEP 770 places it, and a notice with the licences."""
    pytest.importorskip("lopt_plugin.native._core")
    files = importlib.metadata.files("lopt_plugin") or []
    (bill,) = (file for file in files if file.match("*.dist-info/sboms/*.cdx.json"))
    content = json.loads(bill.read_text())
    assert content["metadata"]["component"]["version"] == importlib.metadata.version("lopt_plugin")
    names = {component["name"] for component in content["components"]}
    assert {"nanobind", "robin-map"} < names
    (notice,) = (file for file in files if file.name == "NOTICE")
    for name in names:
        assert name in notice.read_text()


def test_manual_pages_are_installed() -> None:
    pytest.importorskip("lopt_plugin.native._core")
    files = importlib.metadata.files("lopt_plugin") or []
    assert {"lopt.1", "lopt-check.1"} <= {file.name for file in files if file.match("share/man/man1/*")}
