"""A Qwen3 with random weights (2 layers, hidden size 64), so that an engine can run prompts with any tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HIDDEN, LAYERS = 64, 2
MAX_MODEL_LEN = 131_072

# Qwen's prompt format, without tools and thinking.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(out: Path, tokenizer_json: dict[str, Any]) -> Path:
    """Writes the model, this tokenizer and a chat template to the folder `out`; returns the folder."""
    from tokenizers import Tokenizer
    from transformers import GenerationConfig, Qwen3Config

    text = json.dumps(tokenizer_json)
    largest_id = max(Tokenizer.from_str(text).get_vocab().values(), default=0)
    added = {token["content"]: token["id"] for token in tokenizer_json.get("added_tokens", [])}
    end = next((t for t in ("<|im_end|>", "<|endoftext|>", "</s>") if t in added), next(iter(added), None))
    end_id = None if end is None else added[end]
    config = Qwen3Config(
        architectures=["Qwen3ForCausalLM"],
        vocab_size=-(-(largest_id + 1) // 64) * 64,
        hidden_size=HIDDEN,
        intermediate_size=128,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=MAX_MODEL_LEN,
        tie_word_embeddings=True,
        eos_token_id=end_id,
    )
    config.save_pretrained(out)
    _write_weights(out, config)
    GenerationConfig(eos_token_id=end_id, pad_token_id=end_id).save_pretrained(out)
    (out / "tokenizer.json").write_text(text, encoding="utf-8")
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_MODEL_LEN,
        "eos_token": end,
        "pad_token": end,
        "chat_template": CHAT_TEMPLATE,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=1), encoding="utf-8")
    return out


def _write_weights(out: Path, config: Any) -> None:
    import torch
    from transformers import Qwen3ForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(0)
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(out)
