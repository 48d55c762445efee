"""Every kernel compiles for each architecture, without a GPU, and none spills. In a process without the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from required import skip_without

skip_without("triton", "LOPT_REQUIRE_KERNELS")


@pytest.mark.parametrize("architecture", [80, 90])
def test_kernels_compile_and_do_not_spill(architecture: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "lopt_plugin.triton_kernels.resources", str(architecture)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)  # for pytest -s
    if "has no cuobjdump" in done.stderr and not os.environ.get("LOPT_REQUIRE_KERNELS"):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"sm_{architecture}" in done.stdout
