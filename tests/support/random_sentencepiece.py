"""Random BPE tokenizers over characters with U+2581 for the space: merges in any order, unknown characters, flags."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from random_models import _nearly_sorted, _with_other_splits
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

SIGN = "\u2581"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
# Characters of one to four bytes, some of which share their first bytes.
ALPHABETS = [
    "ab",
    "aB.",
    "abAB1,>",
    "aé中",
    "中丁乀",
    "中丁a\n",
    "😀👀a",
    "éèĉ",
    "😀中éa1",
    "\u2580\u2582a",
    "\u0800\u0801\U00010000\U00010001a",
    "\x00\x7f\t",
]

PREPEND, REPLACE = normalizers.Prepend(SIGN), normalizers.Replace(" ", SIGN)
NORMALIZERS: list[Any] = [normalizers.Sequence([PREPEND, REPLACE]), normalizers.Sequence([REPLACE, PREPEND]), REPLACE]


def _metaspace(scheme: str, split: bool) -> Any:
    return pre_tokenizers.Metaspace(SIGN, prepend_scheme=scheme, split=split)


METASPACES = [_metaspace(scheme, split) for scheme in ("always", "first", "never") for split in (True, False)]
SPLITS = [None, *(pre_tokenizers.Split(" ", behavior) for behavior in ("merged_with_previous", "isolated", "removed"))]
PIPELINES = [
    *((normalizer, split) for normalizer in NORMALIZERS for split in SPLITS),
    *((None, metaspace) for metaspace in METASPACES),
    *((REPLACE, metaspace) for metaspace in METASPACES),
    *((NORMALIZERS[0], metaspace) for metaspace in METASPACES if metaspace.prepend_scheme != "first"),
]
UNKNOWN = [
    *({"unk_token": "<unk>", "fuse_unk": fuse, "byte_fallback": fallback} for fuse in (0, 1) for fallback in (0, 1)),
    {"unk_token": None, "fuse_unk": False, "byte_fallback": True},
]


@dataclass(frozen=True)
class RandomTokenizer:
    tokenizer: Tokenizer
    pieces: list[str]
    """What texts about it are made of: its characters and entries, characters that it does not know, added tokens."""

    def texts(self, rng: random.Random, count: int) -> list[str]:
        texts = []
        for _ in range(count):
            some = rng.sample(self.pieces, min(len(self.pieces), rng.choice([2, 4, 30])))
            texts.append("".join(rng.choices(some, k=rng.choice([0, 1, 2, 3, 5, 8, 20, 60, 200]))))
        return texts


def random_tokenizer(rng: random.Random) -> RandomTokenizer:
    characters = [*rng.choice(ALPHABETS)]
    known = [SIGN, *(c for c in characters if rng.random() < 0.85)]
    options = rng.choice(UNKNOWN)
    vocabulary, merges = _random_model(rng, known)
    for name in ["<unk>", *BYTE_TOKENS] if options["byte_fallback"] else ["<unk>"]:
        vocabulary.setdefault(name, len(vocabulary))
    has_added_tokens = rng.random() < 0.5
    if not has_added_tokens:  # these get the number of entries for an id, whether or not it is taken
        ids = rng.sample(range(3 * len(vocabulary)), len(vocabulary))
        vocabulary = dict(zip(vocabulary, ids, strict=True))
    tokenizer = Tokenizer(
        models.BPE(
            vocab=vocabulary,
            merges=merges,
            unk_token=options["unk_token"],
            fuse_unk=bool(options["fuse_unk"]),
            byte_fallback=bool(options["byte_fallback"]),
        )
    )
    normalizer, pre_tokenizer = rng.choice(PIPELINES)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    added = _random_added_tokens(rng, [*known, *vocabulary]) if has_added_tokens else []
    tokenizer.add_tokens(added)
    spaces = [" ", " ", "  ", SIGN, " " * rng.randint(3, 70), "\n"]
    entries = [name.replace(SIGN, rng.choice([" ", " ", SIGN])) for name in vocabulary if name not in BYTE_TOKENS]
    unknown = ["?", "é", "ж", "丐", "😁", "\U00010300"]
    pieces = [*characters, *characters, *spaces, *rng.sample(entries, min(len(entries), 20)), *unknown]
    return RandomTokenizer(tokenizer, [*pieces, *(token.content for token in added)])


def _random_model(rng: random.Random, known: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    parts = [*known]
    merges: list[tuple[str, str]] = []
    holds_spaces = rng.random() < 0.2  # entries that no text can hold, as its spaces are spelled as signs
    if holds_spaces:
        parts.append(" ")
    for _ in range(rng.choice([0, 3, 8, 20, 60, 150])):
        recent = parts[-8:] if rng.random() < 0.5 else parts
        left, right = rng.choice(recent), rng.choice(parts)
        if len(left) + len(right) <= 24:
            merges.append((left, right))
            parts.append(left + right)
    kind = rng.randrange(4)
    if kind == 1:
        rng.shuffle(merges)
    elif kind == 2:
        merges = _with_other_splits(rng, merges, set(parts))
    elif kind == 3:
        merges = _nearly_sorted(rng, merges)
    unmade = ["".join(rng.choices(known, k=rng.randint(2, 6))) for _ in range(rng.choice([0, 3]))]
    never = [(name, rng.choice(parts)) for name in unmade if rng.random() < 0.3]  # unless others make it, too
    for left, right in never:
        merges.insert(rng.randint(0, len(merges)), (left, right))
    names = dict.fromkeys([*parts, *unmade, *(left + right for left, right in never)])
    return {name: number for number, name in enumerate(names)}, merges


def _random_added_tokens(rng: random.Random, names: list[str]) -> list[AddedToken]:
    contents = ["<x>", "</x>", " <b>", "<b> ", f"{SIGN}<c>", " ", SIGN, "\n", *rng.sample(names, min(len(names), 5))]
    return [
        AddedToken(
            content,
            single_word=rng.random() < 0.2,
            # The reference panics where a space that one token has taken would begin the next.
            lstrip=rng.random() < 0.3 and not content[0].isspace(),
            rstrip=rng.random() < 0.3,
            normalized=rng.random() < 0.5,
            special=rng.random() < 0.5,
        )
        for content in rng.sample(contents, rng.randint(1, 4))
    ]
