"""Asks the installed `tokenizers` about all code points at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel

from ..table import CODE_POINTS

Mask = npt.NDArray[np.bool_]
CodePoints = npt.NDArray[np.uint32]

# Every Unicode scalar value. The reference rejects surrogates.
SCALAR_VALUES: CodePoints = np.delete(np.arange(CODE_POINTS, dtype=np.uint32), slice(0xD800, 0xE000))

# Texts of this length stay in the CPU's caches; a single text takes three times as long.
_BATCH = 1 << 14


def _batches() -> Iterator[CodePoints]:
    return (SCALAR_VALUES[first : first + _BATCH] for first in range(0, len(SCALAR_VALUES), _BATCH))


def combined(masks: dict[int, Mask]) -> npt.NDArray[np.uint16]:
    """The bits of every code point, uint16 [0x110000], from a mask per bit."""
    bits = np.zeros(CODE_POINTS, dtype=np.uint16)
    for bit, mask in masks.items():
        bits[SCALAR_VALUES[mask]] |= bit
    return bits


def to_text(code_points: CodePoints) -> str:
    return code_points.astype("<u4").tobytes().decode("utf-32-le")


def in_character_set(pattern: str) -> Mask:
    """Scalar values that a pattern for exactly one character matches.

    Such a pattern treats each character alone, so texts of all scalar values in sequence suffice: Split removes the
    characters of the set and keeps the others.
    """
    split = pre_tokenizers.Split(Regex(pattern), behavior="removed")
    answers = []
    for batch in _batches():
        removed = np.ones(len(batch), dtype=np.bool_)
        for _, (start, stop) in split.pre_tokenize_str(to_text(batch)):
            removed[start:stop] = False
        answers.append(removed)
    return np.concatenate(answers)


def removed_and_isolated(pre_tokenizer: pre_tokenizers.PreTokenizer) -> tuple[Mask, Mask]:
    """Scalar values that the pre-tokenizer removes, and those that it isolates. Each is tried between two "a"."""
    removed, isolated = [], []
    for batch in _batches():
        text = np.full(2 * len(batch) + 1, ord("a"), dtype=np.uint32)
        text[1::2] = batch
        starts = np.zeros(len(text), dtype=np.bool_)
        covered = np.zeros(len(text), dtype=np.bool_)
        for _, (start, stop) in pre_tokenizer.pre_tokenize_str(to_text(text)):
            starts[start] = covered[start:stop] = True
        removes, begins = ~covered[1::2], starts[1::2]
        # Each "a" is kept, and begins a word exactly if the character before it is removed or isolated.
        if not covered[::2].all() or (starts[2::2] != (removes | begins)).any():
            raise ValueError("a pre-tokenizer does not treat characters alone")
        removed.append(removes)
        isolated.append(begins)
    return np.concatenate(removed), np.concatenate(isolated)


def word_and_strip_space() -> tuple[Mask, Mask]:
    r"""The `\w` and the `\s` of added tokens: scalar values that single_word refuses, and that rstrip takes.

    Encodes "<A>" + c for a token "<A>" with both flags. If c is a word character, the token is not matched, and there
    is a single unknown id. If c is white space, the token takes it and is the only id. Otherwise there are two ids, the
    token's and c's. One text contains many of these, separated by "<M>", which is matched everywhere and ends with ">",
    neither a word character nor white space. There is no pre-tokenizer and no vocabulary: a stretch between added
    tokens is one unknown id, and an empty one has none.

    lstrip and the left side of single_word use the same sets for the character before the token (tested).
    """
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.add_tokens([AddedToken("<M>", normalized=False)])
    tokenizer.add_tokens([AddedToken("<A>", single_word=True, rstrip=True, normalized=False)])
    marker, token = tokenizer.token_to_id("<M>"), tokenizer.token_to_id("<A>")
    word, strip_space = [], []
    for batch in _batches():
        ids = np.array(tokenizer.encode("<M><A>" + "<M><A>".join(to_text(batch))).ids)
        markers = np.flatnonzero(ids == marker)
        assert len(markers) == len(batch)
        one_id = np.diff(markers, append=len(ids)) == 2
        accepted = ids[markers + 1] == token
        word.append(~accepted)
        strip_space.append(accepted & one_id)
    return np.concatenate(word), np.concatenate(strip_space)


def normalize_each(normalizer: str | normalizers.Normalizer, texts: list[str], separator: str = "\n") -> list[str]:
    r"""The normalized form of each text, by a normalizer or the one of that name. Many are normalized as one text.

    The separator between them must not change, and must keep its neighbours apart. It may be one of the texts, but
    occur in no other. ("\n" neither decomposes nor composes, and is a starter, across which no form reorders anything.)
    """
    normalize = (getattr(normalizers, normalizer)() if isinstance(normalizer, str) else normalizer).normalize_str
    answers: list[str] = []
    for first in range(0, len(texts), _BATCH):
        batch = ["" if text == separator else text for text in texts[first : first + _BATCH]]
        answers += normalize(separator.join(batch)).split(separator)
    if len(answers) != len(texts):
        raise ValueError(f"{normalizer} makes or removes the separator {separator!r}")
    return [separator if text == separator else answer for text, answer in zip(texts, answers, strict=True)]
