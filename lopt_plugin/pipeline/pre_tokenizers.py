"""Hugging Face pre-tokenizers as split steps, and as the scanner and refinements of a Pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from .component_state import State, Unsupported, check_options, check_step, steps_of
from .normalizers import NormalizerStep, SpaceNormalizer, leaves_first_offset
from .pipeline import Behavior, PrependScheme, Refinement
from .split_patterns import COVERING, MATCHERS

_BEHAVIORS: dict[str, Behavior] = {
    "Isolated": "isolated",
    "Removed": "removed",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_OPTIONS = {
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "Split": {"pattern", "behavior", "invert"},
    "Digits": {"individual_digits"},
    "Punctuation": {"behavior"},
}
_WORD_SCANNERS = {"BertPreTokenizer": "bert", "WhitespaceSplit": "whitespace_split"}
# After ByteLevel a step sees stand-in characters. ASCII digits and punctuation stand for themselves there, and
# byte_classes has the classes of the others.
_AFTER_BYTE_LEVEL = {"three_digits", "numeric", "punctuation"}

# First steps that the native core does in one scan; longest first.
FUSED: list[tuple[str, tuple[Refinement, ...]]] = [
    (
        "deepseek_v3",
        (
            Refinement("deepseek_numbers", "isolated"),
            Refinement("deepseek_cjk", "isolated"),
            Refinement("deepseek_main", "isolated"),
        ),
    ),
    ("clip", (Refinement("clip", "removed", invert=True), Refinement("gpt2", "isolated"))),
    ("falcon", (Refinement("punctuation", "contiguous"), Refinement("gpt2", "isolated"))),
    *((name, (Refinement(name, "isolated"),)) for name in sorted(COVERING)),
    ("whole", ()),
]


@dataclass(frozen=True)
class PreTokenizer:
    scanner: str
    refinements: tuple[Refinement, ...]
    add_prefix_space: bool = False
    metaspace: PrependScheme | None = None


@dataclass(frozen=True)
class Splits:
    """Split steps in order, with the split of each ByteLevel; how many ByteLevels; whether the first adds a space."""

    steps: tuple[Refinement, ...]
    byte_levels: int
    add_prefix_space: bool


def read_splits(state: State | None) -> Splits:
    """ByteLevel optionally adds a space to every piece it gets, and optionally splits with GPT-2's pattern.

    Only after that does it turn bytes into stand-in characters: its own split still sees the text. Raises Unsupported.
    """
    splits: list[Refinement] = []
    byte_levels = 0
    add_prefix_space = False
    for number, step in enumerate(steps_of(state, "pretokenizers")):
        if step.get("type") != "ByteLevel":
            splits.append(_read_split(step, after_byte_level=byte_levels > 0))
            continue
        check_options(step, _OPTIONS["ByteLevel"], "pre-tokenizer")
        if step["add_prefix_space"] and number != 0:
            raise Unsupported("pre-tokenizer ByteLevel with add_prefix_space is not the first step")
        add_prefix_space |= bool(step["add_prefix_space"])
        if step.get("use_regex", True):
            splits.append(Refinement("gpt2", "isolated", after_byte_level=byte_levels > 0))
        byte_levels += 1
    return Splits(tuple(splits), byte_levels, add_prefix_space)


def read_pre_tokenizer(state: State | None) -> PreTokenizer:
    """The pre-tokenizer of a byte-level model; exactly one of its steps must be ByteLevel, else Unsupported."""
    splits = read_splits(state)
    if splits.byte_levels != 1:
        how_many = f"{splits.byte_levels} ByteLevel steps" if splits.byte_levels else "no ByteLevel step"
        raise Unsupported(f"the pre-tokenizer has {how_many}; one is expected")
    scanner, fused = next((name, steps) for name, steps in FUSED if splits.steps[: len(steps)] == steps)
    return PreTokenizer(scanner, splits.steps[len(fused) :], splits.add_prefix_space)


def read_space_splitter(
    state: State | None, normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer
) -> PreTokenizer | None:
    """The pre-tokenizer of a model that writes spaces as U+2581; None if this is not one. Raises Unsupported.

    A Split at spaces after the SpaceNormalizer finds none, and a text without a match stays in one piece under every
    behavior (unless it is inverted: then all of it is the match). Nothing else splits, so the vocabulary cuts do;
    Metaspace with `split` divides before every U+2581 as well.
    """
    steps = steps_of(state, "pretokenizers")
    kinds = [step.get("type") for step in steps]
    normalizes_spaces = isinstance(normalizer, SpaceNormalizer)
    if kinds == ["Metaspace"] and (normalizes_spaces or not normalizer):
        scheme = _read_metaspace(steps[0], after_prepend=normalizer == SpaceNormalizer(prepends=True))
        scanner = "vocabulary_cuts_and_spaces" if steps[0]["split"] else "vocabulary_cuts"
        return PreTokenizer(scanner, (), metaspace=scheme)
    if not normalizes_spaces or "ByteLevel" in kinds:
        return None
    for step in steps:
        if step.get("type") != "Split" or step.get("pattern") != {"String": " "} or step.get("invert"):
            raise Unsupported(f"pre-tokenizer {step.get('type')} after normalizer Replace is not accelerated yet")
        check_options(step, _OPTIONS["Split"], "pre-tokenizer")
    return PreTokenizer("vocabulary_cuts", ())


def _read_metaspace(step: State, after_prepend: bool) -> PrependScheme:
    """after_prepend: the text's first character then has no offset, which the scheme "first" depends on."""
    check_options(step, {"replacement", "prepend_scheme", "split"}, "pre-tokenizer")
    if step["replacement"] != "\u2581":
        raise Unsupported(f"pre-tokenizer Metaspace with {step['replacement']!r} is not accelerated yet")
    scheme: PrependScheme = step["prepend_scheme"]
    if scheme not in get_args(PrependScheme) or (scheme == "first" and after_prepend):
        where = " after normalizer Prepend" if after_prepend else ""
        raise Unsupported(f"pre-tokenizer Metaspace with prepend_scheme {scheme!r}{where} is not accelerated yet")
    return scheme


def read_word_pre_tokenizer(state: State | None) -> PreTokenizer:
    """The pre-tokenizer of a WordPiece model: a single step that looks at each character alone. Raises Unsupported."""
    steps = steps_of(state, "pretokenizers")
    if len(steps) != 1:
        raise Unsupported(f"a pre-tokenizer of {len(steps)} steps with a model WordPiece is not accelerated yet")
    (step,) = steps
    scanner = _WORD_SCANNERS.get(step["type"])
    if scanner is None:
        raise Unsupported(f"pre-tokenizer {step['type']} with a model WordPiece is not accelerated yet")
    check_options(step, set(), "pre-tokenizer")
    return PreTokenizer(scanner, ())


def read_unigram_pre_tokenizer(state: State | None, normalizer: tuple[NormalizerStep, ...]) -> PreTokenizer:
    """The pre-tokenizer of a Unigram model: Metaspace, perhaps after WhitespaceSplit. Raises Unsupported."""
    steps = steps_of(state, "pretokenizers")
    kinds = [str(step["type"]) for step in steps]
    if kinds not in (["Metaspace"], ["WhitespaceSplit", "Metaspace"]):
        raise Unsupported(f"pre-tokenizer {', '.join(kinds) or 'None'} with a model Unigram is not accelerated yet")
    metaspace = _read_metaspace(steps[-1], after_prepend=False)
    if metaspace == "first" and not leaves_first_offset(normalizer):
        raise Unsupported("pre-tokenizer Metaspace with prepend 'first' after such a normalizer is not accelerated yet")
    if len(steps) == 1:
        return PreTokenizer("metaspace" if steps[0]["split"] else "whole", (), metaspace=metaspace)
    check_options(steps[0], set(), "pre-tokenizer")
    if metaspace == "first":
        raise Unsupported("pre-tokenizer Metaspace with prepend 'first' after WhitespaceSplit is not accelerated yet")
    if not steps[1]["split"]:
        raise Unsupported("pre-tokenizer Metaspace without split after WhitespaceSplit is not accelerated yet")
    return PreTokenizer("whitespace_split", (), metaspace=metaspace)


def _read_split(step: State, after_byte_level: bool) -> Refinement:
    kind = check_step(step, _OPTIONS, "pre-tokenizer")
    if kind == "Digits":
        behavior: Behavior = "isolated" if step["individual_digits"] else "contiguous"
        return Refinement("numeric", behavior, False, after_byte_level)
    known_behavior = _BEHAVIORS.get(step["behavior"])
    if known_behavior is None:
        raise Unsupported(f"pre-tokenizer {kind} has the unknown behavior {step['behavior']!r}")
    if kind == "Punctuation":
        return Refinement("punctuation", known_behavior, False, after_byte_level)

    pattern = step["pattern"]
    if "Regex" not in pattern:
        raise Unsupported(f"pre-tokenizer Split with the string {pattern.get('String')!r} is not accelerated yet")
    matcher = MATCHERS.get(pattern["Regex"])
    if matcher is None:
        raise Unsupported(f"split pattern {pattern['Regex']!r} is not on the allow-list")
    if after_byte_level and matcher not in _AFTER_BYTE_LEVEL:
        raise Unsupported(f"split pattern {pattern['Regex']!r} comes after ByteLevel")
    return _simplified(Refinement(matcher, known_behavior, bool(step["invert"]), after_byte_level))


def _simplified(split: Refinement) -> Refinement:
    """One form for equivalent splits.

    A Split divides a text into matches and the stretches between them. "isolated" keeps each separate, and "contiguous"
    joins neighbours of one kind: neither cares which kind is called the match, so `invert` has no effect. The merging
    behaviors join a match to a neighbouring stretch, and "removed" drops matches. If a pattern covers the text, there
    are only matches, or, inverted, only stretches: merging joins nothing and an inverted "removed" drops nothing, so
    both are "isolated". (Not inverted, "removed" drops everything, and "contiguous" joins everything: these differ.)
    """
    if split.matcher in COVERING:
        merges = split.behavior in ("merged_with_previous", "merged_with_next")
        if merges or (split.behavior == "removed" and split.invert):
            split = replace(split, behavior="isolated")
    if split.behavior in ("isolated", "contiguous"):
        split = replace(split, invert=False)
    return split
