"""examples/rl/trl_multi_turn.py in TRL's own GRPOTrainer: after each turn, the ids of the whole conversation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import corpus
from required import skip_without
from transformers import PreTrainedTokenizerFast

import lopt_plugin

skip_without("trl", "LOPT_REQUIRE_TRL")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "rl"))

import trl_multi_turn  # noqa: E402

TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def test_two_steps(tmp_path: Path) -> None:
    special = {"eos_token": "<|end|>", "pad_token": "<|end|>", "chat_template": TEMPLATE}
    hf = PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"), **special)
    seen: list[int] = []

    def watch(chat: Any) -> None:
        text = chat._growing.text
        assert chat.retokenized() == hf(text, add_special_tokens=False)["input_ids"]
        assert len(chat.ids) == len(chat.sampled)
        assert hf.decode(chat.ids) == text
        seen.append(len(chat.messages))

    trainer = trl_multi_turn.train(lopt_plugin.accelerate(hf), 2, 3, watch, str(tmp_path))
    assert seen == 4 * [2, 3, 4, 5, 6]
    assert trainer.state.global_step == 2
