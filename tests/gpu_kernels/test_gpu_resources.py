"""Every kernel compiles for each architecture, without a GPU, and none spills. In a process without the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from required import skip_without

skip_without("triton", "LOPT_REQUIRE_KERNELS")


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", f"lopt_plugin.triton_kernels.{module}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)  # for pytest -s
    if "has no cuobjdump" in done.stderr and not os.environ.get("LOPT_REQUIRE_KERNELS"):
        pytest.skip(done.stderr.strip())
    return done


@pytest.mark.deep
@pytest.mark.parametrize("architecture", [80, 90])
def test_kernels_compile_and_do_not_spill(architecture: int) -> None:
    done = _run("inspection.resources", str(architecture))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"sm_{architecture}" in done.stdout


@pytest.mark.deep
def test_masks_and_boundaries_take_few_instructions() -> None:
    """At most 150 a byte, for each pattern."""
    done = _run("inspection.instructions", "90")
    assert done.returncode == 0, done.stdout + done.stderr
    figures = [float(line.split()[5]) for line in done.stdout.splitlines() if line.startswith("sm_90")]
    assert len(figures) == 6
    assert 1 < min(figures) <= max(figures) <= 150
