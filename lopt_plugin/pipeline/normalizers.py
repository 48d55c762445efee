r"""Hugging Face normalizers as steps, each a function from text to text.

The result of a step depends only on its text. So a Sequence applies its steps in order, to each stretch between the
added tokens of the raw text, and to the contents of the other added tokens.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ..unicode_tables.bert import BertOptions
from .component_state import State, Unsupported, check_step, steps_of

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
SingleCharacters = Literal["Lowercase", "StripAccents", "Nmt"]


@dataclass(frozen=True)
class NormalizationForm:
    form: Form


@dataclass(frozen=True)
class MapCharacters:
    """A normalizer that treats each character independently."""

    kind: SingleCharacters


@dataclass(frozen=True)
class Strip:
    left: bool
    right: bool


@dataclass(frozen=True)
class Prepend:
    """Puts `text` before every stretch that is not empty."""

    text: str


@dataclass(frozen=True)
class ReplaceText:
    text: str
    content: str


@dataclass(frozen=True)
class ReplaceRuns:
    r"""Replaces runs of characters by `content`.

    of: "white space" (`\s`), or a single character.
    least: shorter runs stay.
    each: replace every character of a run, not the run.
    """

    of: str
    least: int
    each: bool
    content: str


@dataclass(frozen=True)
class Precompiled:
    """SentencePiece's own normalizer: its character map, which maps grapheme clusters."""

    charsmap: bytes


@dataclass(frozen=True)
class ByReference:
    """A step that only Hugging Face can do, a whole stretch at a time; `state` is the component's JSON."""

    kind: str
    state: str


NormalizerStep: TypeAlias = (
    NormalizationForm | MapCharacters | Strip | Prepend | ReplaceText | ReplaceRuns | Precompiled | ByReference
)


@dataclass(frozen=True)
class SpaceNormalizer:
    """Replaces every space by U+2581. prepends: also puts one before each stretch."""

    prepends: bool


_METASPACE = "\u2581"

# Regular expressions for runs: the greedy quantifiers take the whole run, and `{2,}` leaves a run of one alone.
_RUNS: dict[str, tuple[str, int, bool]] = {
    r"\s": ("white space", 1, True),
    r"\s+": ("white space", 1, False),
    r"\s{2,}": ("white space", 2, False),
    r"\s\s+": ("white space", 2, False),
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
    **{kind: set[str]() for kind in (*get_args(Form), *get_args(SingleCharacters))},
    "BertNormalizer": set(_BERT_OPTIONS),
    "Strip": {"strip_left", "strip_right"},
    "Prepend": {"prepend"},
    "Replace": {"pattern", "content"},
    "Precompiled": {"precompiled_charsmap"},
}


def read_normalizer(state: State | None) -> tuple[NormalizerStep, ...] | BertOptions:
    """The steps in order; none if the text stays as it is. A BertNormalizer must be the only one, else Unsupported."""
    read = read_steps(state)
    if len(read) == 1 and isinstance(read[0], BertOptions):
        return read[0]
    steps = tuple(step for step in read if not isinstance(step, BertOptions))
    if len(steps) < len(read):
        raise Unsupported("normalizer BertNormalizer is not accelerated yet together with other steps")
    return steps


def read_steps(state: State | None) -> tuple[NormalizerStep | BertOptions, ...]:
    """The steps in order, with every BertNormalizer among them. Raises Unsupported."""
    return tuple(map(_read_step, steps_of(state, "normalizers")))


def as_space_normalizer(steps: tuple[NormalizerStep, ...]) -> SpaceNormalizer | None:
    """The normalizer of SentencePiece's models, if the steps are exactly that."""
    prepend, replace = Prepend(_METASPACE), ReplaceText(" ", _METASPACE)
    if steps == (replace,):
        return SpaceNormalizer(prepends=False)
    if steps in ((prepend, replace), (replace, prepend)):  # what is prepended is not a space
        return SpaceNormalizer(prepends=True)
    return None


def _read_step(step: State) -> NormalizerStep | BertOptions:
    kind = check_step(step, _OPTIONS, "normalizer")
    if kind == "BertNormalizer":
        return BertOptions(**{option: step[option] for option in _BERT_OPTIONS})
    if kind in get_args(Form):
        return NormalizationForm(kind)  # type: ignore[arg-type]
    if kind in get_args(SingleCharacters):
        return MapCharacters(kind)  # type: ignore[arg-type]
    if kind == "Strip":
        return Strip(bool(step["strip_left"]), bool(step["strip_right"]))
    if kind == "Prepend":
        if not step["prepend"]:  # Hugging Face panics
            raise Unsupported("normalizer Prepend has an empty text")
        return Prepend(step["prepend"])
    if kind == "Precompiled":
        return Precompiled(base64.b64decode(step["precompiled_charsmap"]))
    return _read_replace(step)


def _read_replace(step: State) -> NormalizerStep:
    """If an empty text matches, Hugging Face's offsets, and therefore its pre-tokens, are wrong; it may even panic."""
    ((kind, pattern),) = step["pattern"].items()
    if kind == "String" and pattern:
        return ReplaceText(pattern, step["content"])
    if kind == "Regex" and pattern in _RUNS:
        return ReplaceRuns(*_RUNS[pattern], step["content"])
    if kind == "Regex" and _takes_a_character(pattern):
        return ByReference(f"Replace Regex {pattern!r}", json.dumps(step))
    raise Unsupported(f"normalizer Replace has the {kind} {pattern!r}, which may match an empty text")


# One character, or a set of them; and how many.
_PROPERTY = r"\\[pP]\{\w+\}"
_IN_SET = rf"(?:[^\[\]\\&^]|\\[sSdDwWrnt\[\]\\/-]|{_PROPERTY})"
_OUTSIDE = rf"(?:\\[sSdDwWrnt.*+?|(){{}}^$\[\]\\/-]|{_PROPERTY}|[^\\\[\](){{}}.*+?^$|])"
_ATOM = rf"(?:{_OUTSIDE}|\[\^?{_IN_SET}+\])"
_PART = re.compile(rf"{_ATOM}(?P<times>\+|\*|\?|\{{[0-9]+,?[0-9]*\}})?")


def _takes_a_character(pattern: str) -> bool:
    """Whether the pattern is of a simple kind whose every match has a character.

    That is a row of parts, each a character or set with an optional quantifier, of which at least one requires one or
    more characters. No groups, alternatives, anchors or look-arounds.
    """
    place, takes = 0, False
    while place < len(pattern):
        part = _PART.match(pattern, place)
        if part is None:
            return False
        takes |= re.match(r"$|\+|\{0*[1-9]", part["times"] or "") is not None
        place = part.end()
    return takes


def leaves_first_offset(normalizer: tuple[NormalizerStep, ...]) -> bool:
    """Whether the first character of a normalized text has the offset 0, unless it is a space or U+2581.

    By this offset the reference's Metaspace decides whether a text begins there. It is another one if a step removes
    or replaces the first character.
    """

    def leaves(step: NormalizerStep) -> bool:
        if isinstance(step, Strip):
            return not step.left
        if isinstance(step, (ReplaceText, ReplaceRuns)):
            return step.content.startswith((" ", _METASPACE))
        return isinstance(step, (NormalizationForm, Precompiled)) or step == MapCharacters("Lowercase")

    return all(map(leaves, normalizer))


def replaced_texts(normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer | BertOptions) -> list[str]:
    """Texts that a check of these steps should contain: what is replaced, and by what."""
    if isinstance(normalizer, SpaceNormalizer):
        return [" ", _METASPACE]
    if isinstance(normalizer, BertOptions):
        return []
    texts: list[str] = []
    for step in normalizer:
        if isinstance(step, ReplaceText):
            texts += [step.text, step.content]
        elif isinstance(step, ReplaceRuns):
            of = " \n\u3000" if step.of == "white space" else step.of
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
    if isinstance(step, Precompiled):
        return f"Precompiled, {len(step.charsmap):,} bytes"
    if isinstance(step, ReplaceText):
        return f"Replace {step.text!r} by {step.content!r}"
    if isinstance(step, ReplaceRuns):
        of = step.of if step.of == "white space" else repr(step.of)
        if step.each:
            return f"Replace each of {of} by {step.content!r}"
        return f"Replace runs of {f'{step.least} or more ' if step.least > 1 else ''}{of} by {step.content!r}"
    return f"{step.kind} (by Hugging Face, whole stretches)"
