"""Finishes the ids of a single text: truncation, then the post-processor's ids. Other rows: `row_plan.hpp`."""

from __future__ import annotations

import math

import numpy as np

from ..pipeline import PostProcessor, Template, Templates
from . import Ids
from .request import EncodeRequest, NeedsReference


class PostProcessing:
    """Truncates the ids of single texts and adds a tokenizer's post-processor ids.

    templates: the positions of those ids in rows of one and of two texts; None if they are unknown.
    """

    def __init__(self, post_processor: PostProcessor, templates: Templates | None = None) -> None:
        self.prefix = list(post_processor.prefix_ids)
        self.suffix = list(post_processor.suffix_ids)
        self.added = len(self.prefix) + len(self.suffix)
        self.type_ids_are_zero = post_processor.token_type_ids_are_zero
        self.templates = templates

    def templates_for(self, request: EncodeRequest) -> tuple[Template, Template]:
        """Those of one text and of a pair. Only if `templates` is not None."""
        assert self.templates is not None
        single, single_bare, pair, pair_bare = self.templates
        return (single, pair) if request.add_special_tokens else (single_bare, pair_bare)

    def ids_added(self, request: EncodeRequest) -> int:
        """How many ids the post-processor adds to a text."""
        return self.added if request.add_special_tokens else 0

    def room(self, request: EncodeRequest) -> float:
        """The maximum number of ids of the text itself, or infinity. Raises NeedsReference if there is no room."""
        most = request.max_length
        if most is None:
            return math.inf
        if most <= self.added:
            raise NeedsReference("max_length leaves no room for the text")
        return most - self.added if request.add_special_tokens else most

    def finish(self, ids: list[int], request: EncodeRequest) -> list[int]:
        """The ids of a text, truncated and with special tokens; changes the list in place."""
        if request.max_length is not None:
            room, number = int(self.room(request)), len(ids)
            if number > room:
                del ids[slice(0, number - room) if request.keeps_end else slice(room, None)]
        if request.add_special_tokens:
            if self.prefix:
                ids[:0] = self.prefix
            if self.suffix:
                ids += self.suffix
        return ids

    def finish_array(self, ids: Ids) -> Ids:
        """The same for an array, with special tokens and without truncation."""
        if not self.added:
            return ids
        return np.concatenate([np.array(self.prefix, np.int32), ids, np.array(self.suffix, np.int32)])
