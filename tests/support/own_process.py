"""Scripts that run in a Python process of their own: what could hang, crash or grow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def run(script: str, seconds: float = 120, status: int = 0) -> str:
    """What the script prints. It may import what lies in this folder; it must end well, in time, and without a word.

    Raises subprocess.TimeoutExpired; the time is far more than any of these scripts takes, a deadlock takes for ever.
    """
    # `-c` looks into its folder first, and would find sources without a build in the repository's root.
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        cwd=Path(__file__).parent,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",  # transformers 4 has words for who has no torch
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # With its children, which would keep the pipes open.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert (process.returncode, errors) == (status, ""), errors
    return output
