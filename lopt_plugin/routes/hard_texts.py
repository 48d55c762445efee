"""Texts on which tokenizers are most likely to differ: every class of characters, runs, changes of script."""

from __future__ import annotations

import functools
import random
import unicodedata
from collections.abc import Sequence

# One string for each class that split patterns and normalizers distinguish.
_CLASSES = {
    "lower": "abzéßñøčłıſабвαςգ",
    "upper": "ABZÉØČŁİАБВΑΣǅ",
    "other letter": "אبतไ한日カ中文々ʰªº",
    "mark": "\u0301\u0327\u0345\u093c\u0e31\u20dd\ufe0f",
    "number": "0123456789²¼Ⅷ٣४𝟘〇①",
    "space": " \t\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u202f\u3000",
    "newline": "\r\n",
    "punctuation": "'’\"`.,;:!?-–_/\\|()[]{}<>@#%&*…·。，、「»",
    "symbol": "$+=~^€§¶©😀👍🏽🇺🇸❤",
    "control": "\x00\x07\x1b\x7f\x9f\u200b\u200d\ufeff\ufffd\U000e0001\U0010ffff",
    "composing": "e\u0301q\u0323\u0307か\u3099\u1100\u1161\u11a8\u212b\u0344\u0958ﬁ",
    "compatible": "ﬁ①Ａｱ\uff9e㎏…ſẛ\u0323각\u3131\ufdfa½Ⅷ\u2011\u3000",
    "case": "İıẞßΣςſKÅǅΐŉÀE\u0301\u0345Ⓐⅷ",
}
_PHRASES = (
    "", " ", "a", " a", "a ", "\n", " \n a", "\r\n\r\n", "\t\t\tx", "   three",
    "The quick brown fox, isn't it? It's 12345.67!", "I'M WE'LL you'RE 's 't x'ſ y'sa ’s",
    "def f(x):\n\treturn x ** 2  # done\r\n\r\n\r\n    \n", "http://a.b/c?d=e&f=%20#g",
    "東京は日本の首都です。人口1400万人", "한국어 텍스트", "Ελληνικά ΣΊΣΥΦΟΣ", "हिन्दी में",
    "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈",
    "x²y³ 1234567 ١٢٣ ½", "camelCaseHTTPServer snake_case_1 SHOUT", "a.\n/b .\n/ ..//", "--- *** === ```py\n```",
    "<|endoftext|> <s></s> [MASK] <0x0A> ▁Ġ",
)  # fmt: skip
_RUNS = "aA é中1 .\n=-'\u0301"
# One of them composes with nearly every letter, and with < = >.
_MARKS = "\u0301\u0323\u0307\u030c\u0327\u0338"
_CONTEXTS = ("{}", "a{}b", " {} ", "\n{}\n", "中{}1", "{}{}", ".{} x")
_EVERY_CONTEXT_UP_TO = 40
_TOKENS_PER_TEXT = 8
# More than real tokenizers have. A tokenizer with more still loads in about the time that Hugging Face takes.
_MOST_TOKENS = 8192


def hard_texts(added_tokens: Sequence[str]) -> list[str]:
    """About 200 fixed texts, and the added tokens (or a sample, if there are very many) in several contexts."""
    return [*_fixed_texts(), *_with_added_tokens(added_tokens[:: 1 + len(added_tokens) // _MOST_TOKENS])]


@functools.cache
def _fixed_texts() -> list[str]:
    rng = random.Random(20240229)
    texts = list(_PHRASES)
    texts += list(_CLASSES.values())
    texts += [character * length for character in _RUNS for length in (2, 17, 130)]
    alphabets = [*_CLASSES.values(), "".join(_CLASSES.values()), "sStTdDmMlLvVrReE'’ \nxé1"]
    texts += ["".join(rng.choices(alphabets[k % len(alphabets)], k=rng.randint(5, 60))) for k in range(65)]
    everything = [c for characters in _CLASSES.values() for c in characters] + list(_PHRASES)
    return texts + ["".join(rng.choices(everything, k=rng.randint(2, 12))) for _ in range(60)]


def _with_added_tokens(added_tokens: Sequence[str]) -> list[str]:
    if len(added_tokens) <= _EVERY_CONTEXT_UP_TO:
        pieces = [context.replace("{}", token) for context in _CONTEXTS for token in added_tokens]
    else:
        pieces = [_CONTEXTS[k % len(_CONTEXTS)].replace("{}", token) for k, token in enumerate(added_tokens)]
    texts = ["".join(pieces[k : k + _TOKENS_PER_TEXT]) for k in range(0, len(pieces), _TOKENS_PER_TEXT)]
    # Incomplete added tokens are plain text, which a matcher may mistake for the tokens.
    texts.append("".join(token[:-1] + token[1:] for token in added_tokens[:_EVERY_CONTEXT_UP_TO]))
    # A mark that composes with a token's last character takes it out of the normalized text. Before tokenizers 0.23, a
    # token that was added again with other flags is still found in the raw text, which nothing but an attempt shows.
    if len(added_tokens) <= _EVERY_CONTEXT_UP_TO:
        return [*texts, *("".join(token + mark for token in added_tokens) for mark in _MARKS)]
    # By last character: the 6,415 added tokens of Gemma 3 have five different ones.
    marks = {last: _composing_mark(last) for last in {token[-1:] for token in added_tokens}}
    return [*texts, "".join(token + marks[token[-1:]] for token in added_tokens)]


def _composing_mark(last: str) -> str:
    """The first mark that composes with the last character of a token; any, if none does."""
    return next((mark for mark in _MARKS if len(unicodedata.normalize("NFC", last + mark)) == 1), _MARKS[0])
