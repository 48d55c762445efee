"""vLLM's renderer for an accelerated tokenizer: less work around the ids, and the prompts of a list as one batch.

vLLM's own asks the tokenizer for one prompt at a time, with all columns of a BatchEncoding, copies the ids, and looks
for the smallest and the largest. The order of checks, and with it every error, stays vLLM's: texts are tokenized ahead
of their turn, and what fails then is done again when it comes up.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from vllm.renderers.hf import HfRenderer
from vllm.utils.async_utils import make_async

from ..call_arguments import NotPlainError
from ..rows_ahead import RowsAhead

try:
    from ..native._core import ids_within
except ImportError:
    ids_within = None  # type: ignore[assignment]

# Key of a prompt's dict, never seen by the engine: the texts that its own is tokenized with, and its place there.
AHEAD = "_lopt_ahead"

# A text of so many characters takes less time than its way to a thread and back.
AT_ONCE_CHARS = 2048

# A list is tokenized piece by piece: so many ids are kept until they are asked for.
LARGEST_PIECE = 512
LARGEST_PIECE_CHARS = 1 << 21


class Piece(NamedTuple):
    """Texts from the place `first` on, up to `end`; `take` gives the ids of one, once, or None if it has none."""

    first: int
    end: int
    take: Callable[[int], list[int] | None]


class TextsAhead:
    """Texts to tokenize together: all at once by `prepare`, or, by `take`, while the ids of those before are used."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._piece = Piece(0, 0, _nothing)
        self._next: Piece | None = None
        self._kwargs: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def take(self, place: int, text: str, tokenizer: Any, kwargs: dict[str, Any]) -> list[int] | None:
        """Ids of the text at that place, once; None where it has to be tokenized by itself."""
        # vLLM may have cut the text, or made it lower case.
        if self._texts[place] is not text:
            return None
        with self._lock:
            if place >= self._piece.end:
                begun, self._next = self._next, None
                if begun is None or kwargs != self._kwargs or not begun.first <= place < begun.end:
                    begun = self._begun(place, tokenizer, kwargs)
                self._piece = begun
                self._kwargs = kwargs
                if begun.end < len(self._texts):
                    self._next = self._begun(begun.end, tokenizer, kwargs)
            return self._piece.take(place) if kwargs == self._kwargs else None

    def prepare(self, tokenizer: Any, kwargs: dict[str, Any]) -> None:
        """Tokenizes all texts; for who wants that in a thread of its own choice."""
        with self._lock:
            if self._piece.end == 0:
                ids: dict[int, list[int]] = {}
                end = 0
                while end < len(self._texts):
                    places, end = self._places(end, tokenizer)
                    ids |= self._tokenized(places, tokenizer, kwargs)
                self._piece = Piece(0, end, _once(ids))
                self._kwargs = kwargs

    def _begun(self, first: int, tokenizer: Any, kwargs: dict[str, Any]) -> Piece:
        places, end = self._places(first, tokenizer)
        if not places:
            return Piece(first, end, _nothing)
        rows: RowsAhead | None = tokenizer._lopt_encode_ahead([self._texts[place] for place in places], **kwargs)
        if rows is None:
            return Piece(first, end, _once(self._tokenized(places, tokenizer, kwargs)))
        row_of = {place: row for row, place in enumerate(places)}

        def take(place: int) -> list[int] | None:
            row = row_of.pop(place, None)
            return None if row is None else rows.take(row)

        return Piece(first, end, take)

    def _places(self, first: int, tokenizer: Any) -> tuple[list[int], int]:
        """Places of the texts of a piece that are tokenized together, and where it ends."""
        # Longer ones take all threads by themselves, and one that is too long for the model must not be tokenized.
        longest = tokenizer.lopt.settings.parallel_min_chars
        places: list[int] = []
        chars = 0
        end = first
        while end < len(self._texts) and len(places) < LARGEST_PIECE and chars < LARGEST_PIECE_CHARS:
            length = len(self._texts[end])
            if length < longest:
                places.append(end)
                chars += length
            end += 1
        together = len(places) > 1 and tokenizer._lopt_direct and tokenizer.lopt.snapshot().native is not None
        return (places if together else []), end

    def _tokenized(self, places: Sequence[int], tokenizer: Any, kwargs: dict[str, Any]) -> dict[int, list[int]]:
        if not places:
            return {}
        try:
            rows = tokenizer(
                [self._texts[place] for place in places],
                return_attention_mask=False,
                return_token_type_ids=False,
                **kwargs,
            )["input_ids"]
        except Exception:
            # One of them is at fault, and is told so when it comes up.
            return {}
        return dict(zip(places, rows, strict=True))


def _nothing(place: int) -> list[int] | None:
    return None


def _once(ids: dict[int, list[int]]) -> Callable[[int], list[int] | None]:
    return lambda place: ids.pop(place, None)


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
