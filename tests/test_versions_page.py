"""docs/engines/versions.md names the releases that the engines' log lines call tested, and takes new rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import engine_versions
import pytest

from lopt_plugin.engines.sglang.tokenizer import TESTED_VERSIONS as SGLANG_VERSIONS
from lopt_plugin.engines.vllm.tokenizer import TESTED_VERSIONS as VLLM_VERSIONS


def test_tested_versions_have_a_row() -> None:
    page = engine_versions.PAGE.read_text()
    for engine, versions in (("vLLM", VLLM_VERSIONS), ("SGLang", SGLANG_VERSIONS)):
        assert all(f"| {engine} {version}" in page for version in versions)


def test_a_run_becomes_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_versions, "version", lambda name: "9.1")
    first = {"test_vllm_a_file": Counter(passed=1_000, skipped=2), "test_metrics": Counter(failed=1)}
    engine_versions.record("vllm", "quick", first, tmp_path)
    # A file that runs again replaces what it found before.
    engine_versions.record("vllm", "quick", {"test_metrics": Counter(passed=3), "test_b": Counter(skipped=1)}, tmp_path)
    (path,) = tmp_path.iterdir()
    recorded = json.loads(path.read_text())
    page = engine_versions.updated("# Page\n\n| a | b |\n|---|---|\n| vLLM 9.0 | quick | x |\n\nText\n", [recorded])
    row = f"| vLLM 9.1 | quick | metrics, a file | {recorded['date']} | 1,003 passed, 3 skipped |"
    assert page == f"# Page\n\n| a | b |\n|---|---|\n{row}\n| vLLM 9.0 | quick | x |\n\nText\n"
    assert engine_versions.updated(page, [recorded]) == page
