"""examples/datasets_map.py: datasets.map(batched=True) gives Hugging Face's ids, on all cores, and its cache holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus
import own_process
import pytest
from command import model_folder
from required import module_or_skip

import lopt_plugin

datasets = module_or_skip("datasets", "LOPT_REQUIRE_DATASETS")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "datasets_map.py"
THREADS = 3


@pytest.fixture(scope="module")
def documents() -> list[str]:
    text = "\n".join(corpus.texts("multi", 100_000) + corpus.texts("code", 300_000))
    return [text[first : first + 400] for first in range(0, len(text), 400)] + ["", "x"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = model_folder(tmp_path_factory.mktemp("model"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


def expected(documents: list[str]) -> list[list[int]]:
    return [one.ids for one in corpus.load_tokenizer("tiny_qwen2").encode_batch(documents)]


class Recorder:
    """A core that remembers how many threads it was asked to use."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.threads: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    def encode_batch_lists(self, texts: list[str], threads: int, *rest: Any) -> Any:
        self.threads.append(threads)
        return self.core.encode_batch_lists(texts, threads, *rest)


@pytest.mark.parametrize("processes", [None, 2])
def test_ids_and_threads(tmp_path: Path, model: Path, documents: list[str], processes: int | None) -> None:
    tokenizer = lopt_plugin.from_pretrained(model, threads=THREADS)
    native = tokenizer.lopt._runner.state.snapshot().native
    recorder = native.core = Recorder(native.core)
    dataset = datasets.Dataset.from_dict({"text": documents})
    files = {"cache_file_name": str(tmp_path / "mapped.arrow")}
    mapped = dataset.map(lambda batch: tokenizer(batch["text"]), batched=True, num_proc=processes, **files)
    assert mapped["input_ids"][:] == expected(documents)
    assert set(mapped.column_names) == {"text", "input_ids", "attention_mask"} | (
        {"token_type_ids"} & set(tokenizer.model_input_names)
    )
    if processes is None:
        # `map` makes batches of 1,000 rows. The few rows of the last one take the way of short calls.
        assert recorder.threads == [THREADS] * (len(documents) // 1000)
        assert tokenizer.lopt.explain()["calls"]["hf"] == 0


FINGERPRINT = """
import json, sys
model, examples = json.loads(ARGUMENTS)
sys.path.insert(0, examples)
import lopt_plugin
from datasets.fingerprint import Hasher
from datasets_map import Tokenize
tokenizer = lopt_plugin.from_pretrained(model, threads=3)
found = [Hasher.hash(Tokenize(tokenizer, "text"))]
tokenizer(["one", "two words"])
tokenizer("three " * 100, truncation=True, max_length=5)
tokenizer(["one", "two words"], return_offsets_mapping=True)
tokenizer.lopt.encode_batch_ids(["one"])
found.append(Hasher.hash(Tokenize(tokenizer, "text")))
found.append(Hasher.hash(Tokenize(tokenizer, "other")))
print(json.dumps(found))
"""


def test_the_fingerprint_is_stable(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = FINGERPRINT.replace("ARGUMENTS", repr(json.dumps([str(model), str(EXAMPLE.parent)])))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_VERBOSITY", "error")
    seen = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        seen.append(json.loads(own_process.run(script)))
    before, after, other_column = seen[0]
    assert seen[0] == seen[1]
    assert before == after != other_column


def test_a_second_run_finds_the_cached_result(tmp_path: Path, model: Path, documents: list[str]) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in documents), encoding="utf-8")
    environment = {**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache"), "HF_DATASETS_OFFLINE": "1"}
    fingerprints, files = [], []
    for run in ("first", "second"):
        command = [sys.executable, EXAMPLE, model, path, "--out", tmp_path / run]
        ended = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        fingerprints.append(ended.stdout.split()[-1])
        files.append(sorted(one.name for one in (tmp_path / "cache").rglob("*.arrow")))
        assert datasets.load_from_disk(str(tmp_path / run))["input_ids"][:] == expected(documents)
    assert fingerprints[0] == fingerprints[1]
    assert files[0] == files[1]
