"""vLLM's modes with tokenizers of their own: LOPT_ACCELERATE=1 changes no id, and says what it did."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from required import module_or_skip

from lopt_plugin.cli.serving import tiny_model
from lopt_plugin.engines.vllm import plugin, tokenizer as vllm_tokenizer
from lopt_plugin.pipeline.split_patterns import KIMI, TEKKEN

tiktoken = module_or_skip("tiktoken", "LOPT_REQUIRE_VLLM")
PIECES = [*(bytes([byte]) for byte in range(256)), b"he", b"ll", b"hell", b"hello", b" h", b" hello", b"\n\n", b"12"]
CONTROL_TOKENS = [
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
]  # fmt: skip
TEXTS = [
    "",
    "hello hello",
    "It's 1234 [INST] naïve, 東京 \n\n  x",
    "<|im_msg_end|>hello",
    "a\ud83d",
    " " * 70 + "hello" * 500,
]
MESSAGES = [
    {"role": "system", "content": "hello"},
    {"role": "user", "content": "hello 1234, [INST]"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": "東京\n\n"},
]


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    """The plugin, registered with vLLM."""
    module_or_skip("vllm", "LOPT_REQUIRE_VLLM")
    plugin.register()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.LogCaptureFixture]:
    """What the plugin logs, and nothing logged before."""
    monkeypatch.setattr(vllm_tokenizer.acceleration, "_logged", set())
    caplog.set_level(logging.INFO, plugin.logger.name)
    plugin.logger.addHandler(caplog.handler)
    yield caplog
    plugin.logger.removeHandler(caplog.handler)


def tekken(folder: Path) -> Any:
    """VLLM's own tokenizer of the mode `mistral`, for a small vocabulary."""
    from vllm.tokenizers.mistral import MistralTokenizer

    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
        for rank, piece in enumerate(PIECES)
    ]
    control = [{"rank": rank, "token_str": token, "is_control": True} for rank, token in enumerate(CONTROL_TOKENS)]
    config = {
        "pattern": TEKKEN, "num_vocab_tokens": len(PIECES), "default_vocab_size": len(PIECES) + 100,
        "default_num_special_tokens": 100, "version": "v7",
    }  # fmt: skip
    parts = {"config": config, "vocab": vocabulary, "special_tokens": control}
    (folder / "tekken.json").write_text(json.dumps(parts))
    return MistralTokenizer.from_pretrained(folder)


def kimi_audio(folder: Path) -> Any:
    """VLLM's own tokenizer of the mode `kimi_audio`, for a small vocabulary."""
    from vllm.tokenizers.kimi_audio import KimiAudioTokenizer

    lines = [f"{base64.b64encode(piece).decode()} {rank}\n" for rank, piece in enumerate(PIECES)]
    (folder / "tiktoken.model").write_text("".join(lines))
    added = {
        "300": {"content": "<|im_msg_end|>"},
        "301": {"content": "<|im_media_begin|>"},
        "302": {"content": "<|other|>"},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    return KimiAudioTokenizer.from_pretrained(folder)


class PythonTokenizer:
    """As models ship them in their own code, with an encoding inside."""

    def __init__(self, pattern: str) -> None:
        ranks = {piece: rank for rank, piece in enumerate(PIECES)}
        self.model = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.model.encode(text, allowed_special="all")
        return ids


def loaded(mode: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, accelerate: str = "1") -> Any:
    """The tokenizer that the renderer of a mode gets."""
    from vllm.renderers.registry import RendererRegistry

    monkeypatch.setenv(plugin.ACCELERATE_VARIABLE, accelerate)
    registry = RendererRegistry({mode: (__name__, "FakeRenderer")})
    config = SimpleNamespace(model_config=SimpleNamespace())
    return registry.load_renderer(mode, config, tokenizer).tokenizer


class FakeRenderer:
    """Keeps what it is given."""

    def __init__(self, config: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer


def is_native(encoding: Any) -> bool:
    return encoding._lopt_encoder.explain()["calls"]["native"] > 0


def test_mistral(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    theirs, own = tekken(tmp_path), tekken(tmp_path)
    ours = loaded("mistral", own, monkeypatch)
    assert ours is own
    for text in TEXTS:
        for special in (False, True):
            assert ours.encode(text, add_special_tokens=special) == theirs.encode(text, add_special_tokens=special)
        assert ours.encode(text, truncation=True, max_length=3) == theirs.encode(text, truncation=True, max_length=3)
        assert ours(text)["input_ids"] == theirs(text)["input_ids"]
    for tokenize in (True, False):
        expected = theirs.apply_chat_template(MESSAGES, tokenize=tokenize)
        assert ours.apply_chat_template(MESSAGES, tokenize=tokenize) == expected
    assert ours.decode(ours.encode(TEXTS[2])) == theirs.decode(theirs.encode(TEXTS[2]))
    assert ours.get_vocab() == theirs.get_vocab()
    assert is_native(ours.tokenizer._model)
    assert "MistralTokenizer takes the native route inside its tiktoken encoding" in log.text
    encoding = ours.tokenizer._model
    assert loaded("mistral", ours, monkeypatch).tokenizer._model is encoding


def test_kimi_audio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = kimi_audio(tmp_path)
    ours = loaded("kimi_audio", kimi_audio(tmp_path), monkeypatch)
    for text in [*TEXTS, "<|im_msg_end|><|im_media_begin|>\n"]:
        assert ours.encode(text) == theirs.encode(text)
    for tokenizer in (theirs, ours):
        with pytest.raises(ValueError, match="disallowed special token '<"):
            tokenizer.encode("hello<|other|>")
    arguments = {"chat_template": "hello{% for _ in messages %}<|im_msg_end|>{% endfor %}", "tokenize": True}
    assert ours.apply_chat_template(MESSAGES, **arguments) == theirs.apply_chat_template(MESSAGES, **arguments)
    assert is_native(ours._tokenizer)
    calls = ours._tokenizer._lopt_encoder.explain()["tiktoken_calls"]
    assert calls == {"encode: tiktoken rejects the text or another argument": 1}


@pytest.mark.every_parameter
@pytest.mark.parametrize("mode", ["deepseek_v32", "deepseek_v4", "deepseek_v41"])
def test_deepseek(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    import vllm.tokenizers.registry as registry

    if mode not in registry._VLLM_TOKENIZERS:
        pytest.skip(f"this vLLM has no mode {mode}")
    folder = tiny_model.build(tmp_path, json.loads(corpus.tokenizer_json("tiny_deepseek_v3")))
    theirs = registry.get_tokenizer(str(folder), tokenizer_mode=mode)
    ours = loaded(mode, theirs, monkeypatch)
    messages = [{"role": "user", "content": "It's 12,345 東京 <think>\n\n  x"}]
    for tokenize in (False, True):
        expected = theirs.apply_chat_template(messages, tokenize=tokenize)
        assert ours.apply_chat_template(messages, tokenize=tokenize) == expected
    assert ours.encode(messages[0]["content"]) == theirs.encode(messages[0]["content"])
    assert ours.lopt.explain()["route"] == "native"
    assert ours.lopt.explain()["calls"]["native"] > 0
    assert "takes the native route, up to" in log.text


def test_a_tokenizer_of_the_model_itself(monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    ours = loaded("hf", PythonTokenizer(TEKKEN), monkeypatch)
    assert ours.encode("hello 12") == PythonTokenizer(TEKKEN).encode("hello 12")
    assert is_native(ours.model)
    ours = loaded("hf", PythonTokenizer(KIMI), monkeypatch)
    assert ours.encode("hello 12中〇⺀!") == PythonTokenizer(KIMI).encode("hello 12中〇⺀!")
    assert is_native(ours.model)
    kept = PythonTokenizer(r"[\p{Han}]+|\p{L}+|\P{L}+")
    encoding = kept.model
    assert loaded("hf", kept, monkeypatch).model is encoding
    (line,) = {record.getMessage() for record in log.records if record.levelno == logging.WARNING}
    assert "PythonTokenizer does not run on the tokenizers library; its tiktoken encoding is not native" in line
    assert "is not on the allow-list" in line


def test_without_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = loaded("mistral", tekken(tmp_path), monkeypatch, accelerate="0")
    assert type(tokenizer.tokenizer._model) is tiktoken.Encoding


def test_another_tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(tiktoken.Encoding, "encode", lambda self, text, bytes_too=False: [])
    own = tekken(tmp_path)
    assert type(loaded("mistral", own, monkeypatch).tokenizer._model) is tiktoken.Encoding
    assert "Encoding.encode has the parameters ('self', 'text', 'bytes_too')" in log.text


def test_the_encoding_is_still_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tekken(tmp_path).tokenizer._model
    ours = loaded("mistral", tekken(tmp_path), monkeypatch).tokenizer._model
    for encoding in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert isinstance(encoding, tiktoken.Encoding)
        assert encoding.encode_batch(["hello 12", "hello"]) == plain.encode_batch(["hello 12", "hello"])
        assert encoding.encode_ordinary("hello 12") == plain.encode_ordinary("hello 12")
        assert encoding.n_vocab == plain.n_vocab
        assert encoding.decode(encoding.encode("東京")) == "東京"
        assert is_native(encoding)
    with pytest.raises(TypeError):
        ours.encode(5)
