"""patches/sglang applies to the installed SGLang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patched_sglang import PATCHES, patched_files, patched_sglang

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("patch", sorted(PATCHES.glob("*.patch")), ids=lambda patch: patch.stem)
def test_applies(patch: Path, tmp_path: Path) -> None:
    changed = patched_files(patch)
    assert changed
    folder = patched_sglang(tmp_path / "patched", patch)
    for name in changed:
        compile((folder / name).read_text(encoding="utf-8"), name, "exec")
    added = [line for line in patch.read_text(encoding="utf-8").splitlines() if line.startswith("+")]
    assert len([line for line in added if not line.startswith("+++") and line != "+"]) <= 4


@pytest.mark.deep
def test_unknown_backends_are_refused(model: Path, tmp_path: Path) -> None:
    folder = patched_sglang(tmp_path / "patched", PATCHES / "refuse_unknown_tokenizer_backends.patch")
    code = f"""
import sys
sys.path.insert(0, {str(folder)!r})
from sglang.srt.utils.hf_transformers.tokenizer import get_tokenizer
get_tokenizer({str(model)!r}, tokenizer_backend="huggingface")
try:
    get_tokenizer({str(model)!r}, tokenizer_backend="lopt")
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Unknown tokenizer backend: 'lopt'" in done.stdout
