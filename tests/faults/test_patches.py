"""The planted faults fit the tree as it is: `make test-faults`, which takes an hour, can plant each of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*/*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.parent.name}/{patch.stem}")
def test_a_patch_applies_and_names_tests_that_exist(patch: Path) -> None:
    applied = subprocess.run(
        ["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    seen_by = re.search(r"^Seen by: (.+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
    assert seen_by is not None
    for test in seen_by[1].split():
        path, _, name = test.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not name or re.search(rf"^def {name.partition('[')[0]}\(", text, re.MULTILINE), test
