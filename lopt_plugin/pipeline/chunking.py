r"""Whether a tokenizer's texts may be divided into chunks, and how: read apart from what the native core supports.

A text may be divided at p if the ids left of p do not depend on what is right of it, and the other way about. There are
two grounds for that, and every model other than these is refused:

"pattern". Words are pre-tokens, found by a scan from left to right whose next word depends on the text behind p only,
once a word begins at p; and the model (BPE, WordPiece, WordLevel) sees one word at a time. So two scans that have a
word beginning at p > both their starts agree ever after. With several steps this holds if all but the last step only
divide between two characters for what these two are ("local": Digits, Punctuation, the Chinese and Japanese runs of
DeepSeek): where p is a place of a local step, both scans start anew there; otherwise p is a place of the last step, and
both are in one piece of the local ones. Three pipelines need a word more:

- DeepSeek's first step takes digits in threes, and is not local. Its pieces hold digits only, in which no later step
  divides: two words that begin at p inside a run of digits are both the first step's.
- Falcon divides the words of GPT-2's pattern again, behind ByteLevel. Its Punctuation step comes first and takes the
  apostrophe away, so that words are runs of one class with at most a blank before them; a later step's place inside a
  run does not move the run's end, and three digits are counted from the last place that both scans share.

"vocabulary". BPE without a split pattern sees a whole stretch of text as one word. Every product of a merge is an
entry, so no token holds two neighbours that stand side by side in no entry: between these the text may be divided.
This asks that each of the two is an entry (else unknown characters might be fused).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import tokenizers

from .component_state import State, flattened, state_of, unknown_options
from .components import PostProcessor
from .post_processors import read_post_processor
from .split_patterns import COVERING, MATCHERS
from .unsupported import Unsupported

# What lies between matches, which are blanks, is dropped.
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_CLIP_LITERALS = ("<|startoftext|>", "<|endoftext|>")

_NORMALIZERS: dict[str, set[str]] = {
    "NFC": set(),
    "NFD": set(),
    "NFKC": set(),
    "NFKD": set(),
    "Lowercase": set(),
    "StripAccents": set(),
    "BertNormalizer": {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
    "Replace": {"pattern", "content"},
    "Prepend": {"prepend"},
}
# Normalizers that take characters away: what matches a token in the normalized text may be of any length in the text.
_DROPS_CHARACTERS = {"StripAccents", "BertNormalizer"}
_PRE_TOKENIZERS: dict[str, set[str]] = {
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "Split": {"pattern", "behavior", "invert"},
    "Digits": {"individual_digits"},
    "Punctuation": {"behavior"},
    "BertPreTokenizer": set(),
    "Whitespace": set(),
    "WhitespaceSplit": set(),
}
_MODEL_TYPES = ("BPE", "WordPiece", "WordLevel")
_Step = tuple[str, str]
_LOCAL: set[_Step] = {
    ("digits", "isolated"),
    ("digits", "contiguous"),
    ("punctuation", "Isolated"),
    ("punctuation", "Contiguous"),
}
_DEEPSEEK: list[_Step] = [(f"deepseek_{part}", "isolated") for part in ("numbers", "cjk", "main")]
_FALCON: list[_Step] = [
    ("punctuation", "Contiguous"),
    ("gpt2", "isolated"),
    ("byte_level", ""),
    ("digits", "contiguous"),
    ("three_digits", "isolated"),
]


@dataclass(frozen=True)
class Chunkable:
    """How a tokenizer's texts may be divided.

    how                 "pattern" or "vocabulary", see above
    scan                the name of the scan, for `explain`
    post_processor      the ids around the whole text's
    composes            the normalizer may change a character for the one before it
    only_before_blanks  of the cuts, only those before a blank: others divide no words, or make a stretch get a blank
    prepends            a stretch gets characters before it that are not in the text
    replaced            characters of the text that the normalizer replaces, each by one other
    literals            texts that the scan takes as one, also in normalized text
    """

    how: Literal["pattern", "vocabulary"]
    scan: str
    post_processor: PostProcessor
    composes: bool = False
    only_before_blanks: bool = False
    prepends: bool = False
    replaced: tuple[tuple[str, str], ...] = ()
    literals: tuple[str, ...] = ()


def read_chunking(tokenizer: tokenizers.Tokenizer) -> Chunkable | Unsupported:
    """How texts may be divided, or why they must not be. Reads neither the vocabulary nor the merges."""
    model = tokenizer.model
    kind = type(model).__name__
    if kind not in _MODEL_TYPES:
        return Unsupported(f"model {kind} is never cut into chunks: its choice of tokens has no bounded reach")
    if getattr(model, "dropout", None):
        return Unsupported(f"model {kind} with dropout is never cut into chunks: it is random")
    states = []
    for component, name in ((tokenizer.normalizer, "normalizer"), (tokenizer.pre_tokenizer, "pre-tokenizer")):
        state = state_of(component, name)
        if isinstance(state, Unsupported):
            return state
        states.append(state)
    normalizer, pre_tokenizer = states
    normalizer_steps = list(flattened(normalizer, "normalizers")) if normalizer is not None else []
    steps = list(flattened(pre_tokenizer, "pretokenizers")) if pre_tokenizer is not None else []
    if unsupported := _unknown(normalizer_steps, _NORMALIZERS, "normalizer"):
        return unsupported
    if unsupported := _unknown(steps, _PRE_TOKENIZERS, "pre-tokenizer"):
        return unsupported
    if any(token.normalized for token in tokenizer.get_added_tokens_decoder().values()):
        dropping = [step["type"] for step in normalizer_steps if step["type"] in _DROPS_CHARACTERS]
        if dropping:
            return Unsupported(f"added tokens are looked for behind normalizer {dropping[0]}, which drops characters")
    post_processor = _post_processor(tokenizer)
    if isinstance(post_processor, Unsupported):
        return post_processor
    if _never_splits(steps, normalizer_steps):
        return _by_vocabulary(model, normalizer_steps, post_processor)
    return _by_pattern(steps, normalizer_steps, post_processor)


def _post_processor(tokenizer: tokenizers.Tokenizer) -> PostProcessor | Unsupported:
    state = state_of(tokenizer.post_processor, "post-processor")
    if isinstance(state, Unsupported):
        return state
    found = read_post_processor(state)
    if isinstance(found, Unsupported):
        return found
    if len(found.prefix_ids) + len(found.suffix_ids) != tokenizer.num_special_tokens_to_add(is_pair=False):
        return Unsupported("the post-processor adds another number of ids than it says")
    return found


def _unknown(steps: list[State], known: dict[str, set[str]], kind: str) -> Unsupported | None:
    for step in steps:
        if step.get("type") not in known:
            return Unsupported(f"{kind} {step.get('type')} is not known to keep to its place, so nothing is cut")
        if unsupported := unknown_options(step, known[step["type"]], kind):
            return unsupported
    return None


def _never_splits(steps: list[State], normalizer_steps: list[State]) -> bool:
    """Whether words are whole stretches: no step, or one for a character that the normalizer leaves none of."""
    if not steps:
        return True
    gone = {old for old, new in _replaced(normalizer_steps) or () if new != old}
    return all(step["type"] == "Split" and step["pattern"].get("String") in gone for step in steps)


def _replaced(normalizer_steps: list[State]) -> list[tuple[str, str]] | None:
    """Single characters that are replaced by single ones; None where some step replaces in another way."""
    found = []
    for step in normalizer_steps:
        if step["type"] == "Replace":
            old, new = step["pattern"].get("String", ""), step["content"]
            if len(old) != 1 or len(new) != 1:
                return None
            found.append((old, new))
    return found


def _by_vocabulary(model: Any, normalizer_steps: list[State], post_processor: PostProcessor) -> Chunkable | Unsupported:
    if type(model).__name__ != "BPE":
        return Unsupported(f"model {type(model).__name__} without a split pattern is never cut into chunks")
    for option in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if getattr(model, option, None):
            return Unsupported(f"model BPE with {option} and without a split pattern is never cut into chunks")
    for step in normalizer_steps:
        if step["type"] not in ("Prepend", "Replace"):
            return Unsupported(f"normalizer {step['type']} without a split pattern is not known, so nothing is cut")
    replaced = _replaced(normalizer_steps)
    if replaced is None or len({old for old, _ in replaced} | {new for _, new in replaced}) != 2 * len(replaced):
        return Unsupported("normalizer Replace replaces more than single characters, so nothing is cut")
    prepends = any(step["type"] == "Prepend" for step in normalizer_steps)
    return Chunkable(
        "vocabulary",
        "no split pattern",
        post_processor,
        prepends=prepends,
        replaced=tuple(replaced),
    )


def _by_pattern(
    steps: list[State], normalizer_steps: list[State], post_processor: PostProcessor
) -> Chunkable | Unsupported:
    scan = _scan(steps)
    if isinstance(scan, Unsupported):
        return scan
    for step in normalizer_steps:
        one_blank = step["type"] == "Replace" and step["pattern"] == {"Regex": r"\s+"} and step["content"] == " "
        if step["type"] == "Prepend" or (step["type"] == "Replace" and not (one_blank and scan == "clip")):
            return Unsupported(f"normalizer {step['type']} before a split pattern is not known, so nothing is cut")
    return Chunkable(
        "pattern",
        scan,
        post_processor,
        composes=any(step["type"] not in ("Lowercase", "Replace") for step in normalizer_steps),
        only_before_blanks=scan == "WhitespaceSplit" or any(step.get("add_prefix_space", False) for step in steps),
        literals=_CLIP_LITERALS if scan == "clip" else (),
    )


def _scan(steps: list[State]) -> str | Unsupported:
    """The name of the scan that the steps are, if it is one that is proven above."""
    if [step["type"] for step in steps] in (["BertPreTokenizer"], ["Whitespace"], ["WhitespaceSplit"]):
        return str(steps[0]["type"])
    named: list[_Step] = []
    for number, step in enumerate(steps):
        name = _name(step)
        if isinstance(name, Unsupported):
            return name
        if step["type"] == "ByteLevel":
            if step["add_prefix_space"] and number != 0:
                return Unsupported("pre-tokenizer ByteLevel with add_prefix_space is not the first step")
            if step.get("use_regex", True):
                named.append(("gpt2", "isolated"))
        named.append(name)
    if named == _FALCON:
        return "falcon"
    while named and named[0] in _LOCAL:
        del named[0]
    if named and named[-1] == ("byte_level", ""):
        del named[-1]
    if named == _DEEPSEEK:
        return "deepseek_v3"
    if named in ([("clip", "")], [("clip", ""), ("gpt2", "isolated")]):
        return "clip"
    if len(named) == 1 and named[0][0] in COVERING and named[0][1] == "isolated":
        return named[0][0]
    return Unsupported(f"pre-tokenizer steps {[name for name, _ in named]} are not proven to meet again behind a cut")


def _name(step: State) -> _Step | Unsupported:
    if step["type"] == "ByteLevel":
        return "byte_level", ""
    if step["type"] == "Digits":
        return "digits", "isolated" if step["individual_digits"] else "contiguous"
    if step["type"] == "Punctuation":
        return "punctuation", step["behavior"]
    if step["type"] != "Split":
        return Unsupported(f"pre-tokenizer {step['type']} stands among others, so nothing is cut")
    pattern, behavior, invert = step["pattern"].get("Regex"), step["behavior"], step["invert"]
    if pattern == CLIP and behavior == "Removed" and invert:
        return "clip", ""
    matcher = MATCHERS.get(pattern)
    if matcher is None:
        return Unsupported(f"split pattern {step['pattern']!r} is not on the allow-list, so nothing is cut")
    each_by_itself = behavior == "Isolated" or (
        matcher in COVERING and (behavior.startswith("MergedWith") or (behavior == "Removed" and invert))
    )
    return matcher, "isolated" if each_by_itself else behavior
