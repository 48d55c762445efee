"""The benchmark runs on a small text, and shows no number for an engine whose ids are not the oracle's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus
import pytest
import tier

from lopt_plugin.cli.benchmarking.fresh_process import FreshProcesses, choose_cpus

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
# Last, so that what is installed comes before the checkout.
sys.path.append(str(REPOSITORY))

from benchmarks import run_all  # noqa: E402
from benchmarks.common import report, result, results_page  # noqa: E402
from benchmarks.common.engines import ENGINES, LoptSession, engine_class  # noqa: E402

SMALL = ["--repeat", "1", "--prompts", "3", "--prompt-chars", "3000", "--hostile-chars", "3000"]

WRONG_ENGINE = """
from lopt_plugin.cli.benchmarking.engine import Hf


class LastIdWrong(Hf):
    def ids(self, result):
        ids = result.ids
        ids[-1] += 1
        return ids
"""


def speed(tmp_path: Path, engines: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit status, output, and the rows of the JSON file."""
    results = tmp_path / "results.json"
    python_path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    what = ["--tokenizers", "tiny_qwen2", "--corpora", "zh", "--engines", engines, "--json", str(results)]
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / "speed" / "speed.py"), *what, *SMALL],
        env={**os.environ, "PYTHONPATH": python_path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, json.loads(results.read_text())["results"]


def test_two_engines_on_a_small_text(tmp_path: Path) -> None:
    status, output, rows = speed(tmp_path, "hf,lopt")
    assert status == 0
    assert [row["engine"] for row in rows] == ["hf", "lopt"]
    for row in rows:
        assert row["problem"] == ""
        samples = row["samples"]
        assert all(len(samples[name]) == 1 for name in samples)
        assert all(samples[name][0] > 0 for name in ("first", "cold", "warm", "hostile", "load"))
    assert "ids differ" not in output


# In its quick form, a script does the same whatever its name in the list.
NAMES = list({command.split()[0]: name for name, command in reversed(run_all.ALL.items())}.values())
NAMES = [name for name in NAMES if name not in run_all.ENGINES]


@pytest.mark.parametrize("name", tier.pick(NAMES[:1], NAMES))
def test_each_runs_and_is_shown(tmp_path: Path, name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / "run_all.py"), "--quick", "--only", name, "--folder", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    content = json.loads((tmp_path / f"{name}.json").read_text())
    assert content["machine"]["versions"]["tokenizers"]
    shown = (tmp_path / "RESULTS.md").read_text()
    assert f"## {content['report']['title']}" in shown
    assert "differ |" not in shown
    assert str(tmp_path) not in shown
    for table in content["report"]["tables"]:
        assert f"| {' | '.join(table['rows'][0])} |" in shown
    for plot in content["report"]["plots"]:
        assert f"(plots/{plot['name']}.svg)" in shown
        assert "<svg" in (tmp_path / "plots" / f"{plot['name']}.svg").read_text()


def test_lopt_table(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    what = ["--tokenizers", "tiny_cl100k", "--corpora", "zh", "--prompts", "2", "--prompt-chars", "8000"]
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / "papers" / "lopt_table.py"), *what, "--json", str(results)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    rows = {row["engine"]: row for row in json.loads(results.read_text())["results"]}
    ours = ["hf_chunks, overlaps only", "hf_chunks"]
    assert all(rows[method]["samples"]["equal"] == [1, 1] and not rows[method]["case"]["lossy"] for method in ours)
    lossy = ["cut at space", "cut at comma", "cut at period", "longest common ids", "LoPT as published"]
    assert all(rows[method]["case"]["lossy"] and f"{method} (lossy)" in ended.stdout for method in lossy)
    assert all(len(row["samples"]["seconds"]) == 2 for row in rows.values() if not row["problem"])


@pytest.mark.deep
def test_batches_of_every_engine_have_the_ids_of_its_single_texts(tmp_path: Path) -> None:
    texts = ["Ein Satz.", "", "zwei \u4e2d\u6587", "x" * 3000]
    found = {}
    with FreshProcesses(timeout_seconds=60) as processes:
        tokenizer = processes.store_tokenizer(corpus.tokenizer_json("tiny_qwen2"))
        passes = [processes.store_prompts([texts, texts[:1]]), processes.store_prompts(texts)]
        for engine in ENGINES:
            if issubclass(engine_class(engine), LoptSession):  # takes one text that grows
                continue
            measured = processes.measure(engine, tokenizer, passes, choose_cpus(1))
            if not measured.refused:
                assert not measured.failed, engine
                found[engine] = measured
    assert {"hf", "lopt", "lopt_array", "lopt_store", "lopt_hf_chunks"} <= found.keys()
    for engine, measured in found.items():
        assert measured.counts == found["hf"].counts, engine
        assert engine_class(engine).kind == "count" or measured.digests == found["hf"].digests, engine


def test_an_engine_that_gives_other_ids_has_no_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong_engine.py").write_text(WRONG_ENGINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    with FreshProcesses(timeout_seconds=60) as processes:
        passes = {"text": processes.store_prompts(["one text", "another"])}
        tokenizer = processes.store_tokenizer(corpus.tokenizer_json("tiny_qwen2"))
        race = result.Race(processes, tokenizer, passes, choose_cpus(1))
        found = race.run(["hf", "wrong_engine:LastIdWrong", "nobody:Nothing"], 2)
    assert len(found["hf"].samples["text"]) == 1
    wrong, absent = found["wrong_engine:LastIdWrong"], found["nobody:Nothing"]
    assert (wrong.problem, wrong.is_error, wrong.samples) == ("ids differ", True, {})
    assert (absent.problem.startswith("does not load"), absent.is_error, absent.samples) == (True, False, {})


def test_where_others_win() -> None:
    found = report.Report("title", "about")
    found.add_losses(
        {"lopt": {"a": 2.0, "b": 2.0}, "one": {"a": 3.0, "b": 2.02, "c": 1.0}, "other": {"a": 2.5}}, "in {}"
    )
    assert found.others_win == ["in a: one 1.50 times"]
    found.add_losses({"lopt": {"a": 2.0}, "one": {"a": 1.0}}, "{}", smaller_is_better=True)
    assert found.others_win[1:] == ["a: one 2.00 times"]


def test_the_table_of_the_readme() -> None:
    def row(tokenizer: str, engine: str, *cold: float) -> dict[str, Any]:
        samples = {"first": [1.0] * len(cold), "cold": list(cold)} if cold else {}
        return {"case": {"tokenizer": tokenizer, "corpus": "zh"}, "engine": engine, "samples": samples}

    rows = [row("qwen3", "lopt", 5, 7, 6), row("qwen3", "fastokens", 9), row("qwen3", "gigatoken")]
    rows += [row("llama3", "lopt", 5), row("llama3", "fastokens", 4)]
    table = results_page.readme_table(rows)
    assert table.columns[1:] == ["Qwen3: first", "best peer", "then", "best peer", "Llama 3: then", "best peer"]
    assert table.rows == [["Chinese", "**1**", "**1**", "6", "**9**", "**5**", "4"]]


def test_no_number_where_ids_differ(tmp_path: Path) -> None:
    (tmp_path / "wrong_engine.py").write_text(WRONG_ENGINE)
    status, output, rows = speed(tmp_path, "hf,wrong_engine:LastIdWrong")
    assert status == 1
    assert rows[1]["problem"] == "ids differ"
    assert rows[1]["samples"] == {}
    assert "wrong_engine:LastIdWrong: ids differ" in output
    (cells,) = (line.split() for line in output.splitlines() if line.split()[:1] == ["zh"])
    assert cells[1] != "-"
    assert cells[6:] == ["-"] * 7  # its speeds, and ratios to peers
    assert rows[0]["samples"]


def test_growing(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    small = ["--megabytes", "0.02", "--worst", "0.004", "--repeat", "5", "--json", str(results)]
    command = [
        sys.executable,
        str(BENCHMARKS / "papers" / "growing.py"),
        "--tokenizer",
        "tiny_cl100k",
        "--corpus",
        "books_en",
    ]
    ended = subprocess.run([*command, *small], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0
    tables = json.loads(results.read_text())["report"]["tables"]
    assert len(tables) == 6
    assert all(len(row) == len(table["columns"]) for table in tables for row in table["rows"])
