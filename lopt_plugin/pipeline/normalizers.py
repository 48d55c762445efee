r"""Hugging Face normalizers: steps, each a function from text to text.

What a step makes of a text depends on the text alone, so a Sequence is its steps one after the other, on each stretch
between the added tokens that are found in the raw text, and on the contents of the others.
"""

from __future__ import annotations

import json
import re
from typing import get_args

from ..character_classes.word_characters import BertOptions
from .component_state import State, flattened, unknown_options
from .normalizer_steps import (
    BlankNormalizer,
    ByReference,
    Form,
    MapCharacters,
    NormalizationForm,
    NormalizerStep,
    Prepend,
    ReplaceRuns,
    ReplaceText,
    SingleCharacters,
    Strip,
)
from .unsupported import Unsupported

_BLANK_SIGN = "\u2581"

# Regular expressions for runs: the greedy quantifiers take all of a run, and `{2,}` leaves a run of one alone.
_RUNS: dict[str, tuple[str, int, bool]] = {
    r"\s": ("blanks", 1, True),
    r"\s+": ("blanks", 1, False),
    r"\s{2,}": ("blanks", 2, False),
    r"\s\s+": ("blanks", 2, False),
    " ": (" ", 1, True),
    " +": (" ", 1, False),
    " {2,}": (" ", 2, False),
    "  +": (" ", 2, False),
    r"\n": ("\n", 1, True),
    r"\n+": ("\n", 1, False),
    r"\n{2,}": ("\n", 2, False),
}
_BERT_OPTIONS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
_OPTIONS = {
    **dict.fromkeys((*get_args(Form), *get_args(SingleCharacters)), frozenset[str]()),
    "Strip": frozenset({"strip_left", "strip_right"}),
    "Prepend": frozenset({"prepend"}),
    "Replace": frozenset({"pattern", "content"}),
}


def read_normalizer(state: State | None) -> tuple[NormalizerStep, ...] | BertOptions | Unsupported:
    """The steps in order; none where the text stays as it is. BertNormalizer must be the only one."""
    found = list(flattened(state, "normalizers")) if state is not None else []
    if len(found) == 1 and found[0].get("type") == "BertNormalizer":
        return _read_bert(found[0])
    steps: list[NormalizerStep] = []
    for step in found:
        kind = str(step.get("type"))
        if kind not in _OPTIONS:
            return Unsupported(f"normalizer {kind} is not accelerated yet")
        if unsupported := unknown_options(step, set(_OPTIONS[kind]), "normalizer"):
            return unsupported
        read = _read_step(kind, step)
        if isinstance(read, Unsupported):
            return read
        steps.append(read)
    return tuple(steps)


def as_blanks(steps: tuple[NormalizerStep, ...]) -> BlankNormalizer | None:
    """The normalizer of SentencePiece's models, where the steps are just that."""
    prepend, replace = Prepend(_BLANK_SIGN), ReplaceText(" ", _BLANK_SIGN)
    if steps == (replace,):
        return BlankNormalizer(prepends=False)
    if steps in ((prepend, replace), (replace, prepend)):  # what is prepended is no blank
        return BlankNormalizer(prepends=True)
    return None


def _read_bert(step: State) -> BertOptions | Unsupported:
    if unsupported := unknown_options(step, set(_BERT_OPTIONS), "normalizer"):
        return unsupported
    return BertOptions(**{option: step[option] for option in _BERT_OPTIONS})


def _read_step(kind: str, step: State) -> NormalizerStep | Unsupported:
    if kind in get_args(Form):
        return NormalizationForm(kind)  # type: ignore[arg-type]
    if kind in get_args(SingleCharacters):
        return MapCharacters(kind)  # type: ignore[arg-type]
    if kind == "Strip":
        return Strip(bool(step["strip_left"]), bool(step["strip_right"]))
    if kind == "Prepend":
        # Hugging Face panics where there is nothing to put before a text.
        return Prepend(step["prepend"]) if step["prepend"] else Unsupported("normalizer Prepend has an empty text")
    return _read_replace(step)


def _read_replace(step: State) -> NormalizerStep | Unsupported:
    """Where an empty text matches, Hugging Face's offsets go wrong, and with them its pre-tokens: it even panics."""
    ((kind, pattern),) = step["pattern"].items()
    if kind == "String" and pattern:
        return ReplaceText(pattern, step["content"])
    if kind == "Regex" and pattern in _RUNS:
        return ReplaceRuns(*_RUNS[pattern], step["content"])
    if kind == "Regex" and _takes_a_character(pattern):
        return ByReference(f"Replace Regex {pattern!r}", json.dumps(step))
    return Unsupported(f"normalizer Replace has the {kind} {pattern!r}, which may match an empty text")


# One character, or a set of them; and how many.
_PROPERTY = r"\\[pP]\{\w+\}"
_IN_SET = rf"(?:[^\[\]\\&^]|\\[sSdDwWrnt\[\]\\/-]|{_PROPERTY})"
_OUTSIDE = rf"(?:\\[sSdDwWrnt.*+?|(){{}}^$\[\]\\/-]|{_PROPERTY}|[^\\\[\](){{}}.*+?^$|])"
_ATOM = rf"(?:{_OUTSIDE}|\[\^?{_IN_SET}+\])"
_PART = re.compile(rf"{_ATOM}(?P<times>\+|\*|\?|\{{[0-9]+,?[0-9]*\}})?")


def _takes_a_character(pattern: str) -> bool:
    """Whether a regular expression is of a simple kind of which every match has a character: parts side by side, each
    a character or set and perhaps a quantifier, at least one of which asks for one or more. No groups, no
    alternatives, no anchors, nothing that looks around.
    """
    place, takes = 0, False
    while place < len(pattern):
        part = _PART.match(pattern, place)
        if part is None:
            return False
        takes |= re.match(r"$|\+|\{0*[1-9]", part["times"] or "") is not None
        place = part.end()
    return takes


def replaced_texts(normalizer: tuple[NormalizerStep, ...] | BlankNormalizer | BertOptions) -> list[str]:
    """Texts that a check of these steps should not leave out: what is replaced, and by what."""
    if isinstance(normalizer, BlankNormalizer):
        return [" ", _BLANK_SIGN]
    if isinstance(normalizer, BertOptions):
        return []
    texts: list[str] = []
    for step in normalizer:
        if isinstance(step, ReplaceText):
            texts += [step.text, step.content]
        elif isinstance(step, ReplaceRuns):
            of = " \n\u3000" if step.of == "blanks" else step.of
            texts += [c * n for c in of for n in (1, 2, 3)] + [of, step.content]
        elif isinstance(step, Prepend):
            texts.append(step.text)
    return [text for text in dict.fromkeys(texts) if text]


def describe_step(step: NormalizerStep) -> str:
    if isinstance(step, NormalizationForm):
        return step.form
    if isinstance(step, MapCharacters):
        return step.kind
    if isinstance(step, Strip):
        sides = [side for side, stripped in (("left", step.left), ("right", step.right)) if stripped]
        return f"Strip {' and '.join(sides) or 'nothing'}"
    if isinstance(step, Prepend):
        return f"Prepend {step.text!r}"
    if isinstance(step, ReplaceText):
        return f"Replace {step.text!r} by {step.content!r}"
    if isinstance(step, ReplaceRuns):
        of = step.of if step.of == "blanks" else repr(step.of)
        if step.each:
            return f"Replace each of {of} by {step.content!r}"
        return f"Replace runs of {f'{step.least} or more ' if step.least > 1 else ''}{of} by {step.content!r}"
    return f"{step.kind} (by Hugging Face, whole stretches)"
