"""A small batch on the GPU under compute-sanitizer: reads and writes beside the buffers, races in shared memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_device import INTERPRETED

SANITIZER = shutil.which("compute-sanitizer")
BATCH = Path(__file__).with_name("gpu_small_batch.py")

pytestmark = [
    pytest.mark.skipif(INTERPRETED, reason="there is no GPU: nothing runs under compute-sanitizer"),
    pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not on PATH: no memcheck, no racecheck"),
]


@pytest.mark.parametrize(
    ("tool", "summary"), [("memcheck", "ERROR SUMMARY: 0 errors"), ("racecheck", "0 hazards displayed")]
)
def test_small_batch(tool: str, summary: str) -> None:
    done = subprocess.run(
        [
            str(SANITIZER), "--tool", tool, "--error-exitcode", "99", "--target-processes", "application-only",
            sys.executable, str(BATCH),
        ],
        # Each tensor in memory of its own: what reads beside it is seen.
        env=os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    assert "the ids of the reference" in done.stdout
    assert summary in done.stdout
