r"""Decides whether a tokenizer's texts may be split into chunks, and how. For tokenizers without a native core.

A text may be split at p if the ids left of p do not depend on the text right of it, and vice versa. There are two
proofs, and every other model is refused:

"pattern". Pre-tokens are found by a scan from left to right: once one begins at p, the next depends only on the text
after p. The model (BPE, WordPiece, WordLevel) sees one pre-token at a time. So two scans that both have a pre-token
beginning at p, after both their starts, agree from there on. With several steps, this holds if all but the last split
between two characters only because of what these two are ("local": Digits, Punctuation, DeepSeek's Chinese and Japanese
runs): if a local step splits at p, both scans start again there; otherwise the last step splits at p, and both scans
are in the same piece of the local steps. Two pipelines need more:

- DeepSeek's first step takes digits in threes, and is not local. Its pieces contain only digits, which no later step
  splits: two pre-tokens that begin at p inside a run of digits both come from the first step.
- Falcon splits the pre-tokens of GPT-2's pattern again, after ByteLevel. Its Punctuation step comes first and removes
  the apostrophe, so that pre-tokens are runs of one class after at most one space. Where a later step splits such a
  run does not change the run's end, and three digits are counted from the last boundary that both scans share.

"vocabulary". BPE without a split pattern sees a whole stretch of text as one pre-token. Every product of a merge is an
entry, so no token contains two neighbours that are adjacent in no entry: the text may be split between them (a
vocabulary cut). Both must be entries, or else unknown characters might be fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import tokenizers

from ..unicode_tables.bert import BertOptions
from . import normalizers as kinds
from .added_tokens import check_length
from .component_state import State, Unsupported, check_options, states_of, steps_of
from .pipeline import PostProcessor, Refinement
from .post_processors import read_post_processor
from .pre_tokenizers import FUSED, read_splits

_CLIP_LITERALS = ("<|startoftext|>", "<|endoftext|>")
# Drops the text between matches, which is white space.
_CLIP_SPLIT = Refinement("clip", "removed", invert=True)
_ONE_SPACE = kinds.ReplaceRuns("white space", 1, False, " ")
_WORD_PRE_TOKENIZERS = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
_LOCAL = {
    Refinement("numeric", "isolated"),
    Refinement("numeric", "contiguous"),
    Refinement("punctuation", "isolated"),
    Refinement("punctuation", "contiguous"),
}
_FALCON = (
    Refinement("punctuation", "contiguous"),
    Refinement("gpt2", "isolated"),
    Refinement("numeric", "contiguous", after_byte_level=True),
    Refinement("three_digits", "isolated", after_byte_level=True),
)
_SCANS = {steps: name for name, steps in FUSED if name not in ("falcon", "whole")} | {(_CLIP_SPLIT,): "clip"}
_Step = kinds.NormalizerStep | BertOptions


@dataclass(frozen=True)
class Chunkable:
    """How a tokenizer's texts may be split into chunks.

    how                 "pattern" or "vocabulary", see above
    scan                the name of the scan, for `explain`
    post_processor      the ids around the whole text's
    composes            whether the normalizer may change a character because of the one before it
    only_before_spaces  whether only boundaries before a space count: others split no words, or add a space to a stretch
    prepends            whether the normalizer puts characters before a stretch
    replaced            pairs of a character and its replacement by the normalizer
    literals            strings that the scan keeps whole, in normalized text too
    """

    how: Literal["pattern", "vocabulary"]
    scan: str
    post_processor: PostProcessor
    composes: bool = False
    only_before_spaces: bool = False
    prepends: bool = False
    replaced: tuple[tuple[str, str], ...] = ()
    literals: tuple[str, ...] = ()


def read_chunking(tokenizer: tokenizers.Tokenizer) -> Chunkable:
    """How texts may be split. Raises Unsupported if they must not be. Reads neither the vocabulary nor the merges."""
    model = tokenizer.model
    kind = type(model).__name__
    if kind not in ("BPE", "WordPiece", "WordLevel"):
        raise Unsupported(f"model {kind} is never divided into chunks: its choice of tokens has no bounded reach")
    if getattr(model, "dropout", None):
        raise Unsupported(f"model {kind} with dropout is never divided into chunks: it is random")
    normalizer_state, pre_tokenizer_state, post_processor_state = states_of(tokenizer)
    normalizer = kinds.read_steps(normalizer_state)
    added = tokenizer.get_added_tokens_decoder().values()
    for token in added:
        check_length(token)
    normalized = [token.content for token in added if token.normalized]
    spaced = any(character.isspace() for content in normalized for character in content)
    for step in normalizer if normalized else ():
        # A match in the normalized text may then have any length in the text.
        drops = isinstance(step, BertOptions) or step == kinds.MapCharacters("StripAccents")
        if drops or (spaced and step == _ONE_SPACE):
            raise Unsupported(f"added tokens are found after normalizer {_name(step)}, which drops characters")
    if normalizer:
        normalized = [tokenizer.normalizer.normalize_str(content) for content in normalized]
    if len({*normalized}) < len(normalized):
        # The tokenizer that encodes chunks may find the other one.
        raise Unsupported("two added tokens have the same content after normalization")
    post_processor = read_post_processor(tokenizer, post_processor_state)[0]
    if _never_splits(steps_of(pre_tokenizer_state, "pretokenizers"), normalizer):
        return _by_vocabulary(model, normalizer, post_processor)
    return _by_pattern(pre_tokenizer_state, normalizer, post_processor)


def _never_splits(steps: list[State], normalizer: tuple[_Step, ...]) -> bool:
    """Whether stretches stay whole: each step, if any, splits only at a character that the normalizer removes."""
    gone = [s.text for s in normalizer if isinstance(s, kinds.ReplaceText) and len(s.text) == 1 and s.text != s.content]
    options = {"type", "pattern", "behavior", "invert"}
    return all(
        step.get("type") == "Split" and step["pattern"].get("String") in gone and step.keys() <= options
        for step in steps
    )


def _by_vocabulary(model: Any, normalizer: tuple[_Step, ...], post_processor: PostProcessor) -> Chunkable:
    if type(model).__name__ != "BPE":
        raise Unsupported(f"model {type(model).__name__} without a split pattern is never divided into chunks")
    for option in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if getattr(model, option, None):
            raise Unsupported(f"model BPE with {option} and without a split pattern is never divided into chunks")
    replaced: list[tuple[str, str]] = []
    for step in normalizer:
        if isinstance(step, kinds.ReplaceText):
            replaced.append((step.text, step.content))
        elif not isinstance(step, kinds.Prepend):
            raise Unsupported(f"normalizer {_name(step)} without a split pattern is not proven safe to divide")
    single = all(len(old) == len(new) == 1 for old, new in replaced)
    if not single or len({character for pair in replaced for character in pair}) != 2 * len(replaced):
        raise Unsupported("normalizer Replace replaces more than single characters, so texts are not divided")
    prepends = any(isinstance(step, kinds.Prepend) for step in normalizer)
    return Chunkable("vocabulary", "no split pattern", post_processor, prepends=prepends, replaced=tuple(replaced))


def _by_pattern(
    pre_tokenizer_state: State | None, normalizer: tuple[_Step, ...], post_processor: PostProcessor
) -> Chunkable:
    scan, add_prefix_space = _scan(pre_tokenizer_state)
    composes = False
    for step in normalizer:
        if isinstance(step, (kinds.NormalizationForm, BertOptions)) or step == kinds.MapCharacters("StripAccents"):
            composes = True
        elif step != kinds.MapCharacters("Lowercase") and not (step == _ONE_SPACE and scan == "clip"):
            raise Unsupported(f"normalizer {_name(step)} before a split pattern is not proven safe to divide")
    return Chunkable(
        "pattern",
        scan,
        post_processor,
        composes=composes,
        only_before_spaces=scan == "WhitespaceSplit" or add_prefix_space,
        literals=_CLIP_LITERALS if scan == "clip" else (),
    )


def _scan(state: State | None) -> tuple[str, bool]:
    """The name of the scan, if it is one of those proven above, and whether it adds a space to a stretch."""
    steps = steps_of(state, "pretokenizers")
    if len(steps) == 1 and steps[0].get("type") in _WORD_PRE_TOKENIZERS:
        check_options(steps[0], set(), "pre-tokenizer")
        return str(steps[0]["type"]), False
    splits = read_splits(state)
    found = splits.steps
    while found and found[0] in _LOCAL and splits.steps != _FALCON:
        found = found[1:]
    scan = "falcon" if found == _FALCON else _SCANS.get(found)
    if scan is None or splits.byte_levels > 1:
        names = [step.matcher for step in splits.steps]
        raise Unsupported(f"pre-tokenizer steps {names} are not proven to agree again after a boundary")
    return scan, splits.add_prefix_space


def _name(step: _Step) -> str:
    return "BertNormalizer" if isinstance(step, BertOptions) else kinds.describe_step(step)
