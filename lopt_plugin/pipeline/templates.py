"""The templates of a post-processor, found by giving it texts of one token each."""

from __future__ import annotations

from dataclasses import replace

import tokenizers
from tokenizers import models, pre_tokenizers

from .pipeline import Piece, Template, Templates

# No vocabulary has ids as large as these.
_MARKERS = {"first": 2**32 - 2, "second": 2**32 - 3}


def read_templates(tokenizer: tokenizers.Tokenizer) -> Templates | None:
    """None if a text does not appear exactly once, or the number of added ids is not the announced one.

    The post-processors that `post_processors` supports put the same ids around every text.
    """
    probe = tokenizers.Tokenizer(models.WordLevel(_MARKERS, unk_token="first"))
    probe.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if tokenizer.post_processor is not None:
        probe.post_processor = tokenizer.post_processor
    announced = tokenizer.num_special_tokens_to_add
    templates = []
    for texts, special in ((1, True), (1, False), (2, True), (2, False)):
        try:
            template = _template(_encoded(probe, ["first", "second"][:texts], special), texts)
        except Exception:
            return None
        if template is None or template.ids_added != (announced(texts == 2) if special else 0):
            return None
        template = _with_tells_texts(probe, template, texts, special)
        templates.append(_with_overflow(probe, template, texts, special))
    return Templates(*templates)


def _with_overflow(probe: tokenizers.Tokenizer, template: Template, texts: int, special: bool) -> Template:
    """The template with the type ids of the overflowing part of a text of two tokens that is truncated to one."""
    type_ids = []
    for place, strategy in enumerate(("only_first", "only_second")[:texts]):
        given = ["first", "second"][:texts]
        given[place] += " " + given[place]
        probe.enable_truncation(texts + template.ids_added, strategy=strategy)
        try:
            overflowing = _encoded(probe, given, special).overflowing
        except Exception:
            return template
        finally:
            probe.no_truncation()
        made = _template(overflowing[0], texts) if len(overflowing) == 1 else None
        if made is None or made.sequences != template.sequences or len(made.pieces) != len(template.pieces):
            return template
        (type_id,) = (piece.type_id for piece in made.pieces if piece.text == place)
        type_ids.append(type_id)
        others = [(piece, mine) for piece, mine in zip(made.pieces, template.pieces, strict=True) if mine.text != place]
        if any(piece != mine for piece, mine in others):
            return template
    return replace(template, overflow_type_ids=tuple(type_ids))


def _with_tells_texts(probe: tokenizers.Tokenizer, template: Template, texts: int, special: bool) -> Template:
    """The template with whether an encoding knows where its texts are, so that padding belongs to none of them.

    One that knows loses this to a second encoding that is appended to it. (Padding would show it too, but before
    tokenizers 0.22.2 it counts as parallel work, and every later fork then warns.)
    """
    encoding = _encoded(probe, ["first", "second"][:texts], special)
    both = tokenizers.Encoding.merge([encoding, encoding]).sequence_ids
    pieces = template.pieces
    return replace(template, tells_texts=both == [*([None] * len(pieces)), *(piece.text for piece in pieces)])


def _encoded(probe: tokenizers.Tokenizer, texts: list[str], special: bool) -> tokenizers.Encoding:
    try:
        return probe.encode(texts[0], texts[1] if len(texts) > 1 else None, add_special_tokens=special)
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the Rust library is not an Exception
        raise ValueError(f"the post-processor fails: {error}") from error


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
