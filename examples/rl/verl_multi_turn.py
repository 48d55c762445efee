"""A multi-turn rollout in the style of verl's agent loop (`verl.experimental.agent_loop.AgentLoopBase.run`).

verl needs GPUs and its own servers, so this has not run inside verl. `Rollout` has those fields of verl's
`AgentLoopOutput` that concern ids, and `Server` has the methods of its server manager. In verl, derive the loop from
`AgentLoopBase`, and return an `AgentLoopOutput`.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))

from conversation import Conversation

Message = dict[str, str]


class Server(Protocol):
    """What samples ids; the same request goes to the same server, whose cache knows its beginning."""

    async def generate(self, *, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        """An object whose `token_ids` are those sampled after `prompt_ids`."""


@dataclass
class Rollout:
    """response_mask: 1 for each id of the response that was sampled, 0 for those of the environment."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    num_turns: int
    drifted: bool


class MultiTurnLoop:
    """One loop per rollout. `respond` is the environment: the messages after an answer; none ends the rollout."""

    def __init__(
        self,
        tokenizer: Any,
        server: Server,
        respond: Callable[[Message], Awaitable[list[Message]]],
        response_length: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._server = server
        self._respond = respond
        self._response_length = response_length

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Rollout:
        """`raw_prompt` of `kwargs` has the messages."""
        chat = Conversation(self._tokenizer, list(kwargs["raw_prompt"]))
        prompt, request_id = len(chat.ids), uuid.uuid4().hex
        while True:
            sampled = await self._server.generate(
                request_id=request_id, prompt_ids=chat.ids, sampling_params=sampling_params
            )
            chat.add_answer(sampled.token_ids)
            after = await self._respond(chat.messages[-1])
            if not after or len(chat.ids) - prompt >= self._response_length:
                break
            chat.add(after)
        end = prompt + self._response_length
        return Rollout(
            chat.ids[:prompt], chat.ids[prompt:end], chat.sampled[prompt:end], len(chat.messages), chat.drifted()
        )
