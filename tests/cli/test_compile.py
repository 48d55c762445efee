"""lopt compile: a file with the ids of Hugging Face, or no file."""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import pytest
from command import lopt, model_folder

import lopt_plugin
from lopt_plugin.cli import texts
from lopt_plugin.native import _core


@pytest.fixture(autouse=True)
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_HARD_TEXTS", 60)
    monkeypatch.setattr(texts, "_LONG_HARD_PARTS", 300)
    monkeypatch.setattr("lopt_plugin.cli.compile._PROSE_CHARS", 20_000)


@pytest.mark.every_parameter
@pytest.mark.parametrize("name", ["tiny_qwen2", "unigram_t5", "wordpiece_uncased"])
def test_a_file(name: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "tokenizer.lopt"
    result = lopt("compile", model_folder(tmp_path / name, name), "--out", out)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{out}: ")
    assert [path.name for path in out.parent.iterdir()] == ["tokenizer.lopt"]
    compiled = _core.CompiledTokenizer(str(out))
    assert "tokenizers " in compiled.source
    text = "Some text, 12 words."
    assert compiled.encode(text.encode(), True, False) == corpus.load_tokenizer(name).encode(text).ids


def test_a_report_in_json(tmp_path: Path) -> None:
    out = tmp_path / "tokenizer.lopt"
    result = lopt("compile", model_folder(tmp_path / "model", "tiny_llama2"), "--out", out, "--json")
    report = json.loads(result.stdout)
    assert report.pop("seconds") > 0
    assert report == {"out": str(out), "bytes": out.stat().st_size, "texts": 63, "need_reference": 0}


def test_a_tokenizer_that_is_not_native(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["dropout"] = 0.5
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    result = lopt("compile", folder, "--out", tmp_path / "tokenizer.lopt")
    assert result.exit_code == 2
    assert "cannot compile" in result.stderr
    assert "dropout" in result.stderr
    assert not list(tmp_path.glob("tokenizer.lopt*"))


def test_other_ids_leave_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "tokenizer.lopt"
    out.write_text("old")
    folder = model_folder(tmp_path / "model", "tiny_llama2")
    original = lopt_plugin.cli.compile.read_pipeline

    def without_prefix(backend: object) -> object:
        pipeline = original(backend)
        object.__setattr__(pipeline.post_processor, "prefix_ids", ())
        return pipeline

    monkeypatch.setattr("lopt_plugin.cli.compile.read_pipeline", without_prefix)
    result = lopt("compile", folder, "--out", out)
    assert result.exit_code == 1
    assert "differ from Hugging Face's" in result.stderr
    assert out.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))
