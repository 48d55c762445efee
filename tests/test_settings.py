"""Settings: from arguments, then from the environment; unknown variables are named in the log."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from lopt_plugin import settings
from lopt_plugin.settings import SETTING_NAMES, Settings, available_cpus


def test_defaults() -> None:
    defaults = Settings.read({})
    assert defaults == Settings(threads=available_cpus())
    assert (defaults.route, defaults.chunk_chars, defaults.decode) == ("auto", 0, True)
    assert (defaults.parallel_min_chars, defaults.verify) == (32768, 0.0)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_threads_follow_the_affinity() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from lopt_plugin.settings import Settings; print(Settings.read({}).threads)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("threads", "3", 3),
        ("route", "hf", "hf"),
        ("route", "native", "native"),
        ("route", "hf_chunks", "hf_chunks"),
        ("overlap_chars", "64", 64),
        ("chunk_chars", "0", 0),
        ("chunk_chars", " 4096 ", 4096),
        ("parallel_min_chars", "1", 1),
        ("gpu_min_bytes", "1000000", 1000000),
        ("verify", "0.25", 0.25),
        ("verify", "1", 1.0),
    ],
)
def test_environment_and_arguments(name: str, text: str, value: Any) -> None:
    variable = f"LOPT_{name.upper()}"
    assert getattr(Settings.read({variable: text}), name) == value
    assert getattr(Settings.read({}, **{name: value}), name) == value
    # An argument that is given wins, even over a variable that is not valid.
    assert getattr(Settings.read({variable: "rubbish"}, **{name: value}), name) == value
    # An empty variable and an argument of None are as good as none.
    assert Settings.read({variable: ""}, **{name: None}) == Settings.read({})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("threads", "0"),
        ("threads", "-2"),
        ("threads", "two"),
        ("threads", "1.5"),
        ("threads", 1.5),
        ("threads", True),
        ("route", "fast"),
        ("route", "HF"),
        ("route", 3),
        ("chunk_chars", "-1"),
        ("overlap_chars", "0"),
        ("parallel_min_chars", "1e6"),
        ("gpu_min_bytes", b"1"),
        ("verify", "1.01"),
        ("verify", "-0.1"),
        ("verify", "nan"),
        ("verify", "often"),
        ("verify", True),
        ("verify", [1]),
    ],
)
def test_invalid_values_name_their_source(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        Settings.read({}, **{name: bad})
    if isinstance(bad, str):
        with pytest.raises(ValueError, match=rf"^LOPT_{name.upper()}\b"):
            Settings.read({f"LOPT_{name.upper()}": bad})


@pytest.mark.parametrize("name", ["thread_count", "processes"])
def test_unknown_argument(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        Settings.read({}, **{name: 1})


def test_the_process_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTING_NAMES:
        monkeypatch.delenv(f"LOPT_{name.upper()}", raising=False)
    monkeypatch.setenv("LOPT_CHUNK_CHARS", "77")
    assert Settings.read().chunk_chars == 77


def test_pickle() -> None:
    given = Settings.read({}, threads=3, verify=0.5)
    assert pickle.loads(pickle.dumps(given)) == given


def test_importing_the_package_is_light() -> None:
    """Engines import the package in every process; neither torch nor transformers may come with it."""
    code = (
        "import sys, lopt_plugin, lopt_plugin.settings; lopt_plugin.__version__;"
        "assert 'accelerate' in dir(lopt_plugin);"
        "print([m for m in ('torch', 'transformers', 'tokenizers', 'numpy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


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
