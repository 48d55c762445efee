"""examples/rl/verl_multi_turn.py with a server that answers what it is given: ids of the whole conversation."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import corpus
import pytest
from transformers import PreTrainedTokenizerFast

import lopt_plugin

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "rl"))

from conversation import Conversation
from verl_multi_turn import MultiTurnLoop, Rollout

TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
QUESTION = {"role": "user", "content": "Which number?"}


def hugging_face() -> Any:
    special = {"eos_token": "<|end|>", "chat_template": TEMPLATE}
    return PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"), **special)


def rollout(answers: list[list[int]], response_length: int = 1000) -> Rollout:
    """Its prompts are checked: each is what was sampled before, and the text that the template writes."""
    hf, left, prompts = hugging_face(), list(answers), []

    async def generate(request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> SimpleNamespace:
        prompts.append(list(prompt_ids))
        return SimpleNamespace(token_ids=left.pop(0))

    async def respond(answer: dict[str, str]) -> list[dict[str, str]]:
        return [{"role": "tool", "content": f"not {answer['content']}"}] if left else []

    server = SimpleNamespace(generate=generate)
    loop = MultiTurnLoop(lopt_plugin.accelerate(hf), server, respond, response_length)
    made = asyncio.run(loop.run({}, raw_prompt=[QUESTION]))
    messages, ids = [QUESTION], []
    for prompt, answer in zip(prompts, answers, strict=False):
        rendered = hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert hf.decode(prompt) == rendered
        assert prompt[: len(ids)] == ids
        ids = [*prompt, *answer]
        messages.append({"role": "assistant", "content": hf.decode(answer).removesuffix("<|end|>")})
        messages.append({"role": "tool", "content": f"not {messages[-1]['content']}"})
    retokenized = hf(hf.decode(ids), add_special_tokens=False)["input_ids"]
    assert made.drifted == (retokenized != ids)
    assert made.prompt_ids + made.response_ids == ids[: len(prompts[0]) + response_length]
    assert len(made.response_mask) == len(made.response_ids)
    assert made.num_turns == 2 * len(prompts)
    return made


def test_answers_in_tokens_of_the_tokenizer() -> None:
    hf = hugging_face()
    answers = [hf(text, add_special_tokens=False)["input_ids"] for text in ("It is 12<|end|>", "é中", "13<|end|>")]
    made = rollout(answers)
    assert not made.drifted
    assert sum(made.response_mask) == sum(map(len, answers))
    assert rollout(answers, response_length=len(answers[0])).response_ids == answers[0]


def test_an_answer_in_other_tokens() -> None:
    hf = hugging_face()
    letters = [number for letter in "Hello world" for number in hf(letter, add_special_tokens=False)["input_ids"]]
    assert rollout([letters, letters]).drifted


def test_a_template_that_changes_earlier_turns() -> None:
    tokenizer = lopt_plugin.accelerate(hugging_face())
    tokenizer.chat_template = "{{ messages | length }}" + TEMPLATE
    chat = Conversation(tokenizer, [QUESTION])
    with pytest.raises(ValueError, match="does not render a longer conversation"):
        chat.add([QUESTION])
