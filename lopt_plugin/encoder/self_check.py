"""Compares a route with the reference on hard texts when a tokenizer is loaded.

It guards against what tests on other machines cannot see: another version of `tokenizers`, or a tokenizer.json unlike
those tested. It should take a few tens of milliseconds, including the reference's share.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..pipeline import Unsupported
from ..routes import ListRoute
from ..routes.hard_texts import hard_texts
from ..routes.hf_chunks.division import Lengths
from ..routes.hf_chunks.route import HfChunksRoute
from ..routes.request import PLAIN, EncodeRequest

# Most added tokens of the text that is divided.
_ADDED_TOKENS = 40
_CHECKED_LENGTHS = Lengths(chunk=307, overlap=64)


@dataclass(frozen=True)
class SelfCheck:
    """`mismatch` is None, or identifies the text whose ids differed by number, length and hash."""

    texts: int
    seconds: float
    mismatch: str | None


def _expected(reference: ListRoute, text: str, request: EncodeRequest) -> list[int]:
    """The reference's ids. Raises Unsupported if the reference itself cannot encode the text, which is not our bug."""
    try:
        return reference.encode_list(text, request)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        raise Unsupported(f"the reference cannot encode a hard text: {type(error).__name__}: {error}") from error


def self_check(route: ListRoute, reference: ListRoute, added_tokens: Sequence[str]) -> SelfCheck:
    """Encodes every hard text with both, half of them with the post-processor, some with special tokens split."""
    start = time.perf_counter()
    texts = hard_texts(added_tokens)
    mismatch = None
    for number, text in enumerate(texts):
        request = PLAIN[number % 2 == 0][number % 16 == 15]
        if route.encode_list(text, request) != _expected(reference, text, request):
            digest = hashlib.sha256(text.encode()).hexdigest()[:12]
            mismatch = f"hard text {number} ({len(text)} characters, sha256 {digest})"
            break
    return SelfCheck(len(texts), time.perf_counter() - start, mismatch)


def chunks_check(route: HfChunksRoute, reference: ListRoute, added_tokens: Sequence[str]) -> SelfCheck:
    """Joins the hard texts into one and splits it in two ways. Starts no threads: the program may still fork."""
    start = time.perf_counter()
    text = " word, ".join(hard_texts(added_tokens[:_ADDED_TOKENS]))
    expected = _expected(reference, text, PLAIN[False][False])
    mismatch = None
    for use_boundaries in (True, False):
        if route.encode_divided(text, _CHECKED_LENGTHS, use_boundaries=use_boundaries, alone=True) != expected:
            mismatch = f"the hard texts in a row, {'with' if use_boundaries else 'without'} boundaries"
            break
    return SelfCheck(2, time.perf_counter() - start, mismatch)
