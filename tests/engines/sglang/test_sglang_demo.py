"""examples/sglang_demo runs with the tiny model."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.deep]


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from long_context import run

    assert run(tmp_path, None, 3000, compare=False) == 0
    printed = capsys.readouterr().out
    assert "takes the native route" in printed
    assert "tokenization is" in printed
