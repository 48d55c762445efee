"""A small batch on the GPU under compute-sanitizer: accesses beside the buffers, races in shared memory, barriers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kernel_device
import pytest
from kernel_device import INTERPRETED

CUDA = Path(os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda")
SANITIZER = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=str(CUDA / "bin"))
BATCH = Path(kernel_device.__file__).with_name("gpu_small_batch.py")
# Expandable segments give false alarms.
ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

pytestmark = [
    pytest.mark.skipif(INTERPRETED, reason="there is no GPU: nothing runs under compute-sanitizer"),
    pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is neither on PATH nor in CUDA_HOME: no memcheck"),
]


@pytest.mark.parametrize(
    ("tool", "options", "summary"),
    [
        # What torch and Triton ask of the driver to see what it says is no error; what fails there, they raise.
        ("memcheck", ["--report-api-errors", "no"], r"ERROR SUMMARY: 0 errors\b"),
        ("racecheck", [], r"\b0 hazards displayed"),
        ("synccheck", [], r"ERROR SUMMARY: 0 errors\b"),
    ],
)
def test_small_batch(tool: str, options: list[str], summary: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ALLOCATOR)}
    done = subprocess.run(
        [
            str(SANITIZER), "--tool", tool, *options, "--error-exitcode", "99", "--launch-timeout", "300",
            "--target-processes", "application-only", sys.executable, str(BATCH),
        ],
        # Each tensor in memory of its own: what reads beside it is seen.
        env=environment | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    assert "the ids of the reference" in done.stdout
    assert re.search(summary, done.stdout)
