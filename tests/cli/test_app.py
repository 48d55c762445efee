"""The command `lopt` itself: its version, what a shell completes, and its manual pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.core
import typer.main
from command import lopt

import lopt_plugin
from lopt_plugin.cli.app import app

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "man"


def test_version() -> None:
    _core = pytest.importorskip("lopt_plugin.native._core")
    result = lopt("--version")
    assert result.exit_code == 0
    assert result.stdout == f"lopt_plugin {lopt_plugin.__version__}\nnative core: {_core.build_description()}\n"
    assert re.search(r"\d+\.\d+.* for (x86-64 with (SSE2|AVX-512)|arm64 with NEON)", _core.build_description())


def test_version_without_the_native_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lopt_plugin.native._core", None)
    monkeypatch.delattr("lopt_plugin.native._core", raising=False)
    assert lopt("-V").stdout.splitlines()[1] == "native core: not installed"


def test_completion() -> None:
    words = {"COMP_WORDS": "lopt ch", "COMP_CWORD": "1", "_LOPT_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "lopt_plugin.cli"]
    completed = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert completed.stdout.split() == ["check"]


@pytest.mark.parametrize("name", ["", "check", "bench", "encode", "compile", "demo"])
def test_manual_pages_are_those_of_the_help(name: str) -> None:
    """If this fails: `make man`."""
    page = (MANUAL / f"lopt{name and '-'}{name}.1").read_text(encoding="utf-8")
    options = page[page.index(".SH OPTIONS") :].replace("\\-", "-")
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    command = group.commands[name] if name else group
    wanted = {"--help", "-h"} | {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    assert {*re.findall(r"^(?:.*, |.* / )?\\fB(-[a-z-]+)", options, re.MULTILINE)} <= wanted
    assert {option for option in wanted if option[0] == "-"} <= {*re.findall(r"\\fB(-+[A-Za-z-]+)\\fR", options)}
    if not name:
        assert {*group.commands} <= {*page.split()}
