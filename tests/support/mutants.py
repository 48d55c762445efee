"""Real tokenizers, spoiled: `mutant` gives one by its seed; as a program, compares each of a range with Hugging Face.

    python mutants.py FIRST LAST [--large]

Prints a line of JSON before each mutant, before what lopt_plugin does with it, and for what came of it. A limit of CPU
time ends the process where lopt_plugin takes much more than Hugging Face did.
"""

from __future__ import annotations

import argparse
import copy
import functools
import itertools
import json
import logging
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import corpus
import hard_texts

Json = Any
Place = tuple[Any, Any]  # a dict or a list, and a key or an index of it

MOST_MEMORY = 6 << 30  # of addresses
MORE_MEMORY_KB = 1 << 20  # than Hugging Face
MORE_CPU_S = 1.0
REFERENCE_CPU_S = 30.0  # what takes Hugging Face longer is not tried

# The library writes a vocabulary id by id: one near 2^32 takes it minutes and gigabytes.
NUMBERS = [0, 1, -1, 2**20 - 2, 2**20 - 1, 2**22, 2**32, 2**63, 10**30, 1.5, 1e308]
STRINGS = ["", " ", "  ", "a", "\n\n", "\u2581", "\u0120", "\u00ff", "\x00", "\u0301", "\U0001f600", "<s>"]
STRINGS += ["ab " * 20_000]
OTHERS = [None, True, False, [], {}, [[]], "x", 3]
PATTERNS = [r"\s+", r"\w+|\W+", ".", r"\p{N}{1,3}", "", "(", r"(?<!a)b", r"(a|b|ab)*", r" ?[^\s\p{L}]+", r"\X"]
FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"]
COMPONENTS = ["normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "added_tokens"]
COMPONENTS += ["truncation", "padding"]
SEQUENCES = [("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers"), ("post_processor", "processors")]
MANY_ADDED_TOKENS = [1_000, 20_000]


def names(large: bool) -> list[str]:
    """Of the tokenizers that are spoiled."""
    found = corpus.tokenizer_names()
    return found if large else [name for name in found if name.startswith(("tiny_", "wordpiece_"))]


@functools.lru_cache(maxsize=4)
def _parsed(name: str) -> Json:
    return json.loads(corpus.tokenizer_json(name))


def places(value: Json, around: bool = False) -> list[Place]:
    """All places in the JSON, but of the vocabulary and the merges only a few."""
    found: list[Place] = []
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in itertools.islice(items, 40):
        found.append((value, key))
        if isinstance(item, (dict, list)) and not around:
            found += places(item)
    return found


def _drop(rng: random.Random, tokenizer: Json) -> None:
    holder, key = rng.choice(places(tokenizer))
    del holder[key]


def _replace(rng: random.Random, tokenizer: Json) -> None:
    holder, key = rng.choice(places(tokenizer))
    kinds = {bool: [True, False, None], int: NUMBERS, str: STRINGS}
    alike = kinds.get(type(holder[key]), OTHERS)
    holder[key] = copy.deepcopy(rng.choice(alike if rng.random() < 0.8 else [*OTHERS, *NUMBERS, *STRINGS]))


def _swap(rng: random.Random, tokenizer: Json) -> None:
    all_places = places(tokenizer)
    (first, a), (second, b) = rng.choice(all_places), rng.choice(all_places)
    first[a], second[b] = copy.deepcopy(second[b]), copy.deepcopy(first[a])


def _repeat(rng: random.Random, tokenizer: Json) -> None:
    lists = [holder[key] for holder, key in places(tokenizer) if isinstance(holder[key], list) and holder[key]]
    if lists:
        chosen = rng.choice(lists)
        item = copy.deepcopy(rng.choice(chosen))
        for _ in range(rng.choice([1, 1, 2, 1000])):
            chosen.insert(rng.randrange(len(chosen) + 1), copy.deepcopy(item))


def _nest(rng: random.Random, tokenizer: Json) -> None:
    key, inside = rng.choice(SEQUENCES)
    for _ in range(rng.choice([1, 3, 50, 200])):
        tokenizer[key] = {"type": "Sequence", inside: [] if tokenizer.get(key) is None else [tokenizer[key]]}


def _deep_json(rng: random.Random, tokenizer: Json) -> None:
    value: Json = []
    for _ in range(rng.choice([50, 100, 300])):
        value = [value]
    rng.choice([tokenizer, tokenizer["model"]])["nobody knows this"] = value


def _component_of_another(rng: random.Random, tokenizer: Json) -> None:
    key = rng.choice(COMPONENTS)
    tokenizer[key] = copy.deepcopy(_parsed(rng.choice(names(False))).get(key))


def _pattern(rng: random.Random, tokenizer: Json) -> None:
    of_pattern = [place for place in places(tokenizer) if place[1] in ("Regex", "String")]
    patterns = [(holder, key) for holder, key in of_pattern if isinstance(holder[key], str)]
    if not patterns:
        tokenizer["pre_tokenizer"] = {
            "type": "Split",
            "pattern": {rng.choice(["Regex", "String"]): rng.choice(PATTERNS)},
            "behavior": rng.choice(["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]),
            "invert": rng.random() < 0.3,
        }
        return
    holder, key = rng.choice(patterns)
    pattern = holder[key]
    at = rng.randrange(len(pattern) + 1)
    shorter, longer = pattern[:at] + pattern[at + 1 :], pattern[:at] + rng.choice("+*?.a |s") + pattern[at:]
    holder[key] = rng.choice([shorter, longer, rng.choice(PATTERNS)])


def _vocabulary(rng: random.Random, tokenizer: Json) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    entries = list(vocabulary)
    a, b = rng.choice(entries), rng.choice(entries[:300])
    how = rng.randrange(8)
    if how == 0:
        del vocabulary[b]
    elif how == 1:
        vocabulary[a], vocabulary[b] = vocabulary[b], vocabulary[a]
    elif how == 2:
        vocabulary[a] = vocabulary[b]
    elif how == 3:
        vocabulary[a] = rng.choice(NUMBERS)
    elif how == 4:
        entry = rng.choice(STRINGS) + rng.choice(["", "\u4e2d", a])
        vocabulary[entry] = rng.choice([len(entries), vocabulary[b], 5_000, 100_000])
    elif how == 5:
        vocabulary[a + "x"] = vocabulary.pop(a)
    elif how == 6:
        first = min(vocabulary.values())
        for number, entry in enumerate(entries):
            vocabulary[entry] = first + number * 3
    else:
        for number, entry in enumerate(entries):
            vocabulary[entry] = len(entries) - number


def _merges(rng: random.Random, tokenizer: Json) -> None:
    merges = tokenizer["model"].get("merges")
    if not merges:
        return _vocabulary(rng, tokenizer)
    a, b = rng.randrange(len(merges)), rng.randrange(min(len(merges), 300))
    how = rng.randrange(8)
    if how == 0:
        del merges[b]
    elif how == 1:
        merges[a], merges[b] = merges[b], merges[a]
    elif how == 2:
        merges.insert(b, copy.deepcopy(merges[a]))
    elif how == 3:
        merges.reverse()
    elif how == 4:
        odd: list[Any] = [["", "a"], ["a", ""], ["a"], "a", "a b c", ["a", "b", "c"], ["a", "\u4e2d"], [" ", "a"], 3]
        merges[b] = rng.choice(odd)
    elif how == 5:
        merges.append(rng.choice([["a", "a"], ["e", "r"], ["t", "h"]]))
    elif how == 6:
        del merges[len(merges) // rng.choice([1, 2, 10]) :]
    else:
        rng.shuffle(merges)
    return None


def _added_tokens(rng: random.Random, tokenizer: Json) -> None:
    tokens = tokenizer["added_tokens"]
    vocabulary = list(tokenizer["model"]["vocab"])
    for _ in range(rng.choice([1, 1, 3, 10])):
        common = ["a", "e", "th", " the", "\n", "aaa", "\u00e9", "E\u0301", "<|end|>", rng.choice(vocabulary)]
        number = rng.choice([len(vocabulary) + rng.randrange(100), rng.randrange(len(vocabulary))])
        flags = {flag: rng.random() < 0.4 for flag in FLAGS}
        tokens.append({"id": number, "content": rng.choice([*STRINGS[:-1], *common]), **flags})
    if rng.random() < 0.5:
        tokens.sort(key=lambda token: str(token.get("id")))
    else:
        token = rng.choice(tokens)
        token[rng.choice(FLAGS)] = rng.random() < 0.5


def _many_added_tokens(rng: random.Random, tokenizer: Json) -> None:
    first = 1 + max(id for id in tokenizer["model"]["vocab"].values() if isinstance(id, int))
    tokens = tokenizer["added_tokens"]
    tokens.sort(key=lambda token: str(token.get("id")))
    for number in range(rng.choice(MANY_ADDED_TOKENS)):
        tokens.append({"id": first + len(tokens), "content": f"<{number}>", **dict.fromkeys(FLAGS, False)})


MUTATIONS: list[Callable[[random.Random, Json], None]] = [
    _drop,
    *[_replace] * 4,
    _swap,
    _repeat,
    _nest,
    _deep_json,
    *[_component_of_another] * 3,
    *[_pattern] * 3,
    *[_vocabulary] * 3,
    *[_merges] * 3,
    *[_added_tokens] * 4,
]


def mutant(seed: int, large: bool) -> tuple[str, bytes]:
    """What was done, and the tokenizer.json, which need not be one."""
    rng = random.Random(f"mutant {seed}")
    name = rng.choice(names(False) if not large or rng.random() < 0.9 else names(True))
    tokenizer = copy.deepcopy(_parsed(name))
    chosen = rng.choices(MUTATIONS, k=rng.choice([1, 1, 1, 2, 4]))
    if seed % 97 == 96:
        chosen = [_many_added_tokens]
    done = [name]
    for mutation in chosen:
        try:
            mutation(rng, tokenizer)
            done.append(mutation.__name__)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):  # an earlier one left nothing to spoil
            continue
    data = json.dumps(tokenizer, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    if rng.random() < 0.03:
        at = rng.randrange(len(data))
        before, after = data[:at], data[at:]
        data = rng.choice([before, before + b"\xff" + after, before + b"\\ud800" + after, data + b"{}"])
        done.append("bytes")
    return " ".join(done), data


def texts(tokenizer: Any, seed: int) -> list[str]:
    """A few hard ones, with added tokens of the tokenizer."""
    rng = random.Random(f"texts {seed}")
    families = [list(itertools.islice(hard_texts.texts(family, seed % 7), 20)) for family in hard_texts.families()]
    found = [rng.choice(family) for family in families]
    added = [token.content for token in itertools.islice(tokenizer.get_added_tokens_decoder().values(), 200)]
    pieces = [*added, " ", "\n", "a", "the ", "\u00e9", "1"]
    return [text[:1000] for text in found] + ["".join(rng.choices(pieces, k=30))[:2000], ""]


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """What a call returns, or the kind of what it raises, a panic of the library included."""
    try:
        return "returns", call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return "raises", type(error).__name__


def differing(found: list[tuple[str, Any]], right: list[tuple[str, Any]]) -> int | None:
    """The number of the first answer that is not the reference's; where that panics, no answer is wrong."""
    pairs = enumerate(zip(found, right, strict=True))
    return next((i for i, (a, b) in pairs if a != b and b != ("raises", "PanicException")), None)


class Errors(logging.Handler):
    """Keeps what is logged as an error: bugs that a fallback hid."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


class Comparison:
    """Compares mutants, one after the other, in this process."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast

        from lopt_plugin.settings import Settings
        from lopt_plugin.tokenizer.accelerated import accelerate_in_place

        # As engines do; `accelerate` makes a copy first, which takes Hugging Face as long as loading.
        self.accelerate = lambda tokenizer: accelerate_in_place(tokenizer, Settings.read(threads=2))
        self.load = lambda data: PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_buffer(data))
        self.errors = Errors()
        logging.getLogger("lopt_plugin").addHandler(self.errors)
        self.usual_cpu_s: dict[str, float] = {}  # of real tokenizers

    def answers(self, tokenizer: Any, seed: int) -> list[tuple[str, Any]]:
        def ask(text: str) -> tuple[str, Any]:
            return outcome(lambda: dict(tokenizer(text, return_offsets_mapping=True)))

        chosen = texts(tokenizer.backend_tokenizer, seed)
        return [*map(ask, chosen), outcome(lambda: tokenizer(chosen, add_special_tokens=False)["input_ids"])]

    def _again(self, data: bytes, seed: int) -> tuple[str, Any]:
        """Hugging Face's answers once more: what depends on the order of a hash table says nothing."""
        return outcome(lambda: self.answers(self.load(data), seed))

    def usual(self, name: str) -> float:
        """CPU time that lopt_plugin takes for a real tokenizer."""
        if name not in self.usual_cpu_s:
            tokenizer = self.load(corpus.tokenizer_json(name).encode())
            start = time.process_time()
            self.answers(self.accelerate(tokenizer), 0)
            self.usual_cpu_s[name] = time.process_time() - start
        return self.usual_cpu_s[name]

    def compare(self, seed: int, large: bool) -> Iterator[dict[str, Any]]:
        """What is done and what comes of it, line by line."""
        what, data = mutant(seed, large)
        yield {"seed": seed, "what": what}
        signal.setitimer(signal.ITIMER_PROF, 0)  # of a mutant that was no tokenizer
        usual = self.usual(what.split()[0])
        signal.setitimer(signal.ITIMER_PROF, REFERENCE_CPU_S)
        start = time.process_time()
        loads = outcome(lambda: self.load(data))
        if loads[0] == "raises":
            yield {"seed": seed, "verdict": "no tokenizer", "reason": loads[1]}
            return
        reference = loads[1]
        right = self.answers(reference, seed)
        reference_s, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield {"seed": seed, "reference_s": reference_s}
        self.errors.found.clear()
        allowed = reference_s + 2 * usual + MORE_CPU_S
        signal.setitimer(signal.ITIMER_PROF, allowed)
        accelerated = self.accelerate(reference)
        found = self.answers(accelerated, seed)
        explained = accelerated.lopt.explain()
        signal.setitimer(signal.ITIMER_PROF, 0)
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        verdict = {"seed": seed, "what": what, "verdict": explained["route"], "reason": explained["reason"]}
        if self.errors.found:
            yield {**verdict, "wrong": self.errors.found[0]}
        elif explained["route"] != "native" and not explained["reason"]:
            yield {**verdict, "wrong": "no reason"}
        elif more > MORE_MEMORY_KB:
            yield {**verdict, "wrong": f"{more >> 10} MB"}
        elif (number := differing(found, right)) is not None and all(
            self._again(data, seed) == ("returns", right) for _ in range(3)
        ):
            yield {**verdict, "wrong": f"text {number}: {found[number]!r:.300} for {right[number]!r:.300}"}
        else:
            yield verdict


def main() -> None:
    """Compares the mutants of a range of seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--write", action="store_true", help="print the first one's tokenizer.json instead")
    options = parser.parse_args()
    if options.write:
        sys.stdout.buffer.write(mutant(options.first, options.large)[1])
        return
    if options.large:
        MANY_ADDED_TOKENS.append(1_000_000)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    comparison = Comparison()
    for seed in range(options.first, options.last):
        for line in comparison.compare(seed, options.large):
            print(re.sub(r"[\ud800-\udfff]", "?", json.dumps(line)), flush=True)


if __name__ == "__main__":
    main()
