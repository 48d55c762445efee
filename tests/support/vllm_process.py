"""A script or command that runs vLLM in a process of its own, and what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import tier
from packaging.version import Version

ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
# Of the server in mode lopt. Each takes some seconds to start.
API_SERVERS = tier.pick(1, 2)
# The release from which the tests of the render tier hold; 0.24.0 has none.
RENDERS_SINCE = Version("0.32")
HERE = Path(__file__).resolve().parent


def renders() -> bool:
    """Whether the installed vLLM renders prompts for other servers."""
    return Version(version("vllm")) >= RENDERS_SINCE


def skip_without_engine() -> None:
    """Skips where only the Python files of this vLLM are installed (vllm_python.sh)."""
    if version("vllm").endswith(".python"):
        pytest.skip("this vLLM has no libraries, and so no engine")


def run_script(name: str, *arguments: str | Path, **environment: str) -> Any:
    """What the script of that name in this folder printed as JSON after "RESULT "."""
    printed = _run([sys.executable, str(HERE / name), *map(str, arguments)], HERE, environment)
    lines = [line for line in printed.splitlines() if line.startswith("RESULT ")]
    assert lines, printed[-3000:]
    return json.loads(lines[0].removeprefix("RESULT "))


def run_vllm(folder: Path, *arguments: str | Path, **environment: str) -> str:
    """What `vllm ARGUMENTS` printed; it runs in `folder`."""
    # Through the module, and not where the source tree lies: `python -m` puts its working directory on the path.
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", *map(str, arguments)]
    return _run(command, folder, environment)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    skip_without_engine()
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout
