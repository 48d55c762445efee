"""Kernels compiled without a GPU. The process must not run Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ..common.variant import Variant


def reader() -> Path | None:
    """The `cuobjdump` that Triton brings with it; None in builds without one."""
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return path if path.exists() else None


def reader_or_exit() -> Path:
    """The same for commands, which end if there is none, and under Triton's interpreter."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        sys.exit("kernels are not compiled under TRITON_INTERPRET=1")
    found = reader()
    if found is None:
        sys.exit("this build of Triton has no cuobjdump")
    return found


def compiled(variant: Variant, architecture: int) -> Any:
    """Triton's result for sm_`architecture`: pointers are multiples of 16 bytes, as torch allocates."""
    names = variant.kernel.arg_names
    signature = {name: "constexpr" if name in variant.constants else variant.types[name] for name in names}
    constants = {(names.index(name),): value for name, value in variant.constants.items()}
    aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in names if signature[n].startswith("*")}
    source = ASTSource(fn=variant.kernel, signature=signature, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": variant.warps})


def read(binary: bytes, option: str, reader: Path) -> str:
    """The output of cuobjdump for a compiled kernel."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(binary)
        return subprocess.run([reader, option, path], capture_output=True, text=True, check=True).stdout
