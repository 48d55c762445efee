"""Stand-ins for special tokens: the reference's answer when only some special tokens are to be text."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer

from ..pipeline import Unsupported
from ..pipeline.component_state import add_again, states_of, tokenizer_with
from ..routes.hf import HfRoute
from ..routes.request import EncodeRequest, NeedsReference


class StandIns:
    """A copy of a backend in which each special token has a stand-in, an added token that is not special.

    The copy finds a stand-in under `split_special_tokens` too, with the flags that the special token has.
    """

    def __init__(self, backend: Tokenizer, tokens: dict[int, AddedToken]) -> None:
        """`tokens`: the added tokens. Raises NeedsReference if the backend cannot be copied."""
        try:
            states = [None if state is None else json.dumps(state) for state in states_of(backend)]
        except Unsupported as reason:
            raise NeedsReference(f"the tokenizer cannot be copied: {reason}") from reason
        names = ("normalizer", "pre_tokenizer", "post_processor")
        copy = tokenizer_with(backend.model, dict(zip(names, states, strict=True)))
        if not add_again(copy, tokens):
            raise NeedsReference("the tokenizer cannot be copied: its added tokens get other ids")
        # No text contains a stand-in, by chance or by design.
        secret = secrets.token_hex(16)
        special = {number: token for number, token in tokens.items() if token.special}
        self._contents = {number: f"\ue000{secret}:{number}\ue000" for number in special}
        copy.add_tokens(
            [
                AddedToken(self._contents[number], lstrip=token.lstrip, rstrip=token.rstrip, normalized=False)
                for number, token in special.items()
            ]
        )
        self._ids = {copy.token_to_id(content): number for number, content in self._contents.items()}
        self._route = HfRoute(copy)

    def encode(
        self, text: str, matches: Iterable[tuple[int, int, int]], request: EncodeRequest
    ) -> tuple[list[int], set[int]]:
        """The ids of a text whose special tokens are (begin, end, id), in order; and those that are of other text."""
        parts, at = [], 0
        for begin, end, number in matches:
            parts += [text[at:begin], self._contents[number]]
            at = end
        encoding = self._route.encodings(["".join([*parts, text[at:]])], request)[0]
        pairs = zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        of_text = {number for number, added in pairs if not added}
        return [self._ids.get(number, number) for number in encoding.ids], of_text
