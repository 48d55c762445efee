"""A conversation of an RL rollout: the ids that the model gets and samples, and the ids of its text tokenized again.

The sampled ids are kept unchanged, because the loss is computed on them. The text of the same conversation may have
different ids: a model may sample a word in pieces that the tokenizer would join. Loops that check this (verl has
`tokenization_sanity_check_mode`) tokenize the whole conversation again. `incremental` does that at the cost of each
turn's own text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Conversation:
    """One rollout.

    ids: what the model gets next. sampled: for each of them, 1 if the model sampled it. messages: the same as messages.
    """

    def __init__(self, tokenizer: Any, messages: Sequence[dict[str, str]]) -> None:
        """`tokenizer` is accelerated, and has a chat template."""
        self._tokenizer = tokenizer
        self._growing = tokenizer.lopt.incremental(add_special_tokens=False)
        self._retokenized: list[int] = []
        self.messages: list[dict[str, str]] = []
        self.ids: list[int] = []
        self.sampled: list[int] = []
        self.add(messages)

    def add(self, messages: Sequence[dict[str, str]]) -> None:
        """Adds messages of the user, the environment or a tool, and the template's beginning of an answer.

        Raises ValueError if the template renders the earlier messages differently.
        """
        self.messages += messages
        rendered = self._tokenizer.apply_chat_template(self.messages, tokenize=False, add_generation_prompt=True)
        before = self._growing.text
        if not rendered.startswith(before):
            raise ValueError("the chat template does not render a longer conversation as the shorter one and more text")
        text = rendered[len(before) :]
        self._growing.append(text)
        self._append(self._tokenizer.lopt.encode_list(text, add_special_tokens=False), 0)

    def add_answer(self, ids: Sequence[int]) -> None:
        """Adds what the model sampled, its end token included."""
        text = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        self._growing.append(text)
        self.messages.append({"role": "assistant", "content": text.removesuffix(self._tokenizer.eos_token)})
        self._append(ids, 1)

    def retokenized(self) -> list[int]:
        """The ids of the whole conversation's text; not to be changed."""
        self._growing.update(self._retokenized)
        return self._retokenized

    def drifted(self) -> bool:
        """Whether the ids of the text differ from those that the model got and sampled."""
        return self.ids != self.retokenized()

    def _append(self, ids: Sequence[int], sampled: int) -> None:
        self.ids += ids
        self.sampled += [sampled] * len(ids)
