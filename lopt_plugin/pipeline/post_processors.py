"""Hugging Face post-processors: the ids around texts, found by giving them texts of one token each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers

from .component_state import State, Unsupported, check_step, steps_of
from .pipeline import OffsetTrim, Piece, PostProcessor, Template, Templates

_OPTIONS = {
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "BertProcessing": {"sep", "cls"},
    "RobertaProcessing": {"sep", "cls", "trim_offsets", "add_prefix_space"},
    "TemplateProcessing": {"single", "pair", "special_tokens"},
}
# No vocabulary has ids as large as these.
_MARKERS = {"first": 2**32 - 2, "second": 2**32 - 3}


def read_post_processor(tokenizer: tokenizers.Tokenizer, state: State | None) -> tuple[PostProcessor, Templates | None]:
    """The ids around a single text, and the templates (None if Hugging Face has to make rows of pairs).

    A Sequence is applied in order; at most one of its steps may add ids. Raises Unsupported.

    (ByteLevel only moves offsets. After a step that adds ids, Hugging Face no longer has a single text: the ids before
    it count as a separate text, and the next such step treats the two as a pair. All other steps put the same ids
    around every text.)
    """
    names = [check_step(step, _OPTIONS, "post-processor") for step in steps_of(state, "processors")]
    if sum(name != "ByteLevel" for name in names) > 1:
        raise Unsupported("post-processor Sequence has two steps that add ids")
    probe = tokenizers.Tokenizer(models.WordLevel(_MARKERS, unk_token="first"))
    probe.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if tokenizer.post_processor is not None:
        probe.post_processor = tokenizer.post_processor
    announced = tokenizer.num_special_tokens_to_add
    try:
        single = _template(probe, 1, announced(is_pair=False))
    except Exception as error:
        raise Unsupported(f"the post-processor {error}") from error
    pieces = single.pieces
    (place,) = (number for number, piece in enumerate(pieces) if piece.text is not None)
    before, after = (tuple(piece.id for piece in part) for part in (pieces[:place], pieces[place + 1 :]))
    around = PostProcessor(before, after, not any(piece.type_id for piece in pieces))
    try:
        pair = _template(probe, 2, announced(is_pair=True))
        return around, Templates(single, _template(probe, 1), pair, _template(probe, 2))
    except Exception:
        return around, None


def read_offset_trim(state: State | None) -> OffsetTrim | None:
    """For a post-processor that `read_post_processor` supports; None if two steps trim."""
    trimming = [step for step in steps_of(state, "processors") if step.get("trim_offsets")]
    if not trimming:
        return "none"
    if len(trimming) > 1:
        return None
    return "spaces, but one before the first token" if trimming[0]["add_prefix_space"] else "spaces"


def _template(probe: tokenizers.Tokenizer, texts: int, announced: int | None = None) -> Template:
    """announced: the expected number of special tokens; None without any. Raises ValueError."""
    encoding = _encoded(probe, ["first", "second"][:texts], announced is not None)
    template = Template(_pieces(encoding, texts), encoding.n_sequences)
    if template.ids_added != (announced or 0):
        raise ValueError(f"announces {announced} added ids, but adds {template.ids_added}")
    # An encoding that knows where its texts are, so that padding belongs to none of them, loses that knowledge when a
    # second encoding is appended to it. (Padding would show it too, but before tokenizers 0.22.2 it counts as parallel
    # work, and every later fork then warns.)
    both = tokenizers.Encoding.merge([encoding, encoding]).sequence_ids
    places = [piece.text for piece in template.pieces]
    type_ids = _overflow_type_ids(probe, template, texts, announced is not None)
    return replace(template, overflow_type_ids=type_ids, tells_texts=both == [*([None] * len(places)), *places])


def _overflow_type_ids(
    probe: tokenizers.Tokenizer, template: Template, texts: int, special: bool
) -> tuple[int, ...] | None:
    """The type id of each text's overflowing part, if that text has two tokens and is truncated to one."""
    type_ids = []
    for place, strategy in enumerate(("only_first", "only_second")[:texts]):
        given = ["first", "second"][:texts]
        given[place] += " " + given[place]
        probe.enable_truncation(texts + template.ids_added, strategy=strategy)
        try:
            (overflowing,) = _encoded(probe, given, special).overflowing
            made = _pieces(overflowing, texts)
        except Exception:
            return None
        finally:
            probe.no_truncation()
        (type_id,) = (piece.type_id for piece in made if piece.text == place)
        type_ids.append(type_id)
        as_usual = [piece._replace(type_id=type_id) if piece.text == place else piece for piece in template.pieces]
        if made != tuple(as_usual) or overflowing.n_sequences != template.sequences:
            return None
    return tuple(type_ids)


def _encoded(probe: tokenizers.Tokenizer, texts: list[str], special: bool) -> tokenizers.Encoding:
    try:
        return probe.encode(texts[0], texts[1] if len(texts) > 1 else None, add_special_tokens=special)
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the Rust library is not an Exception
        raise ValueError(f"fails: {error}") from error


def _pieces(encoding: Any, texts: int) -> tuple[Piece, ...]:
    markers = list(_MARKERS.values())
    pieces: list[Piece] = []
    for number, type_id, special in zip(encoding.ids, encoding.type_ids, encoding.special_tokens_mask, strict=True):
        is_text = number in markers
        if is_text == bool(special):
            raise ValueError("marks special tokens in an unknown way")
        pieces.append(Piece(markers.index(number), 0, type_id) if is_text else Piece(None, number, type_id))
    found = [piece.text for piece in pieces if piece.text is not None]
    if sorted(found) != list(range(texts)):
        raise ValueError(f"has the text {len(found)} times")
    return tuple(pieces)
