"""A Qwen3 with random weights (2 layers, hidden size 64), so that an engine can run a prompt of any tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HIDDEN, INNER, LAYERS, HEADS, KEY_VALUE_HEADS, HEAD_DIM = 64, 128, 2, 2, 1, 32
MAX_MODEL_LEN = 131_072

# The format of Qwen's prompts, without tools and thinking.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(out: Path, tokenizer_json: dict[str, Any]) -> Path:
    """Writes the model, this tokenizer and a chat template to the folder `out`; returns the folder."""
    added = {token["content"]: token["id"] for token in tokenizer_json["added_tokens"]}
    ids = [*tokenizer_json["model"]["vocab"].values(), *added.values()]
    end = next((t for t in ("<|im_end|>", "<|endoftext|>", "</s>") if t in added), next(iter(added), None))
    write_model(out, max(ids), None if end is None else added[end])
    write_tokenizer(out, json.dumps(tokenizer_json, ensure_ascii=False), end)
    return out


def write_tokenizer(out: Path, tokenizer_json: str, end: str | None) -> None:
    """Writes tokenizer.json and a tokenizer_config.json with a chat template to the folder `out`."""
    (out / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
    _write(
        out / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_MODEL_LEN,
            "eos_token": end,
            "pad_token": end,
            "chat_template": CHAT_TEMPLATE,
        },
    )


def write_model(out: Path, largest_id: int, end_id: int | None) -> None:
    """Creates the folder `out`, with config.json, generation_config.json and model.safetensors."""
    out.mkdir(parents=True, exist_ok=True)
    vocabulary_size = -(-(largest_id + 1) // 64) * 64
    _write(out / "generation_config.json", {"eos_token_id": end_id, "pad_token_id": end_id})
    _write(out / "config.json", _config(vocabulary_size, end_id))
    _write_weights(out / "model.safetensors", vocabulary_size)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _config(vocabulary_size: int, end_id: int | None) -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": vocabulary_size,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": MAX_MODEL_LEN,
        "rope_theta": 1e6,
        "tie_word_embeddings": True,
        "eos_token_id": end_id,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "torch_dtype": "bfloat16",
        # As in Qwen3's own config.json; without it, transformers warns of a defect in Mistral's tokenizers.
        "transformers_version": "4.51.0",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_cache": True,
        "initializer_range": 0.02,
        "sliding_window": None,
        "use_sliding_window": False,
        "max_window_layers": LAYERS,
    }


def _write_weights(path: Path, vocabulary_size: int) -> None:
    import torch
    from safetensors.torch import save_file

    shapes: dict[str, tuple[int, ...]] = {"embed_tokens": (vocabulary_size, HIDDEN), "norm": (HIDDEN,)}
    for layer in range(LAYERS):
        of_layer = {
            "self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
            "self_attn.k_proj": (KEY_VALUE_HEADS * HEAD_DIM, HIDDEN),
            "self_attn.v_proj": (KEY_VALUE_HEADS * HEAD_DIM, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
            "self_attn.q_norm": (HEAD_DIM,),
            "self_attn.k_norm": (HEAD_DIM,),
            "mlp.gate_proj": (INNER, HIDDEN),
            "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
            "input_layernorm": (HIDDEN,),
            "post_attention_layernorm": (HIDDEN,),
        }
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in of_layer.items()}
    generator = torch.Generator().manual_seed(0)

    def values(shape: tuple[int, ...]) -> torch.Tensor:
        # The vectors are scales of norms.
        return torch.ones(shape) if len(shape) == 1 else torch.randn(shape, generator=generator) * 0.02

    weights = {f"model.{name}.weight": values(shape).to(torch.bfloat16) for name, shape in shapes.items()}
    save_file(weights, path, metadata={"format": "pt"})
