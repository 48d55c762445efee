"""lopt bench: numbers for engines whose ids were compared, none for others."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import corpus
import pytest
from command import lopt, model_folder

from lopt_plugin.cli.benchmarking import by_length
from lopt_plugin.cli.benchmarking.by_length import Point, reachable_lengths
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.cli.benchmarking.worker import Measurement


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "model")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(corpus.texts("zh", 8_000)), encoding="utf-8")
    return path


def test_numbers_tables_and_files(model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopt_plugin.cli.bench.available_cpus", lambda: 2)
    monkeypatch.setattr("lopt_plugin.cli.benchmarking.by_length.choose_cpus", lambda count: [0] * count)
    results, plot = tmp_path / "results.json", tmp_path / "plot.png"
    result = lopt("bench", model, text, "--peers", "", "--json", results, "--plot", plot)
    assert result.exit_code == 0
    assert "all ids equal" in result.stdout
    content = json.loads(results.read_text())
    points = content["points"]
    assert {(point["engine"], point["length"]) for point in points} == {
        (engine, length) for engine in ("hf", "lopt") for length in (1_000, 10_000)
    }
    assert {point["threads"] for point in points if point["engine"] == "lopt"} == {1, 2}
    for point in points:
        assert point["problem"] == ""
        assert len(point["first"]) == len(point["cold"]) == len(point["warm"]) == 1
        assert len(point["hostile"]) == (1 if point["length"] == 10_000 else 0)
        assert 0.5 * point["length"] < point["prompt_bytes"] < 2 * point["length"]
    assert content["machine"]["versions"]["tokenizers"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_no_number_where_ids_differ(model: Path, text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true_measure = by_length.FreshProcesses.measure

    def measure(self: by_length.FreshProcesses, engine: str, *args: object) -> Measurement:
        measured = true_measure(self, "hf", *args)
        if engine == "hf":
            return measured
        return Measurement(seconds=measured.seconds, digests=tuple(("0",) * len(row) for row in measured.digests))

    monkeypatch.setattr(by_length.FreshProcesses, "measure", measure)
    results = tmp_path / "results.json"
    options = ("--peers", "", "--threads", 1, "--max-bytes", 1_000, "--json", results)
    result = lopt("bench", model, text, *options)
    assert result.exit_code == 1
    assert "ids differ" in result.stdout
    points = {point["engine"]: point for point in json.loads(results.read_text())["points"]}
    assert points["hf"]["cold"]
    assert points["lopt"]["problem"] == "ids differ"
    assert points["lopt"]["cold"] == []


def test_no_numbers_without_ids_to_compare_with(
    model: Path, text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    true_measure = by_length.FreshProcesses.measure
    calls = []

    def measure(self: by_length.FreshProcesses, engine: str, *args: object) -> Measurement:
        calls.append(engine)
        return Measurement(failed="took more than 1 s") if len(calls) == 3 else true_measure(self, engine, *args)

    monkeypatch.setattr(by_length.FreshProcesses, "measure", measure)
    results = tmp_path / "results.json"
    result = lopt("bench", model, text, "--peers", "", "--threads", 1, "--json", results)
    assert result.exit_code == 1
    points = json.loads(results.read_text())["points"]
    assert calls == ["hf", "lopt", "hf"]
    assert [bool(point["problem"]) for point in points] == [False, False, True, True]
    assert "no ids to compare with" in result.stdout


def test_an_engine_that_fails_later_has_no_number() -> None:
    point = Point("lopt", 1, 1000, 2, 1000.0)
    point.add(Measurement(seconds=((1.0, 2.0), (1.0, 1.0)), digests=(("a", "b"), ("a", "b"))), [("a", "b")] * 2)
    assert point.seconds("cold") == 2.0
    assert point.speed("first") == pytest.approx(0.001)
    point.add(Measurement(failed="exit status -11"), [("a", "b")] * 2)
    assert point.is_error
    assert point.seconds(point.unseen) is None


def test_lengths_go_as_far_as_the_text() -> None:
    assert reachable_lengths("a" * 999) == [999]
    assert reachable_lengths("é" * 500) == [1_000]
    assert reachable_lengths("a" * 1_000_000) == [1_000, 10_000, 100_000, 1_000_000]


def test_prompts_do_not_overlap() -> None:
    text = "".join(map(chr, range(1000, 2000)))
    prompts = spread(text, 7, 1000 // 7)
    assert len(set("".join(prompts))) == 7 * (1000 // 7)
    assert spread(text, 1, 1000) == [text]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--peers", "nobody"), "unknown peer 'nobody'"),
        (("--threads", 100_000), "CPUs"),
        (("--plot", "plot.txt"), ".png, .svg or .pdf"),
        (("--json", "/no/such/folder/x.json"), "no such folder"),
        (("--max-bytes", 10), "the shortest prompts"),
    ],
)
def test_wrong_usage(model: Path, text: Path, options: tuple[object, ...], message: str) -> None:
    result = lopt("bench", model, text, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_requested_peer_that_is_not_installed(model: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopt_plugin.cli.bench.importlib.util.find_spec", lambda name: None)
    result = lopt("bench", model, text, "--peers", "tiktoken")
    assert result.exit_code == 2
    assert "tiktoken is not installed; pip install tiktoken" in result.stderr


@pytest.mark.parametrize("options", [(), ("--gpu",)])
def test_a_tokenizer_that_is_not_fast(tmp_path: Path, text: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    result = lopt("bench", tmp_path, text, *options)
    assert result.exit_code == 2
    assert f"'{tmp_path}' is not a fast tokenizer" in result.stderr


def test_an_empty_file(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    result = lopt("bench", model, tmp_path / "empty.txt")
    assert (result.exit_code, "no text" in result.stderr) == (2, True)


def test_gpu_without_torch(model: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = lopt("bench", model, text, "--gpu")
    assert result.exit_code == 2
    assert "the GPU cannot be measured: torch is not installed" in result.stderr
    assert "lopt-plugin[gpu]" in result.stderr


def test_bench_gpu_refuses_options_that_it_would_ignore(model: Path, text: Path, tmp_path: Path) -> None:
    result = lopt("bench", model, text, "--gpu", "--json", tmp_path / "found.json")
    assert result.exit_code == 2
    assert "--gpu takes none of --plot, --json and --peers" in result.stderr
