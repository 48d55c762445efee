"""Models that the tests need beside the demo's: a LoRA adapter, a cross-encoder, a captioner of images. All random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import corpus


def lora_adapter(out: Path, hidden: int, layers: int) -> Path:
    """A LoRA of the query projections, with a tokenizer of its own: not that of the demo's model."""
    import torch
    from safetensors.torch import save_file

    out.mkdir()
    rank = 8
    generator = torch.Generator().manual_seed(1)
    weights = {}
    for layer in range(layers):
        prefix = f"base_model.model.model.layers.{layer}.self_attn.q_proj."
        weights[prefix + "lora_A.weight"] = torch.randn(rank, hidden, generator=generator)
        weights[prefix + "lora_B.weight"] = torch.randn(hidden, rank, generator=generator)
    save_file(weights, out / "adapter_model.safetensors")
    adapter = {"peft_type": "LORA", "r": rank, "lora_alpha": 16, "target_modules": ["q_proj"], "task_type": "CAUSAL_LM"}
    _write(out / "adapter_config.json", adapter | {"bias": "none", "modules_to_save": None})
    (out / "tokenizer.json").write_text(corpus.tokenizer_json("tiny_o200k"), encoding="utf-8")
    _write(out / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    return out


def cross_encoder(out: Path) -> Path:
    """A BERT that scores pairs, whose scores depend on which text a token belongs to."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30_522, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
        max_position_embeddings=512, num_labels=1, initializer_range=0.3,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(out)
    (out / "tokenizer.json").write_text(corpus.tokenizer_json("bert_base_uncased"), encoding="utf-8")
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")}
    _write(out / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "model_max_length": 512} | special)
    return out


def captioner(out: Path) -> Path:
    """A BLIP-2, without weights. Its processor adds `<image>` again, with other flags than tokenizer.json has."""
    out.mkdir()
    tokenizer = json.loads(corpus.tokenizer_json("tiny_qwen2"))
    image_id = max([*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]) + 1
    flags = {"single_word": False, "lstrip": True, "rstrip": False, "normalized": True, "special": False}
    tokenizer["added_tokens"].append({"id": image_id, "content": "<image>"} | flags)
    end = "<|endoftext|>"
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = {"model_type": "blip_2_vision_model", "image_size": 28, "patch_size": 14} | sizes
    queries = {"model_type": "blip_2_qformer", "encoder_hidden_size": 64, "cross_attention_frequency": 1} | sizes
    text = {
        "model_type": "opt", "architectures": ["OPTForCausalLM"], "vocab_size": image_id + 8, "hidden_size": 64,
        "ffn_dim": 128, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 512,
        "word_embed_proj_dim": 64,
    }  # fmt: skip
    _write(
        out / "config.json",
        {
            "architectures": ["Blip2ForConditionalGeneration"],
            "model_type": "blip-2",
            "num_query_tokens": 4,
            "image_token_index": image_id,
            "use_decoder_only_language_model": True,
            "vision_config": vision,
            "qformer_config": queries,
            "text_config": text,
            "torch_dtype": "float32",
        },
    )
    size = {"height": 28, "width": 28}
    _write(out / "preprocessor_config.json", {"image_processor_type": "BlipImageProcessor", "size": size})
    _write(out / "processor_config.json", {"processor_class": "Blip2Processor", "num_query_tokens": 4})
    _write(out / "tokenizer.json", tokenizer)
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": end, "eos_token": end}
    _write(out / "tokenizer_config.json", names | {"model_max_length": 512})
    return out


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
