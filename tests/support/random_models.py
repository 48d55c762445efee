"""Random byte-level BPE models that no training gives: merges in any order, several for an entry, or none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tokenizers import Tokenizer, models, pre_tokenizers

# Characters of one to four bytes that share their first bytes, so that entries begin and end inside characters.
ALPHABETS = [
    *["ab", "abc", "aé中", "中丁乀", "中丁a", "😀👀", "éèĉ", "中丁乀ab", "😀中éa", "\u0900कखग", "ひㄱ가각"],
    "\u0800\u0801\U00010000a",
]
LONGEST_ENTRY = 40  # bytes


def _byte_alphabet() -> list[str]:
    """The stand-in character of each byte, in GPT-2's order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


STAND_INS = _byte_alphabet()
BYTES = {stand_in: byte for byte, stand_in in enumerate(STAND_INS)}


def stand_ins(data: bytes) -> str:
    return "".join(STAND_INS[byte] for byte in data)


def data_of(entry: str) -> bytes:
    return bytes(BYTES[stand_in] for stand_in in entry)


@dataclass(frozen=True)
class Model:
    """Ids by entry and merges in order of rank, in stand-in characters; the characters that they are about."""

    vocabulary: dict[str, int]
    merges: list[tuple[str, str]]
    characters: str

    def reference(self, ignore_merges: bool = False) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE(vocab=self.vocabulary, merges=self.merges, ignore_merges=ignore_merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return tokenizer


def random_model(rng: random.Random) -> Model:
    characters = rng.choice(ALPHABETS)
    parts = sorted({STAND_INS[byte] for byte in characters.encode()})
    merges: list[tuple[str, str]] = []
    for _ in range(rng.choice([3, 8, 20, 60, 150])):
        left, right = _pair_of_a_text(rng, characters, merges) if rng.random() < 0.5 else rng.choices(parts, k=2)
        if len(left) + len(right) <= LONGEST_ENTRY:
            merges.append((left, right))
            parts.append(left + right)
    kind = rng.randrange(4)
    if kind == 1:
        rng.shuffle(merges)
    elif kind == 2:
        merges = _with_other_splits(rng, merges, set(parts))
    elif kind == 3:
        merges = _nearly_sorted(rng, merges)
    if rng.random() < 0.2:
        merges += rng.choices(merges, k=3) if merges else []
    entries = [*STAND_INS, *sorted({left + right for left, right in merges} - set(STAND_INS))]
    entries += sorted(set(_without_merges(rng, characters)) - set(entries))
    ids = rng.sample(range(3 * len(entries)), len(entries)) if rng.random() < 0.5 else range(len(entries))
    return Model(dict(zip(entries, ids, strict=True)), merges, characters)


def random_character_model(rng: random.Random) -> Model:
    """Characters of three bytes that are tokens, mostly, and merges of two and more of them; parts of some as well."""
    pages = rng.sample(["中丁乀", "的了和", "あいア", "ㄱ가각", "กขค", "कखग", "、。「"], rng.randint(1, 3))
    characters = "".join(pages)
    merges: list[tuple[str, str]] = []
    for character in characters:
        first, second, third = stand_ins(character.encode())
        if rng.random() < 0.9:
            from_left = [(first, second), (first + second, third)]
            merges += from_left if rng.random() < 0.8 else [(second, third), (first, second + third)]
    whole = [stand_ins(character.encode()) for character in characters]
    pairs = [(left, right) for left, right in (rng.choices(whole, k=2) for _ in range(rng.choice([2, 5, 12, 25])))]
    longer = []
    for _ in range(rng.choice([0, 0, 1, 4, 20])):
        made = ["".join(merge) for merge in [*pairs, *longer]]
        both = rng.choice(made), rng.choice([*whole, *made])
        longer.append(both if rng.random() < 0.5 else both[::-1])
    for _ in range(rng.choice([0, 0, 1, 3])):
        character, other, cut = rng.choice(whole), rng.choice(whole), rng.randint(1, 2)
        longer.append(rng.choice([(character, other[:cut]), (other[cut:], character), (other[cut:], character[:cut])]))
    merges = list(dict.fromkeys([*merges, *pairs, *longer]))
    kind = rng.randrange(4)
    if kind == 1:
        rng.shuffle(merges)
    elif kind == 2:
        merges = _nearly_sorted(rng, merges)
    elif kind == 3:
        merges = list(dict.fromkeys(_with_other_splits(rng, merges, {*STAND_INS, *map("".join, merges)})))
    entries = list(dict.fromkeys([*STAND_INS, *(part for pair in merges for part in (*pair, "".join(pair)))]))
    ids = rng.sample(range(3 * len(entries)), len(entries)) if rng.random() < 0.3 else range(len(entries))
    return Model(dict(zip(entries, ids, strict=True)), merges, characters + rng.choice(["", "", " a", "é", "😀"]))


def _pair_of_a_text(rng: random.Random, characters: str, merges: list[tuple[str, str]]) -> tuple[str, str]:
    """Neighbours in a random text to which some merges were applied: pairs that a text can hold."""
    tokens = [*stand_ins("".join(rng.choices(characters, k=8)).encode())]
    for left, right in rng.sample(merges, min(len(merges), 30)):
        place = 0
        while place + 1 < len(tokens):
            if tokens[place : place + 2] == [left, right]:
                tokens[place : place + 2] = [left + right]
            place += 1
    place = rng.randrange(max(1, len(tokens) - 1))
    return (tokens[place], tokens[place + 1]) if len(tokens) > 1 else (tokens[0][:1], tokens[0][:1])


def _with_other_splits(rng: random.Random, merges: list[tuple[str, str]], entries: set[str]) -> list[tuple[str, str]]:
    """All splits of each entry into entries, as converted tiktoken files have them, or some at any rank."""
    found = [
        (left + right, (both[:place], both[place:]))
        for left, right in merges
        for both in [left + right]
        for place in range(1, len(both))
        if both[:place] in entries and both[place:] in entries
    ]
    splits = [split for _, split in found]
    if rng.random() < 0.5:
        return list(dict.fromkeys(splits))
    extra = rng.sample(splits, min(len(splits), 20))
    result = list(merges)
    for split in extra:
        result.insert(rng.randint(0, len(result)), split)
    return result


def _nearly_sorted(rng: random.Random, merges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A few merges moved: most tokens are made of earlier ones, some are not."""
    result = list(merges)
    for _ in range(rng.randint(1, 4)):
        if result:
            result.insert(rng.randint(0, len(result) - 1), result.pop(rng.randrange(len(result))))
    return result


def _without_merges(rng: random.Random, characters: str) -> Iterator[str]:
    for _ in range(rng.choice([0, 0, 2, 10])):
        data = "".join(rng.choices(characters, k=rng.randint(1, 12))).encode()
        start = rng.randrange(3)
        yield stand_ins(data[start : len(data) - rng.randrange(3)] or data)


def random_words(rng: random.Random, model: Model, count: int) -> list[str]:
    """Words of the model's characters: random, runs, and joined entries; some longer than any limit of a method."""
    entries = [data_of(entry) for entry in model.vocabulary if len(entry) > 1]
    words = []
    for _ in range(count):
        kind = rng.randrange(4)
        if kind == 0 and entries:
            word = b"".join(rng.choices(entries, k=rng.randint(1, 6))).decode(errors="ignore")
        elif kind == 1:
            word = "".join(rng.choice(model.characters) * rng.randint(1, 9) for _ in range(rng.randint(1, 8)))
        else:
            word = "".join(rng.choices(model.characters, k=rng.choice([1, 2, 3, 4, 5, 6, 8, 12, 16, 30, 70, 300])))
        words.append(word or model.characters[0])
    return words
