"""The state of Hugging Face components, as in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import tokenizers

State = dict[str, Any]


class Unsupported(Exception):  # noqa: N818 - a reason, not an error
    """Why a tokenizer is left to Hugging Face, naming the component."""


def states_of(tokenizer: tokenizers.Tokenizer) -> list[State | None]:
    """States of the normalizer, the pre-tokenizer and the post-processor, in this order. Raises Unsupported."""
    kinds = ("normalizer", "pre-tokenizer", "post-processor")
    return [state_of(getattr(tokenizer, kind.replace("-", "_")), kind) for kind in kinds]


def state_of(component: Any, kind: str) -> State | None:
    """The component's JSON; None if there is no component. Raises Unsupported.

    A component's pickled state is its part of `Tokenizer.to_str()`, without the cost of writing the model.
    """
    if component is None:
        return None
    try:
        state = json.loads(component.__getstate__())
    except Exception as error:  # custom components, written in Python, refuse
        raise Unsupported(f"{kind} cannot be read: {error}") from error
    if not isinstance(state, dict):
        raise Unsupported(f"{kind} {state!r} is not known")
    return state


def steps_of(state: State | None, key: str) -> list[State]:
    """The steps of a component in order; a Sequence is replaced by its parts, which are under `key`."""
    if state is None:
        return []
    if state.get("type") != "Sequence":
        return [state]
    return [step for part in state[key] for step in steps_of(part, key)]


def check_step(step: State, known: Mapping[str, set[str]], kind: str) -> str:
    """The step's type, one of `known`, each with its options. Raises Unsupported for other types and options."""
    name = str(step.get("type"))
    if name not in known:
        raise Unsupported(f"{kind} {name} is not accelerated yet")
    check_options(step, known[name], kind)
    return name


def check_options(state: State, known: set[str], kind: str) -> None:
    """Raises Unsupported if the component has an option, perhaps new in `tokenizers`, that this code does not know."""
    unknown = sorted(state.keys() - known - {"type"})
    if unknown:
        raise Unsupported(f"{kind} {state.get('type')} has unknown options: {', '.join(unknown)}")


def tokenizer_with(model: Any, states: dict[str, str | bytes | None]) -> tokenizers.Tokenizer:
    """A new tokenizer of a model, which it shares, and components ("normalizer", ...), each from its JSON."""
    parts = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    parts.update((name, None if state is None else json.loads(state)) for name, state in states.items())
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(parts))
    tokenizer.model = model
    return tokenizer


def added_tokens_of(tokenizer: tokenizers.Tokenizer) -> dict[int, tokenizers.AddedToken]:
    """Added tokens by id. `special` is true of each that Hugging Face takes for special, not only where it says so.

    It keeps the contents of special tokens in a set, which a token does not leave when it is added again with
    `special=False` (`added_vocabulary.rs`, `add_tokens`). The caller holds the backend's lock.
    """
    by_id: dict[int, tokenizers.AddedToken] = tokenizer.get_added_tokens_decoder()
    names = {number: tokenizer.id_to_token(number) for number in by_id}
    if "" in names.values():
        # With an empty token, `encode` may panic or allocate without end. No such tokenizer is native.
        return by_id
    # Decoding compares the token's string, which is not the content in the set if the normalizer changed it.
    compared = []
    for number, token in by_id.items():
        if token.special:
            continue
        if names[number] == token.content:
            compared.append(number)
        else:
            token.special = _is_text(tokenizer, number, token.content)
    if some_are_skipped(tokenizer, compared):
        for number in compared:
            by_id[number].special = some_are_skipped(tokenizer, [number])
    return by_id


def some_are_skipped(tokenizer: tokenizers.Tokenizer, ids: list[int]) -> bool:
    """Whether some of the ids have no text when special tokens are skipped."""
    # Repeated, because some decoders take all characters off a token that is the first one.
    skipped, shown = (tokenizer.decode(ids * 2, skip_special_tokens=skip) for skip in (True, False))
    return bool(skipped != shown)


def _is_text(tokenizer: tokenizers.Tokenizer, number: int, content: str) -> bool:
    """Whether an added token's content is this token, but text when special tokens are split."""
    before = tokenizer.encode_special_tokens

    def ids(split: bool) -> list[int]:
        tokenizer.encode_special_tokens = split
        encoding = tokenizer.encode(content, add_special_tokens=False)
        return [found for found, kept in zip(encoding.ids, encoding.attention_mask, strict=True) if kept]

    try:
        found = ids(split=False)
        return number in found and found != ids(split=True)
    finally:
        tokenizer.encode_special_tokens = before


def add_again(tokenizer: tokenizers.Tokenizer, by_id: dict[int, tokenizers.AddedToken]) -> bool:
    """Adds another tokenizer's added tokens, and returns whether they got the same ids and flags."""
    tokenizer.add_tokens([token for _, token in sorted(by_id.items())])
    found = tokenizer.get_added_tokens_decoder()
    return {i: t.__getstate__() for i, t in found.items()} == {i: t.__getstate__() for i, t in by_id.items()}
