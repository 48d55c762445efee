"""Plants each fault in a copy of the repository and runs the tests that should see it; none may survive.

    python tests/faults/run.py [NAMES] [--environments FOLDER]

A fault is a patch with two lines above it: `Fault:` says what the mistake is, `Seen by:` names the tests of the quick
tier that should fail. The copy is in build/faults. The native core is built there once, and again for each fault in it.
The test that fails must pass when the fault is taken out again, or its failing would say nothing. Exit status 1 where a
fault survives.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "faults"
COPY = BUILD / "copy"
LIMIT_S = 900


@dataclass(frozen=True)
class Fault:
    """A mistake, its patch, and the tests that should see it."""

    name: str
    patch: Path
    says: str
    seen_by: tuple[str, ...]
    native: bool

    @classmethod
    def read(cls, patch: Path) -> Fault:
        text = patch.read_text(encoding="utf-8")
        says, seen_by = re.search(r"\AFault: (.+)\n", text), re.search(r"^Seen by: (.+)$", text, re.MULTILINE)
        if says is None or seen_by is None:
            raise ValueError(f"{patch} does not begin with `Fault:` and `Seen by:`")
        native = bool(re.search(r"^\+\+\+ b/.*\.[hc]pp$", text, re.MULTILINE))
        return cls(f"{patch.parent.name}/{patch.stem}", patch, says[1], tuple(seen_by[1].split()), native)


def environment_of(test: str) -> tuple[str, dict[str, str]]:
    """The environment that a test needs, and what makes it fail there, not be skipped, where something is missing."""
    if re.search(r"engines/sglang|test_gpu_", test):
        return ".venv-sglang", {"LOPT_REQUIRE_SGLANG": "1", "LOPT_REQUIRE_KERNELS": "1"}
    if "tests/engines" in test:
        return ".venv-vllm", {"LOPT_REQUIRE_VLLM": "1"}
    return ".venv", {}


def make_copy() -> None:
    """The files of the working tree that git knows, without those of an earlier copy."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, COPY / name
        if source.is_symlink() or source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            # Not the times: the objects of the last run may be of a file with a fault, and newer than the file.
            shutil.copy(source, target, follow_symlinks=False)


def build(python: str) -> str:
    """Builds the native core into the copy. Returns the compiler's words where it fails, else nothing.

    Not optimized as much as the one that is installed: it is built many times.
    """
    objects = BUILD / "objects"
    nanobind = subprocess.run([python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True)
    configure = ["cmake", "-S", str(COPY), "-B", str(objects), "-Wno-dev", "-DLOPT_OPTIMIZE=-O1"]
    configure += [f"-Dnanobind_DIR={nanobind.stdout.strip()}", f"-DPython_EXECUTABLE={python}"]
    for command in (
        configure,
        ["cmake", "--build", str(objects), "--parallel"],
        ["cmake", "--install", str(objects), "--prefix", str(COPY)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stdout + done.stderr
    return ""


def apply(fault: Fault, *options: str) -> None:
    """Puts a fault into the copy, or with `-R` takes it out, which makes the next build compile that file again."""
    # Without the ceiling git would take the patch for one of the repository around the copy.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(BUILD)}
    subprocess.run(["git", "apply", *options, str(fault.patch)], cwd=COPY, env=environment, check=True)


@dataclass(frozen=True)
class Failure:
    """A test, or a file of them where no single one is known, and how it fails."""

    test: str
    how: str


def fails(test: str, environments: Path) -> Failure | None:
    """How a test, or the first of a file, fails on the copy as it is now; None where all pass."""
    folder, required = environment_of(test)
    python = str(environments / folder / "bin" / "python")
    command = [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
    environment = {**os.environ, **required, "LOPT_TIER": "quick", "PYTHONPATH": str(COPY)}
    environment["LOPT_REFERENCE_ANSWERS"] = str(ROOT / "build" / "reference_answers")
    environment.pop("PYTEST_ADDOPTS", None)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a changed file may have the time and the size of the one before
    try:
        done = subprocess.run(
            command, cwd=COPY, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Failure(test, f"does not end within {LIMIT_S} s")
    if done.returncode == 0:
        return None
    if done.returncode == 1:
        # The message follows the test's name, which may contain spaces.
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return Failure(failed[0] if failed else test, "fails")
    if done.returncode < 0:
        return Failure(test, f"ends with signal {-done.returncode}")
    raise RuntimeError(f"{' '.join(command)} gave {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")


def main() -> int:
    """Plants the faults that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names of faults, or how they begin")
    parser.add_argument("--environments", type=Path, default=ROOT, help="where .venv, .venv-vllm and .venv-sglang are")
    options = parser.parse_args()
    faults = [Fault.read(path) for path in sorted(FAULTS.glob("*/*.patch"))]
    faults = [fault for fault in faults if not options.names or fault.name.startswith(tuple(options.names))]
    if not faults:
        print("no fault has such a name", file=sys.stderr)
        return 2
    make_copy()
    python = str(options.environments / ".venv" / "bin" / "python")
    assert not (problem := build(python)), problem
    # Built for the clean copy; faults in Python leave it as it is.
    core = next(COPY.glob("lopt_plugin/native/_core*.so"))
    clean_core = BUILD / core.name
    shutil.copy2(core, clean_core)
    wrong = []
    for fault in faults:
        start = time.monotonic()
        verdict = plant(fault, options.environments, clean_core, core)
        if not verdict.startswith("seen"):
            wrong.append(f"{fault.name}: {verdict}. {fault.says}")
        print(f"{fault.name}  {time.monotonic() - start:.0f} s  {verdict}", flush=True)
    print(*wrong, sep="\n")
    print(f"{len(faults)} faults, {len(wrong)} survive")
    return int(bool(wrong))


def plant(fault: Fault, environments: Path, clean_core: Path, core: Path) -> str:
    """Runs the tests with the fault, then the failing one without it. Returns "seen ..." where all is well."""
    apply(fault)
    try:
        if fault.native and (problem := build(str(environments / ".venv" / "bin" / "python"))):
            return f"CANNOT BE BUILT: {problem[-2000:]}"
        seen = next(filter(None, (fails(test, environments) for test in fault.seen_by)), None)
    finally:
        apply(fault, "-R")
        shutil.copy2(clean_core, core)
    if seen is None:
        return "SURVIVES"
    if fails(seen.test.split("[")[0], environments):
        return f"FAILS WITHOUT THE FAULT TOO: {seen.test}"
    return f"seen: {seen.test} {seen.how}"


if __name__ == "__main__":
    sys.exit(main())
