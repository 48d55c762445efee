"""The state of a Hugging Face component, as it stands in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .unsupported import Unsupported

State = dict[str, Any]


def state_of(component: Any, kind: str) -> State | Unsupported | None:
    """The component's JSON; None where there is no component.

    A component's pickled state is its part of `Tokenizer.to_str()`, without the cost of writing out the model.
    """
    if component is None:
        return None
    try:
        state = json.loads(component.__getstate__())
    except Exception as error:  # custom components, written in Python, refuse
        return Unsupported(f"{kind} cannot be read: {error}")
    return state if isinstance(state, dict) else Unsupported(f"{kind} {state!r} is not known")


def flattened(state: State, parts: str) -> Iterator[State]:
    """The steps of a component in order; those of Sequences, under the key `parts`, take the Sequence's place."""
    if state.get("type") == "Sequence":
        for part in state[parts]:
            yield from flattened(part, parts)
    else:
        yield state


def unknown_options(state: State, known: set[str], kind: str) -> Unsupported | None:
    """Unsupported where a version of `tokenizers` has given the component an option that this code never heard of."""
    unknown = sorted(state.keys() - known - {"type"})
    if unknown:
        return Unsupported(f"{kind} {state.get('type')} has unknown options: {', '.join(unknown)}")
    return None
