"""`lopt demo` with the real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine_texts import PARAGRAPH

pytestmark = [pytest.mark.engine, pytest.mark.deep]


def test_demo_command(model: Path, oracle: Any, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(PARAGRAPH * 60, encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "lopt_plugin.cli", "demo", str(model), "--text", str(text), "--engine", "vllm"],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    count = len(oracle(PARAGRAPH * 60 + "\n")["input_ids"])
    assert count > 3000
    assert f"Ids        {count:,} of {count:,} equal to Hugging Face's" in done.stdout
    assert "takes the native route" in done.stdout
    to_engine = re.search(r"lopt: \d+ ms from the request's arrival to the engine", done.stdout)
    assert to_engine is not None
    # The sockets of the stopped engine are left, as vLLM leaves them.
    assert not list(temporary.glob("lopt_demo_*"))
