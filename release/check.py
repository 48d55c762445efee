"""Checks that the files in dist are ready to be published. Prints one line for each thing that it checks.

    python release/check.py [--rehearsal]

Checks the version, the changelog, the manual pages, the files of each wheel and of the sdist, the bills of materials,
and that each wheel that this Python can install works in a clean environment. With --rehearsal, the changelog may still
say "unreleased". Needs twine, check-wheel-contents and cyclonedx-python-lib[validation]; `make release-check` has them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = Path(sysconfig.get_path("scripts"))


def main() -> int:
    """Returns exit status 1 if anything is not ready."""
    wheels = sorted(DIST.glob("*.whl"))
    problems = [*_texts("--rehearsal" in sys.argv[1:]), *_files(wheels)]
    for wheel in wheels:
        if parse_wheel_filename(wheel.name)[3] & {*sys_tags()}:
            problems += _works(wheel)
    for problem in problems:
        print(f"NOT READY: {problem}", file=sys.stderr)
    return int(bool(problems))


def _version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _texts(rehearsal: bool) -> Iterator[str]:
    version = _version()
    heading = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    print(f"version {version}, changelog: {heading}")
    wanted = r" \((\d{4}-\d\d-\d\d|unreleased)\)" if rehearsal else r" \(\d{4}-\d\d-\d\d\)"
    if not re.fullmatch(rf"## {re.escape(version)}{wanted}", heading):
        yield f'the changelog begins with "{heading}", not with "## {version} (its date)"'
    for page in sorted((ROOT / "docs" / "man").glob("*.1")):
        if f" {version}" not in page.read_text().splitlines()[1]:
            yield f"{page.name} is of another version: make man"


def _files(wheels: list[Path]) -> Iterator[str]:
    version = _version()
    sources = list(DIST.glob("*.tar.gz"))
    if [source.name for source in sources] != [f"lopt_plugin-{version}.tar.gz"]:
        yield f"not one sdist of {version} but {[source.name for source in sources]}"
    if f"lopt_plugin-{version}-py3-none-any.whl" not in {wheel.name for wheel in wheels}:
        yield "no wheel without a native core, which pip takes where no other one fits"
    for command in (["twine", "check", "--strict", *sources, *wheels], ["check-wheel-contents", *wheels]):
        program, *arguments = command
        if subprocess.run([str(TOOLS / program), *map(str, arguments)], cwd=ROOT, check=False).returncode:
            yield f"{program} found something"
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    for wheel in wheels:
        if f"-{version}-" not in wheel.name:
            yield f"{wheel.name} is of another version"
        with zipfile.ZipFile(wheel) as archive:
            bills = [name for name in archive.namelist() if ".dist-info/sboms/" in name and not name.endswith("/")]
            if bool(bills) == wheel.name.endswith("-none-any.whl"):
                yield f"{wheel.name} has these bills of materials: {bills}"
            invalid = [name for name in bills if validator.validate_str(archive.read(name).decode()) is not None]
        if invalid:
            yield f"{wheel.name}: {invalid} is not CycloneDX 1.6"


def _works(wheel: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{wheel.name} in a clean environment", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "--quiet", "install", str(wheel)], check=True)
        expected = ["--without-core"] if wheel.name.endswith("-none-any.whl") else []
        if subprocess.run([python, str(ROOT / "release" / "smoke.py"), *expected], check=False).returncode:
            yield f"{wheel.name} does not work"


if __name__ == "__main__":
    sys.exit(main())
