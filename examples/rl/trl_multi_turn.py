"""Multi-turn rollouts for TRL's GRPOTrainer, through its `rollout_func`, on a tiny random model.

    pip install lopt-plugin trl
    python examples/rl/trl_multi_turn.py TOKENIZER [--steps 2] [--turns 3]

The model guesses, and the environment answers. After each turn the whole conversation's ids are known, both as sampled
and as tokenized again, at the cost of the turn's own text.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from conversation import Conversation
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

import lopt_plugin

MOST_NEW_TOKENS = 12
Watch = Callable[[Conversation], None]


def rollouts(turns: int, watch: Watch) -> Callable[[list[Any], Any], dict[str, Any]]:
    """A `rollout_func` with that many answers per rollout. `watch` gets the conversation after each turn."""

    def rollout_func(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        # TRL passes each prompt once per generation.
        made = [rollout(prompt, trainer) for prompt in prompts]
        return {name: [one[name] for one in made] for name in made[0]} | {"logprobs": None}

    def rollout(messages: list[dict[str, str]], trainer: Any) -> dict[str, Any]:
        chat = Conversation(trainer.processing_class, messages)
        prompt = len(chat.ids)
        for turn in range(turns):
            if turn > 0:
                chat.add([{"role": "user", "content": f"Wrong, that has {len(chat.messages[-1]['content'])} letters."}])
                watch(chat)
            chat.add_answer(_sample(trainer, chat.ids))
            watch(chat)
        # The loss is about what was sampled only.
        return {
            "prompt_ids": chat.ids[:prompt],
            "completion_ids": chat.ids[prompt:],
            "env_mask": chat.sampled[prompt:],
            "drifted": chat.drifted(),
        }

    return rollout_func


def _sample(trainer: Any, ids: list[int]) -> list[int]:
    model = trainer.accelerator.unwrap_model(trainer.model)
    given = torch.tensor([ids], device=model.device)
    with torch.no_grad():
        made = model.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=MOST_NEW_TOKENS, do_sample=True
        )
    answer: list[int] = made[0, len(ids) :].tolist()
    return answer


def train(tokenizer: Any, steps: int, turns: int, watch: Watch, folder: str) -> Any:
    """Trains a tiny random model; returns the trainer. `tokenizer` has a chat template, an end and a padding token."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    prompts = [[{"role": "user", "content": f"I think of a number below {limit}."}] for limit in (10, 100, 1000, 9)]
    trainer = GRPOTrainer(
        LlamaForCausalLM(config),
        lambda completions, drifted, **_: [-float(one) for one in drifted],
        args=GRPOConfig(
            folder, per_device_train_batch_size=2, num_generations=2, max_steps=steps, max_completion_length=512,
            report_to=[], save_strategy="no", use_cpu=not torch.cuda.is_available(), logging_steps=1,
        ),
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=tokenizer,
        rollout_func=rollouts(turns, watch),
    )  # fmt: skip
    trainer.train()
    return trainer


def main() -> None:
    """Trains, and prints how many rollouts drifted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="folder or name of a tokenizer with a chat template")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    tokenizer = lopt_plugin.from_pretrained(given.tokenizer)
    drifted: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        train(tokenizer, given.steps, given.turns, lambda chat: drifted.append(chat.drifted()), folder)
    print(f"{len(drifted)} turns; in {sum(drifted)} of them the text has other ids than were sampled")


if __name__ == "__main__":
    main()
