"""vLLM's renderer for an accelerated tokenizer: less work around the ids, and the prompts of a list as one batch.

vLLM's own asks the tokenizer for one prompt at a time, with all columns of a BatchEncoding, copies the ids, and looks
for the smallest and the largest. The order of checks, and with it every error, stays vLLM's: texts are tokenized ahead
of their turn, and what fails then is done again when it comes up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vllm.renderers.hf import HfRenderer
from vllm.utils.async_utils import make_async

from ..call_arguments import NotPlainError
from .texts_ahead import TextsAhead

try:
    from ..native._core import ids_within
except ImportError:
    ids_within = None  # type: ignore[assignment]

# Key of a prompt's dict, never seen by the engine: the texts that its own is tokenized with, and its place there.
AHEAD = "_lopt_ahead"

# A text of so many characters takes less time than its way to a thread and back.
AT_ONCE_CHARS = 2048


class PromptsAhead(Sequence[Any]):
    """The prompts of `LLM.generate`; as they are gone through, those that are texts bring the texts ahead with them."""

    def __init__(self, prompts: Sequence[Any]) -> None:
        self._prompts = prompts

    def __len__(self) -> int:
        return len(self._prompts)

    def __getitem__(self, index: Any) -> Any:
        return self._prompts[index]

    def __iter__(self) -> Iterator[Any]:
        places = [place for place, prompt in enumerate(self._prompts) if type(prompt) is str]
        place_of = {place: number for number, place in enumerate(places)}
        ahead = TextsAhead([self._prompts[place] for place in places])
        for place, prompt in enumerate(self._prompts):
            number = place_of.get(place)
            yield prompt if number is None else {"prompt": prompt, AHEAD: (ahead, number)}


def with_texts_ahead(add_requests: Callable[..., Any]) -> Callable[..., Any]:
    """`LLM._add_completion_requests`, whose prompts are tokenized ahead of their turn."""

    def add_requests_ahead(self: Any, *args: Any, **kwargs: Any) -> Any:
        prompts = args[0] if args else kwargs.get("prompts")
        if (
            isinstance(self.renderer, LoptRenderer)
            and not self.model_config.is_encoder_decoder
            and isinstance(prompts, (list, tuple))
            and sum(type(prompt) is str for prompt in prompts) > 1
        ):
            if args:
                args = (PromptsAhead(prompts), *args[1:])
            else:
                kwargs["prompts"] = PromptsAhead(prompts)
        return add_requests(self, *args, **kwargs)

    return add_requests_ahead


class LoptRenderer(HfRenderer):  # type: ignore[misc]
    """`HfRenderer` for a tokenizer of lopt_plugin."""

    def __init__(self, config: Any, tokenizer: Any) -> None:
        super().__init__(config, tokenizer)
        # Set by vLLM's own __init__, or a method, depending on its version.
        self._tokenize_prompt_in_pool: Any = getattr(self, "_tokenize_prompt_async")  # noqa: B009
        self._tokenize_prompt_async = self._tokenize_prompt_ahead_async

    def tokenizes_as_vllm(self) -> bool:
        """Whether a prompt becomes the same here and by vLLM's own method, which may be a later one."""
        params = self.default_cmpl_tok_params
        prompt = {"prompt": "It's 1 text.", "cache_salt": "salt"}
        return bool(self._tokenize_prompt(dict(prompt), params) == super()._tokenize_prompt(dict(prompt), params))

    def _tokenize_prompt(self, prompt: Any, params: Any) -> Any:
        ids = self._ids_ahead(prompt, params)
        if ids is None:
            # A tokenizer class may do something of its own in one of its methods, and which is asked is vLLM's choice.
            if _wants_offsets(params) or not self.get_tokenizer()._lopt_direct:
                return super()._tokenize_prompt(prompt, params)
            ids = self.get_tokenizer().encode(prompt["prompt"], **params.get_encode_kwargs())
        return {"prompt_token_ids": ids, **prompt}

    async def _tokenize_prompt_ahead_async(self, prompt: Any, params: Any) -> Any:
        ids = self._ids_ahead(prompt, params)
        if ids is None:
            ids = self._ids_at_once(prompt["prompt"], params)
        if ids is None:
            return await self._tokenize_prompt_in_pool(prompt, params)
        return {"prompt_token_ids": ids, **prompt}

    def _ids_ahead(self, prompt: Any, params: Any) -> list[int] | None:
        ahead, place = prompt.pop(AHEAD, (None, 0))
        if ahead is None or _wants_offsets(params):
            return None
        ids: list[int] | None = ahead.take(place, prompt["prompt"], self.get_tokenizer(), params.get_encode_kwargs())
        return ids

    def _ids_at_once(self, text: str, params: Any) -> list[int] | None:
        """Ids of a short text that needs no HF call, for which the event loop need not wait for a thread."""
        tokenizer = self.get_tokenizer()
        kwargs = params.get_encode_kwargs()
        if (
            type(text) is str
            and len(text) <= AT_ONCE_CHARS
            and type(kwargs["add_special_tokens"]) is bool
            and not _wants_offsets(params)
            and tokenizer._lopt_direct
            and tokenizer.lopt.snapshot().native is not None
            and not tokenizer.lopt.settings.verify
        ):
            with contextlib.suppress(NotPlainError):
                ids: list[int] = tokenizer._lopt_encode_alone(text, **kwargs)
                return ids
        return None

    def tokenize_prompts(self, prompts: Sequence[Any], params: Any) -> list[Any]:
        """As in vLLM; texts are tokenized as one batch."""
        prompts, ahead = _with_texts_ahead(prompts)
        if ahead is not None and not _wants_offsets(params):
            ahead.prepare(self.get_tokenizer(), params.get_encode_kwargs())
        return list(super().tokenize_prompts(prompts, params))

    async def tokenize_prompts_async(self, prompts: Sequence[Any], params: Any) -> list[Any]:
        """As in vLLM; texts are tokenized as one batch."""
        prompts, ahead = _with_texts_ahead(prompts)
        if ahead is not None and not _wants_offsets(params):
            prepare = make_async(ahead.prepare, executor=self._executor)
            await prepare(self.get_tokenizer(), params.get_encode_kwargs())
        return list(await super().tokenize_prompts_async(prompts, params))

    def validate_token_ids(self, token_ids: Any, *args: Any, **kwargs: Any) -> None:
        """As in vLLM, which is asked only where an id is out of range, or is no int."""
        if type(token_ids) is list and ids_within is not None and self.tokenizer is not None:
            largest = max(self.tokenizer.max_token_id, self.model_config.get_vocab_size() - 1)
            if ids_within(token_ids, largest):
                return
        super().validate_token_ids(token_ids, *args, **kwargs)


def _wants_offsets(params: Any) -> bool:
    return bool(getattr(params, "return_token_offsets", False))


def _with_texts_ahead(prompts: Sequence[Any]) -> tuple[Sequence[Any], TextsAhead | None]:
    if len(prompts) < 2:
        return prompts, None
    places = [place for place, prompt in enumerate(prompts) if _is_text(prompt)]
    if len(places) < 2:
        return prompts, None
    ahead = TextsAhead([prompts[place]["prompt"] for place in places])
    # Copies: the dicts may be the caller's.
    with_texts = [dict(prompt) if _is_text(prompt) else prompt for prompt in prompts]
    for number, place in enumerate(places):
        with_texts[place][AHEAD] = (ahead, number)
    return with_texts, ahead


def _is_text(prompt: Any) -> bool:
    return (
        isinstance(prompt, dict)
        and type(prompt.get("prompt")) is str
        and AHEAD not in prompt
        and not {"prompt_token_ids", "prompt_embeds", "encoder_prompt"} & prompt.keys()
    )
