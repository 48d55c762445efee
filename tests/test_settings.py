"""Settings: variables of the environment that are none are named in the log."""

from __future__ import annotations

import logging

import pytest

from lopt_plugin import settings
from lopt_plugin.settings import Settings


def test_unknown_variables_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    settings._log_unknown.cache_clear()
    environment = {
        **dict.fromkeys(("LOPT_THREAD", "LOPT_PROCESSES"), "2"),
        **dict.fromkeys(("LOPT_THREADS", "LOPT_RENDERER", "LOPT_ACCELERATE", "LOPT_TIER", "LOPT_REQUIRE_VLLM"), "1"),
        **{"PATH": "/bin", "LOPT": "1"},
    }
    with caplog.at_level(logging.WARNING, "lopt_plugin"):
        assert Settings.read(environment).threads == 1
        Settings.read(environment)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("lopt_plugin: unknown environment variables: LOPT_PROCESSES, LOPT_THREAD; ")
    assert "LOPT_THREADS" in line
