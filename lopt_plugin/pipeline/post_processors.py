"""Hugging Face post-processors: the ids around a single text."""

from __future__ import annotations

from .component_state import State, check_options, steps_of
from .pipeline import OffsetTrim, PostProcessor, Unsupported

_OPTIONS = {
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "BertProcessing": {"sep", "cls"},
    "RobertaProcessing": {"sep", "cls", "trim_offsets", "add_prefix_space"},
    "TemplateProcessing": {"single", "pair", "special_tokens"},
}


def read_post_processor(state: State | None, ids_added: int) -> PostProcessor:
    """A Sequence is applied in order; at most one of its steps may add ids. ids_added: what the tokenizer announces.

    Raises Unsupported.

    (ByteLevel only moves offsets. After a step that adds ids, Hugging Face no longer has a single text: the ids before
    it count as a text of their own, and the next such step treats the two as a pair.)
    """
    found: list[PostProcessor] = []
    for step in steps_of(state, "processors"):
        kind = step.get("type")
        if kind not in _OPTIONS:
            raise Unsupported(f"post-processor {kind} is not accelerated yet")
        check_options(step, _OPTIONS[kind], "post-processor")
        if kind == "TemplateProcessing":
            found.append(_read_template(step))
        elif kind != "ByteLevel":
            found.append(PostProcessor((step["cls"][1],), (step["sep"][1],)))
    if len(found) > 1:
        raise Unsupported("post-processor Sequence has two steps that add ids")
    post_processor = found[0] if found else PostProcessor()
    read = len(post_processor.prefix_ids) + len(post_processor.suffix_ids)
    if read != ids_added:
        raise Unsupported(f"the post-processor announces {ids_added} added ids, but its state has {read}")
    return post_processor


def _read_template(step: State) -> PostProcessor:
    """A template for a single text has the text $A once; a special token stands for one or more ids."""
    before: list[int] = []
    after: list[int] = []
    texts = 0
    type_ids = set()
    for piece in step["single"]:
        ((kind, value),) = piece.items()
        type_ids.add(value["type_id"])
        if kind == "SpecialToken":
            token = step["special_tokens"].get(value["id"])
            if token is None:
                raise Unsupported(f"post-processor TemplateProcessing does not say what {value['id']!r} is")
            (after if texts else before).extend(token["ids"])
        elif kind == "Sequence" and value["id"] == "A":
            texts += 1
        else:
            raise Unsupported(f"post-processor TemplateProcessing has the unknown piece {kind} {value['id']}")
    if texts != 1:
        raise Unsupported(f"post-processor TemplateProcessing has the text {texts} times")
    return PostProcessor(tuple(before), tuple(after), type_ids == {0})


def read_offset_trim(state: State | None) -> OffsetTrim | None:
    """For a post-processor that `read_post_processor` supports; None if two steps trim."""
    trimming = [step for step in steps_of(state, "processors") if step.get("trim_offsets")]
    if not trimming:
        return "none"
    if len(trimming) > 1:
        return None
    return "spaces, but one before the first token" if trimming[0]["add_prefix_space"] else "spaces"
