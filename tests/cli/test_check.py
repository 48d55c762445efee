"""lopt check: its exit status tells whether the ids are Hugging Face's, and it shows the first difference."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpus
import pytest
from command import lopt, model_folder

from lopt_plugin.cli import texts
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.pipeline.decoders import Decoder
from lopt_plugin.routes.token_table import build_token_table


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "model")


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_HARD_TEXTS", 60)
    monkeypatch.setattr(texts, "_LONG_HARD_PARTS", 300)
    monkeypatch.setattr("lopt_plugin.cli.check._PROSE_CHARS", 20_000)


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    lines = [json.dumps({"text": text[:3000]}) for text in corpus.texts("multi", 20_000)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", ["tiny_qwen2", "tiny_roberta", "tiny_deepseek_v3"])
def test_built_in_texts_are_equal(tmp_path: Path, name: str) -> None:
    result = lopt("check", model_folder(tmp_path / name, name), "--offsets")
    assert result.exit_code == 0
    assert "native" in result.stdout
    assert "equal" in result.stdout


def test_files_and_json(model: Path, jsonl: Path, tmp_path: Path) -> None:
    packed = tmp_path / "more.txt.gz"
    packed.write_bytes(gzip.compress("Ein Text, der für sich steht. ".encode() * 100))
    result = lopt("check", model, jsonl, packed, "--json", "--piece-chars", 1000, "--offsets")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    compared = report["compared"]
    assert report["equal"] is True
    assert report["route"] == "native"
    assert report["pipeline"]["normalizer"] == "NFC"
    assert compared["texts"] >= len(jsonl.read_text().splitlines()) + 3
    # A call, encode_ids, chunks, the call with offsets, the offsets, and the batch.
    assert compared["comparisons"] == 10 * compared["texts"]
    assert compared["offsets"] == compared["tokens"] > 1000


def test_limit_ends_early(model: Path, jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopt_plugin.cli.check._BATCH_TEXTS", 2)
    assert len(jsonl.read_text(encoding="utf-8").splitlines()) > 2
    assert json.loads(lopt("check", model, jsonl, "--json", "--limit", "0.0001").stdout)["compared"]["texts"] == 2


def test_shows_why_hugging_face_is_used(tmp_path: Path, jsonl: Path) -> None:
    folder = model_folder(tmp_path / "model")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["dropout"] = 0.0
    content["pre_tokenizer"] = {"type": "UnicodeScripts"}
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    result = lopt("check", folder, jsonl)
    assert result.exit_code == 0
    assert "UnicodeScripts" in result.stdout


def test_a_difference_is_shown(model: Path, jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_ids = Encoder.encode_batch_ids

    def wrong_ids(self: Encoder, *args: Any, **kwargs: Any) -> TokenBatch:
        batch = true_ids(self, *args, **kwargs)
        batch.ids[batch.row_offsets[2] + 5] += 1
        return batch

    monkeypatch.setattr(Encoder, "encode_batch_ids", wrong_ids)
    result = lopt("check", model, jsonl, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    first = report["compared"]["first"]
    assert report["equal"] is False
    assert first["call"] == "encode_batch_ids"
    assert first["origin"].endswith("texts.jsonl:3")
    assert first["index"] == 5
    assert "«" in first["text"]
    differing = [pair for pair in zip(first["expected_ids"], first["found_ids"], strict=True) if pair[0] != pair[1]]
    assert len(differing) == 1
    assert differing[0][1] == differing[0][0] + 1
    assert len(first["expected_tokens"]) == len(first["expected_ids"])
    shown = lopt("check", model, jsonl)
    assert shown.exit_code == 1
    assert "DIFFERENT" in shown.stdout


def test_wrong_offsets_are_found(model: Path, jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lopt_plugin.cli import check, model as models

    true_accelerate = models.accelerate

    class Wrong:
        def __init__(self, tokenizer: Any) -> None:
            self.tokenizer, self.lopt, self.decode = tokenizer, tokenizer.lopt, tokenizer.decode

        def __call__(self, text: str, **kwargs: Any) -> Any:
            found = dict(self.tokenizer(text, **kwargs))
            if kwargs:
                found["offset_mapping"] = [*found["offset_mapping"][:-1], (0, 0)]
            return found

    monkeypatch.setattr(check.models, "accelerate", lambda *args, **kwargs: Wrong(true_accelerate(*args, **kwargs)))
    report = json.loads(lopt("check", model, jsonl, "--offsets", "--json").stdout)
    assert report["compared"]["first"]["call"] == "offset_mapping"
    assert json.loads(lopt("check", model, jsonl, "--json").stdout)["equal"] is True


def test_wrong_texts_are_found(model: Path, jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The table has the characters that stand for bytes, and it is used all the same.
    def build(backend: Any, decoder: Decoder, tokens: list[str | None]) -> Any:
        return build_token_table(backend, replace(decoder, byte_level=False), tokens)

    monkeypatch.setattr("lopt_plugin.encoder.decoding.build_token_table", build)
    monkeypatch.setattr("lopt_plugin.encoder.decoding._mismatch", lambda *_: None)
    report = json.loads(lopt("check", model, jsonl, "--json").stdout)
    assert report["compared"]["first"]["call"] == "decode(ids, skip_special_tokens=False)"


@pytest.mark.parametrize("broken", ["{", "{}", '{"model": {"type": "BPE"}}'])
def test_cannot_load(tmp_path: Path, broken: str) -> None:
    (tmp_path / "tokenizer.json").write_text(broken)
    result = lopt("check", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("lopt: error: cannot load")
    assert "Traceback" not in result.stderr


def test_a_name_when_the_hub_cannot_be_reached(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lopt_plugin.cli", "check", "no-such/model"]
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 2
    said = ended.stderr.splitlines()
    assert len(said) == 2, ended.stderr
    start = "lopt: error: cannot load 'no-such/model': it is not in the cache, and the hub cannot be reached: "
    assert said[0].startswith(start)


def test_a_name_that_the_hub_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    import transformers
    from huggingface_hub.errors import RepositoryNotFoundError

    def not_found(*args: Any, **kwargs: Any) -> Any:
        error = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
        Exception.__init__(error, "404 Client Error.\n\nRepository Not Found")
        raise error

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", not_found)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *args, **kwargs: pytest.fail("asked"))
    result = lopt("check", "no-such/model")
    assert result.exit_code == 2
    assert "cannot load 'no-such/model': the hub has no such model" in result.stderr


def test_missing_things(model: Path, tmp_path: Path) -> None:
    assert lopt("check", tmp_path / "nothing").exit_code == 2
    missing = lopt("check", model, tmp_path / "nothing.txt")
    assert missing.exit_code == 2
    assert "no such file" in missing.stderr
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "a"}\n{"text": 1}\n')
    result = lopt("check", model, bad)
    assert result.exit_code == 2
    assert "bad.jsonl:2: field 'text' is a number" in result.stderr
    bad.write_text('{"text": "a\\ud800"}\n')
    assert "bad.jsonl:1: a lone surrogate" in lopt("check", model, bad).stderr


@pytest.mark.parametrize(("name", "content"), [("a.txt", ""), ("a.jsonl", "\n\n"), ("a.jsonl", '{"text": ""}\n')])
def test_a_file_without_text(model: Path, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    for options in ((), ("--json",)):
        result = lopt("check", model, tmp_path / name, *options)
        assert (result.exit_code, "the files have no text" in result.stderr) == (2, True)
        assert "equal" not in result.stdout


def test_importing_the_package_needs_no_terminal_libraries() -> None:
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('typer', 'rich', 'click', 'pyarrow', 'matplotlib')));"
        "import lopt_plugin; lopt_plugin.__version__; import lopt_plugin.encoder.encoder, lopt_plugin.cli;"
        "lopt_plugin.cli.main()"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert ended.returncode == 2
    assert "pip install typer rich" in ended.stderr
