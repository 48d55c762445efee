"""The Prometheus side of the observer: names, labels, several processes, and that it never breaks tokenization."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from required import skip_without

skip_without("prometheus_client", "LOPT_REQUIRE_VLLM")  # a dependency of vLLM

SCRIPT = """
import os, sys
from lopt_plugin.engines import metrics

observer = metrics.observer()
assert observer is metrics.observer()
observer.encoded("native", 0.0003)
observer.encoded("native", 0.5)
observer.encoded("hf", 2.0)
observer.remembered({"lookups": 3, "hits": 2, "bytes_saved": 70, "evictions": 0})
observer.remembered({})
for number in range(100):
    observer.fell_back(f"reason {number}")
    observer.fell_back("reason 1")
if sys.argv[1] == "show":
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, multiprocess
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)
    print(generate_latest(registry).decode())
"""


def run(what: str, folder: Path, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_one_process(tmp_path: Path) -> None:
    shown = run("show", tmp_path)
    assert 'lopt_tokenization_seconds_count{route="native"} 2.0' in shown
    assert 'lopt_tokenization_seconds_sum{route="hf"} 2.0' in shown
    assert 'lopt_tokenization_seconds_bucket{le="0.0005",route="native"} 1.0' in shown
    assert 'lopt_fallbacks_total{reason="reason 1"} 101.0' in shown
    assert "lopt_prefix_cache_hits_total 2.0" in shown
    assert "lopt_prefix_cache_saved_bytes_total 70.0" in shown
    assert "lopt_prefix_cache_evictions_total 0.0" in shown
    reasons = [line for line in shown if line.startswith("lopt_fallbacks_total{")]
    assert len(reasons) == 33
    assert 'lopt_fallbacks_total{reason="other"} 68.0' in reasons


def test_several_processes(tmp_path: Path) -> None:
    folder = str(tmp_path)
    run("observe", tmp_path, PROMETHEUS_MULTIPROC_DIR=folder)
    shown = run("show", tmp_path, PROMETHEUS_MULTIPROC_DIR=folder)
    assert 'lopt_tokenization_seconds_count{route="native"} 4.0' in shown
    assert 'lopt_fallbacks_total{reason="reason 1"} 202.0' in shown
    assert "lopt_prefix_cache_lookups_total 6.0" in shown


def test_a_broken_metric_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from lopt_plugin.engines.metrics import PrometheusObserver

    def full(*args: object) -> None:
        raise OSError("no space left on device")

    observer = object.__new__(PrometheusObserver)
    broken = type("Series", (), {"labels": full, "inc": full})()
    observer.__dict__ |= {"_of_route": full, "_reasons": set(), "_fallbacks": broken, "_prefixes": {"hits": broken}}
    observer._broken = False
    with caplog.at_level("ERROR"):
        for _ in range(3):
            observer.encoded("native", 1.0)
            observer.fell_back("reason")
            observer.remembered({"hits": 1})
    assert len(caplog.records) == 1
