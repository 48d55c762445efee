"""Rows without a seam (digits, symbols, emoji, spaces): appended to, cut and counted in parts, == the reference."""

from __future__ import annotations

import random

import native_cores
import pytest
import test_growing
import tier
from tokenizers import AddedToken, Tokenizer

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings

NAMES = ["tiny_qwen2", "tiny_cl100k", "tiny_o200k", "tiny_roberta"]
NAMES += tier.pick([], ["tiny_tekken", "tiny_deepseek_v3", "tiny_falcon"])
ROWS = {
    "digits": "0123456789",
    "one digit": "7",
    "numbers": "12\u00b2\u0663\u2167\U0001d7d9",
    "symbols": "=-*.'/\u20ac",
    "emoji": "\U0001f600\U0001f602\u2764\ufe0f\u200d",
    "one emoji": "\U0001f600",
    "joiners": "\U0001f468\u200d\u00ad\u0378\ue000",
    "spaces": " \t\u3000",
    "newlines": "\n\r",
    "white space": " \n\t",
    "no kind": "1a =\n",
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_grows(name: str, kind: str) -> None:
    encoder = test_growing.encoder_of(name)
    rng = random.Random(f"{name} {kind}")
    row = "".join(rng.choices(ROWS[kind], k=900))
    edges = [("", ""), (" ", " x"), ("a\n ", "a"), ("x", "\n1"), ("=", "=")]
    for before, after in rng.sample(edges, tier.pick(2, len(edges))):
        text = before + row + after
        growing = encoder.incremental(add_special_tokens=False)
        end = 0
        while end < len(text):
            end, start = end + rng.choice([1, 2, 3, 100, 300]), end
            growing.append(text[start:end])
            ids = test_growing.expected(encoder, text[:end], False)
            assert growing.count == len(ids)
            assert growing.ids == ids
            assert ids[: growing.stable] == test_growing.expected(encoder, text, False)[: growing.stable]
        state = growing.snapshot()
        for more in ("5", " 12", "=", "\n"):
            text = more + text
            growing.prepend(more)
            assert growing.ids == test_growing.expected(encoder, text, False)
            growing.append(more)
            text += more
            assert growing.ids == test_growing.expected(encoder, text, False)
        growing.restore(state)
        assert growing.ids == test_growing.expected(encoder, before + row + after, False)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_row(name: str, kind: str) -> None:
    encoder = test_growing.encoder_of(name)
    rng = random.Random(f"parts {name} {kind}")
    row = "".join(rng.choices(ROWS[kind], k=700))
    for text in tier.pick((f"ab {row} x1",), (row, f" \n {row}", f"ab {row} x1")):
        intervals = encoder.intervals(text)
        places = [rng.randrange(len(text) + 1) for _ in range(40)]
        for start, end in {(min(pair), max(pair)) for pair in zip(places, reversed(places), strict=True)}:
            assert intervals.count(start, end) == len(test_growing.expected(encoder, text[start:end], False))
        counts = test_growing.counts_of_prefixes(encoder, text)
        for most in {0, 1, 2, counts[-1] // 2, counts[-1] // 3, max(0, counts[-1] - 2), counts[-1]}:
            longest = max(end for end, count in enumerate(counts) if count <= most)
            assert len(encoder.cut(text, most, False)) == longest
            assert encoder.count_until(text, most, False) == (counts[-1] if counts[-1] <= most else None)
        whole = test_growing.expected(encoder, text, False)
        core = encoder._runner.state.snapshot().native.core  # type: ignore[union-attr]
        for most in (1, 7, len(whole) // 2):
            assert core.encode_first(text, most) == whole[:most]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "flags", [{}, {"single_word": True}, {"lstrip": True}, {"rstrip": True}, {"normalized": False}]
)
def test_added_tokens_in_a_row(name: str, flags: dict[str, bool]) -> None:
    """No place inside a token, or beside one, may be taken for the end of a group."""
    tokenizer: Tokenizer = native_cores.core_and_reference(name)[1]
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.add_tokens([AddedToken(content, **flags) for content in ("345", "a1", "=-=", "\U0001f600\U0001f602")])
    encoder = Encoder(tokenizer, Settings.read({}, threads=1))
    rng = random.Random(f"{name} {flags}")
    for pool in ("345", "12", "=-", "\U0001f600\U0001f602", "1a", " 12")[:: tier.pick(2, 1)]:
        text = "".join(rng.choices(pool, k=650))
        growing = encoder.incremental(add_special_tokens=False)
        for start in range(0, len(text), 130):
            growing.append(text[start : start + 130])
            assert growing.ids == test_growing.expected(encoder, text[: start + 130], False)
        intervals = encoder.intervals(text)
        for _ in range(15):
            start, end = sorted(rng.randrange(len(text)) for _ in range(2))
            assert intervals.count(start, end) == len(test_growing.expected(encoder, text[start:end], False))
        whole = growing.count
        cut = encoder.cut(text, whole // 2, False)
        assert len(test_growing.expected(encoder, cut, False)) <= whole // 2
        for more in range(1, 8):
            assert len(test_growing.expected(encoder, text[: len(cut) + more], False)) > whole // 2
