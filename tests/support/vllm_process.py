"""A script or command that runs vLLM in a process of its own, and what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tier

ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
# Of the server in mode lopt. Each takes some seconds to start.
API_SERVERS = tier.pick(1, 2)
HERE = Path(__file__).resolve().parent


def run_script(name: str, *arguments: str | Path, **environment: str) -> Any:
    """What the script of that name in this folder printed as JSON behind "RESULT "."""
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
