"""lopt demo: its exit status and output, by what a server answers and without an engine. The server is a stand-in."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from command import lopt, model_folder
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.cli import demo
from lopt_plugin.cli.serving import tiny_model
from lopt_plugin.cli.serving.server import Answer, EngineServer, ServerError

TEXT = "It is 12,345 o'clock; naïve 東京.\n" * 40


class NoServer(EngineServer):
    """Stands in for a running server; its log has the plugin's line if it is `active`."""

    options, own_mode = ("--tokenizer-mode", "--tokenizer", "--max-model-len"), "hf"

    def __init__(self, engine: FakeEngine, model: Path, log: Path, mode: str, **options: Any) -> None:
        super().__init__(model, log, mode, **options)
        self.engine = engine
        self.active = engine.active and mode == "lopt"

    def _start(self, model: str, context_length: int | None) -> tuple[list[str], dict[str, str]]:
        return [], {}

    def __enter__(self) -> NoServer:
        said = f"INFO lopt_plugin {lopt_plugin.__version__}: tokenizer takes the native route" if self.active else ""
        self.log.write_text(f"starting\n{said}\n", encoding="utf-8")
        return self

    def answer(self, prompt: str) -> Answer:
        return self.engine.answer(prompt)


class FakeEngine:
    """Answers with Hugging Face's ids, except for the one at `wrong`; records what it is asked."""

    name, module = "vLLM", "vllm"
    options, own_mode, for_times = NoServer.options, NoServer.own_mode, ("--with-times",)

    def __init__(self, tokenizer_json: Path) -> None:
        self.oracle = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_json))
        self.wrong: int | None = None
        self.active = True
        self.fails = ""
        self.tokenizers: list[str | None] = []
        self.texts: list[str] = []
        self.started: list[bool] = []

    def __call__(self, model: Path, log: Path, mode: str, **options: Any) -> EngineServer:
        server = NoServer(self, model, log, mode, **options)
        given = dict(itertools.pairwise(server.command))
        assert (model / "config.json").exists()
        assert "--tokenizer" in given or (model / "tokenizer.json").exists()
        assert server.command[-1] == "--with-times"
        self.tokenizers.append(given.get("--tokenizer"))
        self.started.append(given["--tokenizer-mode"] == "lopt")
        return server

    def answer(self, text: str) -> Answer:
        if self.fails:
            raise ServerError(self.fails)
        self.texts.append(text)
        ids: list[int] = self.oracle(text)["input_ids"]
        if self.wrong is not None:
            ids[self.wrong] += 1
        return Answer(ids, 0.012, 0.5)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "the model")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def engine(model: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The only engine that is installed. No weights are written: that needs torch."""
    fake = FakeEngine(model / "tokenizer.json")
    found = {"vllm": fake}
    monkeypatch.setattr("lopt_plugin.cli.demo.ENGINES", found)
    monkeypatch.setattr(demo, "_installed", lambda module: True)
    monkeypatch.setattr(tiny_model, "_write_weights", lambda out, config: None)
    return fake


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command writes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_all_equal(engine: FakeEngine, model: Path, text: Path, temporary: Path) -> None:
    result = lopt("demo", model, "--text", text)
    assert result.exit_code == 0, result.stderr
    assert engine.texts == [TEXT] * 2
    assert engine.started == [True]
    count = len(engine.oracle(TEXT)["input_ids"])
    assert f"Ids        {count:,} of {count:,} equal to Hugging Face's" in result.stdout
    assert "takes the native route" in result.stdout
    assert "route native, up to" in result.stdout
    assert "12 ms from the request's arrival to the engine" in result.stdout
    assert list(temporary.iterdir()) == []


def test_built_in_text_of_so_many_tokens(engine: FakeEngine, model: Path) -> None:
    assert lopt("demo", model, "--tokens", 5000, "--compare").exit_code == 0
    assert 2500 < len(engine.oracle(engine.texts[0])["input_ids"]) < 10_000
    assert engine.started == [True, False]


def test_the_start_of_a_file(engine: FakeEngine, model: Path, text: Path) -> None:
    result = lopt("demo", model, "--text", text, "--tokens", 50, "--engine", "vllm")
    assert "the start of" in result.stdout
    assert TEXT.startswith(engine.texts[0])


def test_a_prompt_is_never_too_long_for_the_model(
    engine: FakeEngine, model: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lopt_plugin.cli.demo.MOST_TOKENS", 100)
    assert lopt("demo", model, "--text", text).exit_code == 0
    assert 80 < len(engine.oracle(engine.texts[0])["input_ids"]) <= 100


def test_where_the_server_finds_the_tokenizer(
    engine: FakeEngine, model: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    for given in (model / "tokenizer.json", model.name):
        assert lopt("demo", given, "--text", text).exit_code == 0
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (model / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert lopt("demo", model.name, "--text", text).exit_code == 0
    assert engine.tokenizers == [None, None, str(model)]


def test_a_difference(engine: FakeEngine, model: Path, text: Path, temporary: Path) -> None:
    engine.wrong = 7
    result = lopt("demo", model, "--text", text)
    count = len(engine.oracle(TEXT)["input_ids"])
    assert result.exit_code == 1
    assert f"Ids        {count - 1:,} of {count:,} equal" in result.stdout
    assert "the ids differ" in result.stderr
    # The log stays for the user, the model does not.
    (left,) = temporary.iterdir()
    assert [path.name for path in left.iterdir()] == ["server_lopt.log"]


def test_a_server_that_fails_or_has_no_lopt(engine: FakeEngine, model: Path, text: Path) -> None:
    engine.active = False
    result = lopt("demo", model, "--text", text)
    assert result.exit_code == 2
    assert "lopt was not active in vLLM" in result.stderr
    engine.fails = "the server ended with 1"
    result = lopt("demo", model, "--text", text)
    assert result.exit_code == 2
    assert "lopt: error: the server ended with 1" in result.stderr


def test_without_an_engine(model: Path, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    for name in demo.ENGINES:
        monkeypatch.setitem(sys.modules, name, None)
    result = lopt("demo", model)
    assert result.exit_code == 2
    assert "neither vLLM nor SGLang is installed" in result.stderr
    assert sys.executable in result.stderr.replace("\n", "")
    result = lopt("demo", model, "--engine", "sglang")
    assert result.exit_code == 2
    assert "SGLang is not installed" in result.stderr
    assert list(temporary.iterdir()) == []


def test_a_folder_of_that_name_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_engine_at_all").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not demo._installed("no_engine_at_all")
    assert demo._installed("json")


def test_wrong_usage(engine: FakeEngine, model: Path, tmp_path: Path) -> None:
    missing = lopt("demo")
    assert missing.exit_code == 2
    assert "MODEL is missing" in missing.stderr
    assert "make demo" in missing.stderr
    assert lopt("demo", tmp_path / "nothing").exit_code == 2
    assert "no such file" in lopt("demo", model, "--text", tmp_path / "nothing.txt").stderr
    assert lopt("demo", model, "--engine", "other").exit_code == 2
    assert lopt("demo", model, "--tokens", 0).exit_code == 2
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    result = lopt("demo", model, "--text", empty)
    assert result.exit_code == 2
    assert "has no text" in result.stderr
    assert engine.started == []
