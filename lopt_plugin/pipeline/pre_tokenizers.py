"""Hugging Face pre-tokenizers to a scanner and refinements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .component_state import State, flattened, unknown_options
from .components import Behavior, Metaspace, Refinement
from .normalizer_steps import BlankNormalizer, NormalizerStep
from .split_patterns import COVERING, MATCHERS
from .unsupported import Unsupported

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
    "Metaspace": {"replacement", "prepend_scheme", "split"},
}
_PREPEND_SCHEMES: dict[str, Literal["never", "first", "always"]] = {
    "never": "never",
    "first": "first",
    "always": "always",
}
_WORD_SCANNERS = {"BertPreTokenizer": "bert", "WhitespaceSplit": "whitespace_split"}
# Behind ByteLevel a step sees stand-in characters. ASCII digits and punctuation stand for themselves there, and
# byte_classes knows what the others are taken for.
_BEHIND_BYTE_LEVEL = {"three_digits", "numeric", "punctuation"}

# First steps that the native core does in one scan; longest first.
_FUSED: list[tuple[str, tuple[Refinement, ...]]] = [
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
    metaspace: Metaspace | None = None


def read_blank_signs(
    state: State | None, normalizer: tuple[NormalizerStep, ...] | BlankNormalizer
) -> PreTokenizer | Unsupported | None:
    """What splits a text whose blanks are spelled as U+2581; None where they are not.

    A Split at blanks behind the BlankNormalizer finds none, and a text without a match stays in one piece under every
    behavior (unless it is inverted: then all of it is the match). Nothing else splits, so the vocabulary's own cuts do;
    Metaspace with `split` cuts before every blank's sign as well.
    """
    steps = list(flattened(state, "pretokenizers")) if state is not None else []
    kinds = [step.get("type") for step in steps]
    of_blanks = isinstance(normalizer, BlankNormalizer)
    if kinds == ["Metaspace"] and (of_blanks or not normalizer):
        return _read_metaspace(steps[0], behind_prepend=normalizer == BlankNormalizer(prepends=True))
    if not of_blanks or "ByteLevel" in kinds:
        return None
    for step in steps:
        if step.get("type") != "Split" or step.get("pattern") != {"String": " "} or step.get("invert"):
            return Unsupported(f"pre-tokenizer {step.get('type')} behind normalizer Replace is not accelerated yet")
        if unsupported := unknown_options(step, _OPTIONS["Split"], "pre-tokenizer"):
            return unsupported
    return PreTokenizer("vocabulary_cuts", ())


def _read_metaspace(step: State, behind_prepend: bool) -> PreTokenizer | Unsupported:
    """`behind_prepend`: the text's first character has no offset of its own, by which "first" is decided."""
    if unsupported := unknown_options(step, _OPTIONS["Metaspace"], "pre-tokenizer"):
        return unsupported
    if step["replacement"] != "\u2581":
        return Unsupported(f"pre-tokenizer Metaspace with {step['replacement']!r} is not accelerated yet")
    scheme = _PREPEND_SCHEMES.get(step["prepend_scheme"])
    if scheme is None or (scheme == "first" and behind_prepend):
        where = " behind normalizer Prepend" if behind_prepend else ""
        return Unsupported(
            f"pre-tokenizer Metaspace with prepend_scheme {step['prepend_scheme']!r}{where} is not accelerated yet"
        )
    scanner = "vocabulary_cuts_and_blanks" if step["split"] else "vocabulary_cuts"
    return PreTokenizer(scanner, (), metaspace=Metaspace(scheme))


def read_pre_tokenizer(state: State | None) -> PreTokenizer | Unsupported:
    """Steps in order; exactly one of them must be ByteLevel.

    ByteLevel puts a blank in front of every piece that it is given, splits with GPT-2's pattern, both if asked to, and
    only then turns bytes into stand-in characters: its own split still sees the text.
    """
    steps = list(flattened(state, "pretokenizers")) if state is not None else []
    byte_levels = [place for place, step in enumerate(steps) if step.get("type") == "ByteLevel"]
    if len(byte_levels) != 1:
        known = [_read_split(step, False) for step in steps if step.get("type") != "ByteLevel"]
        unknown = [step for step in known if isinstance(step, Unsupported)]
        how_many = "no ByteLevel step" if not byte_levels else f"{len(byte_levels)} ByteLevel steps"
        return unknown[0] if unknown else Unsupported(f"the pre-tokenizer has {how_many}; one is expected")
    place = byte_levels[0]
    byte_level = steps[place]
    if unsupported := unknown_options(byte_level, _OPTIONS["ByteLevel"], "pre-tokenizer"):
        return unsupported
    if byte_level["add_prefix_space"] and place != 0:
        return Unsupported("pre-tokenizer ByteLevel with add_prefix_space is not the first step")

    splits: list[Refinement] = []
    for number, step in enumerate(steps):
        if number == place:
            if byte_level.get("use_regex", True):
                splits.append(Refinement("gpt2", "isolated"))
            continue
        split = _read_split(step, after_byte_level=number > place)
        if isinstance(split, Unsupported):
            return split
        splits.append(split)
    scanner, fused = next((name, steps) for name, steps in _FUSED if tuple(splits[: len(steps)]) == steps)
    return PreTokenizer(scanner, tuple(splits[len(fused) :]), bool(byte_level["add_prefix_space"]))


def read_word_pre_tokenizer(state: State | None) -> PreTokenizer | Unsupported:
    """Those of WordPiece: a single step that judges each character by itself."""
    steps = list(flattened(state, "pretokenizers")) if state is not None else []
    if len(steps) != 1:
        return Unsupported(f"a pre-tokenizer of {len(steps)} steps with a model WordPiece is not accelerated yet")
    (step,) = steps
    scanner = _WORD_SCANNERS.get(step["type"])
    if scanner is None:
        return Unsupported(f"pre-tokenizer {step['type']} with a model WordPiece is not accelerated yet")
    return unknown_options(step, set(), "pre-tokenizer") or PreTokenizer(scanner, (), False)


def _read_split(step: State, after_byte_level: bool) -> Refinement | Unsupported:
    kind = step.get("type")
    if kind not in _OPTIONS or kind == "Metaspace":
        return Unsupported(f"pre-tokenizer {kind} is not accelerated yet")
    if unsupported := unknown_options(step, _OPTIONS[kind], "pre-tokenizer"):
        return unsupported
    if kind == "Digits":
        behavior: Behavior = "isolated" if step["individual_digits"] else "contiguous"
        return Refinement("numeric", behavior, False, after_byte_level)
    known_behavior = _BEHAVIORS.get(step["behavior"])
    if known_behavior is None:
        return Unsupported(f"pre-tokenizer {kind} has the unknown behavior {step['behavior']!r}")
    if kind == "Punctuation":
        return Refinement("punctuation", known_behavior, False, after_byte_level)

    pattern = step["pattern"]
    if "Regex" not in pattern:
        return Unsupported(f"pre-tokenizer Split with the string {pattern.get('String')!r} is not accelerated yet")
    matcher = MATCHERS.get(pattern["Regex"])
    if matcher is None:
        return Unsupported(f"split pattern {pattern['Regex']!r} is not on the allow-list")
    if after_byte_level and matcher not in _BEHIND_BYTE_LEVEL:
        return Unsupported(f"split pattern {pattern['Regex']!r} stands behind ByteLevel")
    return _simplified(Refinement(matcher, known_behavior, bool(step["invert"]), after_byte_level))


def _simplified(split: Refinement) -> Refinement:
    """One form for splits that do the same.

    A Split divides a text into matches and the stretches between them. "isolated" keeps every one by itself, and
    "contiguous" glues neighbours of one kind: neither cares which kind is called the match, so `invert` is idle. The
    merging behaviors glue a match to a neighbour that is a stretch, and "removed" drops matches. Where a pattern covers
    the text there are only matches, or, inverted, only stretches: nothing is glued by merging, and nothing is dropped
    by "removed" when inverted, so each match stands by itself, as under "isolated". (Not inverted, "removed" drops
    everything, and "contiguous" glues everything: these are something else.)
    """
    if split.matcher in COVERING:
        merges = split.behavior in ("merged_with_previous", "merged_with_next")
        if merges or (split.behavior == "removed" and split.invert):
            split = replace(split, behavior="isolated")
    if split.behavior in ("isolated", "contiguous"):
        split = replace(split, invert=False)
    return split
