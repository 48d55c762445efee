"""Registration with vLLM: what it changes, what it leaves alone, and that it never breaks vLLM."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import corpus
import pytest
import tier
from required import module_or_skip

from lopt_plugin.cli.serving import tiny_model
from lopt_plugin.engines import metrics
from lopt_plugin.engines.vllm import plugin, tokenizer as vllm_tokenizer

TEXT = "It's 12,345.67 — naïve, 東京 <|im_start|>user\n\n  x"


def run_python(code: str, folder: Path) -> str:
    # In a folder of its own: the working directory is on the path, and this one has the source tree.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_import_is_light(tmp_path: Path) -> None:
    modules = run_python("import sys, lopt_plugin.engines.vllm.plugin; print(*sys.modules)", tmp_path).split()
    assert not {"torch", "vllm", "transformers", "tokenizers", "numpy"} & set(modules)


def test_a_broken_host_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    for name in [name for name in sys.modules if name.startswith("vllm.")]:
        monkeypatch.delitem(sys.modules, name)
    with caplog.at_level(logging.ERROR, "vllm.lopt_plugin"):
        plugin.register()
    failed = {record.args[0] for record in caplog.records if isinstance(record.args, tuple)}
    assert failed == {"register_mode", "hook_model_config", "hook_renderers"}


@pytest.fixture(scope="module")
def vllm() -> Any:
    """The module, with the plugin registered."""
    module = module_or_skip("vllm", "LOPT_REQUIRE_VLLM")
    plugin.register()
    return module


@pytest.fixture(scope="module")
def model(vllm: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    # A small tokenizer in the quick tier: it is loaded many times here, and the server's tests have a real one.
    tokenizer = json.loads(corpus.tokenizer_json(tier.pick("tiny_qwen2", "qwen3")))
    return str(tiny_model.build(tmp_path_factory.mktemp("tiny"), tokenizer))


@pytest.fixture(scope="module")
def theirs(model: str) -> Any:
    from vllm.tokenizers import get_tokenizer

    return get_tokenizer(model, tokenizer_mode="hf")


@pytest.fixture(scope="module")
def ours(model: str) -> Any:
    from vllm.tokenizers import get_tokenizer

    return get_tokenizer(model, tokenizer_mode="lopt")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.LogCaptureFixture]:
    """What the plugin logs, whatever vLLM has made of its loggers."""
    monkeypatch.setattr(vllm_tokenizer.acceleration, "_logged", set())
    monkeypatch.setattr(plugin.logger, "propagate", False)
    plugin.logger.addHandler(caplog.handler)
    with caplog.at_level(logging.INFO, plugin.logger.name):
        yield caplog
    plugin.logger.removeHandler(caplog.handler)


def test_register_loads_no_serving_modules(vllm: Any, tmp_path: Path) -> None:
    code = "import sys, vllm; from lopt_plugin.engines.vllm.plugin import register; register(); print(*sys.modules)"
    modules = run_python(code, tmp_path).split()
    assert "vllm.renderers.registry" in modules
    serving = (
        "vllm.entrypoints.openai",
        "vllm.v1.engine",
        "vllm.renderers.hf",
        "fastapi",
        "lopt_plugin.tokenizer.accelerated",
    )
    assert [module for module in modules if module.startswith(serving)] == []


def test_entry_point_is_installed(vllm: Any) -> None:
    from importlib.metadata import entry_points

    points = entry_points(group="vllm.general_plugins", name="lopt")
    assert [point.load() for point in points] == [plugin.register]


def test_register_is_idempotent(vllm: Any, log: pytest.LogCaptureFixture) -> None:
    from vllm.config.model import ModelConfig
    from vllm.renderers.registry import RENDERER_REGISTRY, RendererRegistry
    from vllm.tokenizers.registry import TokenizerRegistry

    before = ModelConfig.__post_init__, RendererRegistry.load_renderer
    plugin.register()
    assert (ModelConfig.__post_init__, RendererRegistry.load_renderer) == before
    assert TokenizerRegistry.tokenizers["lopt"] == ("lopt_plugin.engines.vllm.tokenizer", "LoptTokenizer")
    assert RENDERER_REGISTRY.renderers["lopt"] == ("vllm.renderers.hf", "HfRenderer")
    assert not log.records


def test_tokenizer_is_that_of_hf_mode(ours: Any, theirs: Any, model: str) -> None:
    assert ours.lopt.explain()["route"] == "native"
    assert ours(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
    assert isinstance(ours, type(theirs).__mro__[1])
    for name in (
        "name_or_path", "truncation_side", "is_fast", "max_token_id", "max_chars_per_token", "all_special_ids",
        "all_special_tokens", "vocab_size", "chat_template", "model_max_length", "init_kwargs",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours) == len(theirs)
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.name_or_path == model


@pytest.mark.parametrize(("runner", "side"), [("generate", "left"), ("pooling", "right")])
def test_arguments_of_the_tokenizer_are_passed_on(model: str, runner: str, side: str) -> None:
    from vllm.tokenizers import get_tokenizer

    for mode in ("hf", "lopt"):
        tokenizer = get_tokenizer(model, tokenizer_mode=mode, runner_type=runner, padding_side="left")
        assert (tokenizer.truncation_side, tokenizer.padding_side) == (side, "left")


def test_revision_and_folder_are_passed_on(vllm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    loaded = SimpleNamespace(lopt=None)
    monkeypatch.setattr("vllm.tokenizers.registry.get_tokenizer", lambda *a, **k: asked.append((a, k)) or loaded)
    given = {"revision": "abc", "download_dir": "/models", "trust_remote_code": True, "code_revision": "def"}
    assert vllm_tokenizer.LoptTokenizer.from_pretrained("name", **given) is loaded
    assert asked == [(("name",), {"tokenizer_mode": "auto", **given})]


def test_copies_stay_accelerated(ours: Any, theirs: Any) -> None:
    from vllm.tokenizers.hf import ThreadSafeHFTokenizerMixin

    expected = theirs(TEXT)["input_ids"]
    for copied in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert copied is not ours
        assert isinstance(copied, ThreadSafeHFTokenizerMixin)
        assert copied(TEXT)["input_ids"] == expected
        assert copied.lopt.explain()["route"] == "native"
    copied.add_special_tokens({"additional_special_tokens": ["naïve"]})
    changed = copy.deepcopy(theirs)
    changed.add_special_tokens({"additional_special_tokens": ["naïve"]})
    assert copied(TEXT)["input_ids"] == changed(TEXT)["input_ids"] != expected
    assert ours(TEXT)["input_ids"] == expected


def test_no_pool_of_copies(ours: Any, theirs: Any) -> None:
    from vllm.tokenizers import maybe_make_thread_pool

    before = type(ours)
    assert maybe_make_thread_pool(ours, 2) is ours
    assert type(ours) is before


def test_threads_with_truncation_padding_and_decoding(ours: Any, theirs: Any) -> None:
    ids = theirs(TEXT)["input_ids"]
    offsets = theirs(TEXT, return_offsets_mapping=True)["offset_mapping"]
    wrong: list[str] = []

    def check(name: str, got: Any, expected: Any) -> None:
        if got != expected:
            wrong.append(name)

    def work(seed: int) -> None:
        try:
            for k in range(60):
                limit = (seed + k) % len(ids) + 1
                check("truncated", ours(TEXT, truncation=True, max_length=limit)["input_ids"], ids[-limit:])
                check("plain", ours(TEXT, truncation=False, max_length=None)["input_ids"], ids)
                check("encode", ours.encode(TEXT), ids)
                check("offsets", ours(TEXT, return_offsets_mapping=True)["offset_mapping"], offsets)
                padded = ours([TEXT, "a"], padding=True)["input_ids"]
                check("padded", len(padded[1]), len(ids))
                check("decode", ours.decode(ids), decoded)
        except Exception as error:
            wrong.append(repr(error))

    decoded = theirs.decode(ids)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:5]


def test_one_line_says_what_is_active(model: str, log: pytest.LogCaptureFixture) -> None:
    from vllm.tokenizers import get_tokenizer

    get_tokenizer(model, tokenizer_mode="lopt")
    get_tokenizer(model, tokenizer_mode="lopt")
    messages = [record.getMessage() for record in log.records]
    assert len(messages) == 1
    for part in (model, "native route", "threads", "tokenizers ", "transformers ", "vLLM "):
        assert part in messages[0]


@pytest.mark.parametrize(
    ("name", "value", "said"), [("LOPT_ROUTE", "hf", "route is set"), ("LOPT_THREADS", "no", "LOPT_THREADS")]
)
def test_a_tokenizer_that_is_not_accelerated_stays_as_vllm_made_it(
    model: str,
    theirs: Any,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    said: str,
) -> None:
    from vllm.tokenizers import get_tokenizer

    monkeypatch.setenv(name, value)
    tokenizer = get_tokenizer(model, tokenizer_mode="lopt")
    assert not hasattr(tokenizer, "lopt")
    assert type(tokenizer).__name__ == type(theirs).__name__
    assert tokenizer(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
    assert any(said in record.getMessage() for record in log.records)


def test_fastokens_is_detected_and_logged(theirs: Any, log: pytest.LogCaptureFixture) -> None:
    shim = type("_TokenizerShim", (), {"__module__": "fastokens._compat"})()
    tokenizer = copy.copy(theirs)
    tokenizer._tokenizer = shim
    assert vllm_tokenizer.accelerated(tokenizer, shared=True) is tokenizer
    assert "fastokens has replaced its backend" in log.text


@pytest.mark.parametrize("version", ["0.99.0", "0.28.0", "dev", "0.24.0.post1+cpu", "0.32.0+cpu", "0.32.1"])
def test_log_names_the_tested_versions(
    theirs: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(vllm_tokenizer.acceleration, "engine_version", lambda: version)
    vllm_tokenizer.acceleration.log(theirs, "takes the native route", logging.INFO)
    tested = version.startswith(("0.24.0", "0.32.0"))
    assert f"vLLM {version}" in log.text
    assert ("tested with 0.24.0 and 0.32.0" not in log.text) == tested


def test_model_config_keeps_the_mode(model: str) -> None:
    from vllm.config import ModelConfig

    assert ModelConfig(model, tokenizer_mode="LOPT").tokenizer_mode == "lopt"
    assert ModelConfig(model, tokenizer_mode="hf").tokenizer_mode == "hf"
    assert ModelConfig(model).tokenizer_mode == "auto"


@pytest.mark.parametrize("mode", ["lopt", "auto", "hf"])
def test_architectures_with_a_mode_of_their_own(
    model: str, tmp_path: Path, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    from vllm.config import ModelConfig

    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, "")
    before = dict(os.environ)
    folder = shutil.copytree(model, tmp_path / "deepseek", ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "config.json").write_text(json.dumps(TINY_DEEPSEEK_V32))
    config = ModelConfig(str(folder), tokenizer_mode=mode)
    assert config.tokenizer_mode == ("hf" if mode == "hf" else "deepseek_v32")
    # vLLM's own modules set variables when they are imported first.
    after = {name: value for name, value in os.environ.items() if name in before or name.startswith("LOPT_")}
    assert after == before
    ours = [record.levelname for record in log.records if record.name == plugin.logger.name]  # others' may reach it too
    assert ours == (["WARNING"] if mode == "lopt" else [])
    if mode == "lopt":
        assert "DeepseekV32ForCausalLM" in log.text
        assert "'deepseek_v32'" in log.text


def test_only_the_model_that_asked_for_lopt_is_accelerated(
    registry: Any, model: str, theirs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm.config import ModelConfig

    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, "")
    folder = shutil.copytree(model, tmp_path / "deepseek", ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "config.json").write_text(json.dumps(TINY_DEEPSEEK_V32))
    asked, other, later = (
        ModelConfig(str(path), tokenizer_mode=mode)
        for path, mode in ((folder, "lopt"), (folder, "auto"), (model, "hf"))
    )
    for config, mode, is_ours in (
        (asked, "deepseek_v32", True),
        (copy.deepcopy(asked), "deepseek_v32", True),
        (other, "deepseek_v32", False),
        (later, "hf", False),
    ):
        renderer = registry.load_renderer(mode, SimpleNamespace(model_config=config), theirs)
        assert hasattr(renderer.tokenizer, "lopt") == is_ours


TINY_DEEPSEEK_V32 = {
    "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "vocab_size": 50_304, "hidden_size": 64,
    "intermediate_size": 128, "moe_intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "n_shared_experts": 1, "n_routed_experts": 4, "routed_scaling_factor": 2.5,
    "kv_lora_rank": 512, "q_lora_rank": 64, "qk_rope_head_dim": 64, "qk_nope_head_dim": 32, "v_head_dim": 32,
    "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "norm_topk_prob": True,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
    "rope_theta": 10_000, "index_head_dim": 32, "index_n_heads": 2, "index_topk": 64, "torch_dtype": "bfloat16",
    "hidden_act": "silu", "tie_word_embeddings": False, "num_nextn_predict_layers": 0,
}  # fmt: skip


class FakeRenderer:
    """Keeps what it is given."""

    def __init__(self, config: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer


@pytest.fixture
def registry(vllm: Any) -> Any:
    from vllm.renderers.registry import RendererRegistry

    names = ("hf", "lopt", "mistral", "deepseek_v32")
    return RendererRegistry({name: (__name__, f"{name.title()}Renderer") for name in names})


class HfRenderer(FakeRenderer): ...


class LoptRenderer(FakeRenderer): ...


class MistralRenderer(FakeRenderer): ...


class Deepseek_V32Renderer(FakeRenderer): ...  # noqa: N801


@pytest.fixture
def config(model: str) -> Any:
    return SimpleNamespace(
        model_config=SimpleNamespace(
            tokenizer=model,
            model=model,
            tokenizer_mode="lopt",
            runner_type="generate",
            tokenizer_revision=None,
            trust_remote_code=False,
        )
    )


@pytest.mark.parametrize("mode", ["hf", "deepseek_v32"])
def test_accelerate_variable_reaches_every_mode(
    registry: Any, config: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, "0")
    assert registry.load_renderer(mode, config, theirs).tokenizer is theirs
    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, "1")
    renderer = registry.load_renderer(mode, config, theirs)
    assert type(renderer).__name__.lower().startswith(mode)
    assert renderer.tokenizer.lopt.explain()["route"] == "native"
    assert renderer.tokenizer(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
    # The one that vLLM keeps for others is not touched, nor is its Rust tokenizer shared.
    assert not hasattr(theirs, "lopt")
    assert renderer.tokenizer._tokenizer is not theirs._tokenizer
    assert registry.load_renderer(mode, config, None).tokenizer is None


def test_mode_lopt_accelerates_a_tokenizer_loaded_without_its_class(registry: Any, config: Any, theirs: Any) -> None:
    renderer = registry.load_renderer("lopt", config, theirs)
    assert type(renderer) is LoptRenderer
    assert renderer.tokenizer.lopt.explain()["route"] == "native"


@pytest.mark.parametrize("mode", ["lopt", "hf"])
def test_calls_are_observed(
    registry: Any, config: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, "1" if mode == "hf" else "")
    assert registry.load_renderer(mode, config, theirs).tokenizer.lopt._runner.observer is metrics.observer()
    assert metrics.observer() is not None


@pytest.mark.parametrize("broken", ["accelerated", "observe", "_renderer_mode_under_auto", "freeze_calls"])
def test_after_our_error_vllm_keeps_its_own_tokenizer(
    registry: Any, config: Any, theirs: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(plugin, broken, fail)
    monkeypatch.setattr(FakeRenderer, "mm_processor", object(), raising=False)
    renderer = registry.load_renderer("lopt", config, theirs)
    assert type(renderer) is LoptRenderer
    assert not hasattr(renderer.tokenizer, "lopt")
    assert renderer.tokenizer(TEXT)["input_ids"] == theirs(TEXT)["input_ids"]
    assert "RuntimeError: a bug" in log.text


class Slots:
    """A tokenizer that has no hash, no weak references and no attributes."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    def name_or_path(self) -> str:
        raise RuntimeError("no name")


def test_a_strange_tokenizer_is_left_alone(registry: Any, config: Any, log: pytest.LogCaptureFixture) -> None:
    tokenizer = Slots()
    for _ in range(2):
        assert vllm_tokenizer.accelerated(tokenizer, shared=True) is tokenizer
        assert registry.load_renderer("lopt", config, tokenizer).tokenizer is tokenizer
    assert "Slots does not run on the tokenizers library" in log.text


def test_a_version_that_cannot_be_read(
    theirs: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.metadata

    def fail(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", fail)
    assert vllm_tokenizer.accelerated(theirs, shared=True).lopt.explain()["route"] == "native"


def test_register_never_raises(monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    class Broken(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("half an installation")

    monkeypatch.setitem(sys.modules, "vllm", Broken("vllm"))
    monkeypatch.setattr(plugin, "_register_mode", lambda: 1 / 0)
    plugin.register()
    assert "ZeroDivisionError" in log.text


def test_an_engine_unlike_the_ledger_is_reported_in_one_line(
    registry: Any, config: Any, theirs: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm.renderers.hf
    import vllm.tokenizers.registry

    def loaded() -> list[str]:
        registry.load_renderer("lopt", config, theirs)
        return [record.getMessage() for record in log.records if "differs from" in record.getMessage()]

    assert loaded() == []
    monkeypatch.setattr(vllm.renderers.hf.HfRenderer, "tokenize_prompts", lambda self, texts: None)
    resolve = vllm.tokenizers.registry.tokenizer_args_from_config
    monkeypatch.setattr(vllm.tokenizers.registry, "tokenizer_args_from_config", lambda *a, **k: resolve(*a, **k))
    (line,) = loaded()
    assert "HfRenderer.tokenize_prompts has the parameters ('self', 'texts'), not ('self', 'prompts', 'params')" in line
    assert "tokenizer_args_from_config has the parameters ('a',), not ('config',)" in line
    assert loaded() == [line]


def test_mistral_files_get_their_renderer(
    registry: Any, config: Any, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm.tokenizers.registry

    monkeypatch.setattr(vllm.tokenizers.registry, "tokenizer_args_from_config", lambda c: ("mistral", c.model, (), {}))
    tokenizer = type("MistralTokenizer", (), {})()
    renderer = registry.load_renderer("lopt", config, tokenizer)
    assert type(renderer) is MistralRenderer
    assert renderer.tokenizer is tokenizer
    assert "MistralTokenizer does not run on the tokenizers library" in log.text


def test_the_renderer_is_looked_up_with_all_arguments_of_vllm(
    registry: Any, config: Any, theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm.tokenizers.registry

    asked: list[Any] = []
    found = ("hf", config.model_config.tokenizer, (), {})
    monkeypatch.setattr(
        vllm.tokenizers.registry, "cached_resolve_tokenizer_args", lambda *a, **k: asked.append((a, k)) or found
    )
    config.model_config.code_revision = "def"
    registry.load_renderer("lopt", config, theirs)
    config.model_config.tokenizer_mode = "auto"
    vllm.tokenizers.registry.tokenizer_args_from_config(config.model_config)
    ours, vllms = asked
    assert ours == vllms


def test_deepseek_tokenizer_is_accelerated_with_its_template(model: str) -> None:
    from vllm.tokenizers import get_tokenizer

    theirs = get_tokenizer(model, tokenizer_mode="deepseek_v32")
    ours = vllm_tokenizer.accelerated(theirs, shared=True)
    messages = [{"role": "user", "content": TEXT}]
    assert ours.lopt.explain()["route"] == "native"
    for tokenize in (False, True):
        expected = theirs.apply_chat_template(messages, tokenize=tokenize)
        assert ours.apply_chat_template(messages, tokenize=tokenize) == expected
    assert ours.num_special_tokens_to_add() == theirs.num_special_tokens_to_add()
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    again = copy.deepcopy(ours)
    assert again.apply_chat_template(messages) == theirs.apply_chat_template(messages)
