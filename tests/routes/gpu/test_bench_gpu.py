"""lopt bench --gpu: compares ids, prints times, and stores the crossover where there is a GPU."""

from __future__ import annotations

from pathlib import Path

import corpus
import pytest
from command import lopt, model_folder
from kernel_device import INTERPRETED, make_interpreter_faster
from tokenizers import Tokenizer

from lopt_plugin.cli import bench_gpu
from lopt_plugin.cli.bench_gpu import Timing, crossover_of
from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.gpu.crossover import crossover_key, stored_crossover
from lopt_plugin.routes.gpu.device import find_device
from lopt_plugin.routes.gpu.route import GpuRoute


@pytest.fixture(autouse=True)
def _cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make_interpreter_faster(monkeypatch)
    monkeypatch.setattr(GpuRoute, "_check", lambda *_: None)  # other tests have it
    monkeypatch.setattr("lopt_plugin.cli.bench_gpu._RUNS", 1)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "model")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("A text of some words, eine \u00dcbung, \u4e2d\u6587. " * 4, encoding="utf-8")
    return path


def test_crossover() -> None:
    def timing(size: int, gpu: float, gpu_lists: float) -> Timing:
        return Timing(size, gpu, 1.0, gpu_lists, 1.0)

    slower, lists_slower, faster = (2.0, 0.5), (0.5, 2.0), (0.5, 0.5)
    assert crossover_of([timing(1, *slower), timing(2, *faster), timing(4, *faster)]) == 2
    assert crossover_of([timing(1, *faster), timing(2, *lists_slower), timing(4, *faster)]) == 4
    assert crossover_of([timing(1, *faster), timing(2, *slower)]) is None


@pytest.mark.skipif(not INTERPRETED, reason="there is a GPU")
def test_nothing_is_stored_in_the_interpreter(model: Path, text: Path, tmp_path: Path) -> None:
    result = lopt("bench", model, text, "--gpu", "--threads", 1)
    assert result.exit_code == 0, result.stderr
    assert "GPU, arrays" in result.stdout
    assert "nothing is stored" in result.stdout
    assert not [*(tmp_path / "cache").rglob("gpu_crossover*")]


@pytest.mark.parametrize("gpu_ms", [0.5, 2.0])
def test_stored_for_the_route_auto(model: Path, text: Path, monkeypatch: pytest.MonkeyPatch, gpu_ms: float) -> None:
    monkeypatch.setattr(bench_gpu, "interpreted", lambda: False)
    monkeypatch.setattr(bench_gpu, "time_batches", lambda *_: iter([Timing(100, gpu_ms, 1.0, gpu_ms, 1.0)]))
    result = lopt("bench", model, text, "--gpu", "--threads", 1)
    assert result.exit_code == 0, result.stderr
    assert ("faster from 100 characters on" if gpu_ms < 1 else "not faster up to") in result.stdout
    pattern = read_pipeline(Tokenizer.from_str(corpus.tokenizer_json("tiny_qwen2"))).scanner
    stored = stored_crossover(crossover_key(find_device(), pattern, 1))
    assert stored == (100 if gpu_ms < 1 else float("inf"))


def test_no_times_for_wrong_ids(model: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_batch = GpuRoute.encode_batch

    def one_id_wrong(self: GpuRoute, texts: list[str], request: object) -> object:
        ids, offsets = true_batch(self, texts, request)  # type: ignore[arg-type]
        ids[-1] ^= 1
        return ids, offsets

    monkeypatch.setattr(GpuRoute, "encode_batch", one_id_wrong)
    result = lopt("bench", model, text, "--gpu", "--threads", 1)
    assert result.exit_code == 1
    assert "differ from Hugging Face's" in result.stderr
    assert "arrays" not in result.stdout


def test_tokenizer_that_the_gpu_cannot_encode(tmp_path: Path, text: Path) -> None:
    result = lopt("bench", model_folder(tmp_path / "other", "tiny_llama2"), text, "--gpu")
    assert result.exit_code == 2
    assert "the GPU cannot be measured" in result.stderr
