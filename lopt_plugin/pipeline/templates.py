"""What a post-processor makes of one text and of two, found out by giving it texts of one token each."""

from __future__ import annotations

import tokenizers
from tokenizers import models

from .components import Piece, Template, Templates

# No vocabulary has ids as large as these.
_MARKERS = {"first": 2**32 - 2, "second": 2**32 - 3}


def read_templates(tokenizer: tokenizers.Tokenizer) -> Templates | None:
    """None where a text does not come exactly once, or where the number of added ids is not the announced one.

    What the post-processors that `post_processors` knows put around a text does not depend on the text.
    """
    probe = tokenizers.Tokenizer(models.WordLevel(_MARKERS, unk_token="first"))
    if tokenizer.post_processor is not None:
        probe.post_processor = tokenizer.post_processor
    try:
        single = _template(probe.encode("first"), 1)
        single_bare = _template(probe.encode("first", add_special_tokens=False), 1)
        pair = _template(probe.encode("first", "second"), 2)
        pair_bare = _template(probe.encode("first", "second", add_special_tokens=False), 2)
    except Exception:
        return None
    if single is None or single_bare is None or pair is None or pair_bare is None:
        return None
    added = [single.ids_added, pair.ids_added, single_bare.ids_added, pair_bare.ids_added]
    announced = [tokenizer.num_special_tokens_to_add(False), tokenizer.num_special_tokens_to_add(True), 0, 0]
    return Templates(single, single_bare, pair, pair_bare) if added == announced else None


def _template(encoding: tokenizers.Encoding, texts: int) -> Template | None:
    markers = list(_MARKERS.values())
    pieces: list[Piece] = []
    for number, type_id, special in zip(encoding.ids, encoding.type_ids, encoding.special_tokens_mask, strict=True):
        is_text = number in markers
        if is_text == bool(special):
            return None
        pieces.append(Piece(markers.index(number) if is_text else None, () if is_text else (number,), type_id))
    if sorted(piece.text for piece in pieces if piece.text is not None) != list(range(texts)):
        return None
    return Template(tuple(pieces), encoding.n_sequences)
