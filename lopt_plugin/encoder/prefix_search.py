"""The longest prefix that fits into a number of ids, if nothing better is known than to count whole prefixes.

By the reference, or natively where the core found no faster way.

The counts of longer and longer prefixes rise and fall, so a search finds a prefix that fits, but not the longest. From
there, every longer prefix is counted until it is proven that no other fits. There are two proofs:

- A certain boundary (see `hf_chunks.boundaries`): the ids before it do not depend on the text after it, so no longer
  prefix has fewer.
- With a Unigram model, the best path to a position in the text does not depend on what follows. One step of it, an
  entry or an added token, covers at most `reach` characters. So of that many consecutive positions, the path to any
  later one passes through at least one, and has no fewer ids than the prefix that ends there. (Positions are those of
  the raw text only if the normalizer changes nothing but case in the characters around them.)

For other tokenizers, and for texts in which neither proof holds, longer prefixes are counted as long as the time
remains linear in the text. Then the longest one found is used, and a warning says so.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer, models

from ..pipeline import Unsupported
from ..pipeline.chunking import read_chunking
from ..pipeline.component_state import states_of, steps_of
from ..routes.hf_chunks.boundaries import Boundaries
from ..routes.request import EncodeRequest
from ..settings import logger
from .backend_watch import BackendWatch, Fingerprint

# How many characters of longer prefixes to encode, and how many for each character of the text. The reference reads
# about two million per second.
_MOST_ENCODED, _TIMES_THE_TEXT = 1 << 21, 8

# Each of these depends on at most so many characters beside one, or on the ends of the text.
_MARGIN = 8
_LOCAL_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "Strip", "Precompiled"}
_LOCAL_PATTERNS = (" {2,}", r"\s{2,}", r"\s{2,}|[\n\r\t]", r"\s+", " +", r"\n")
_TWO_SPACES = re.compile(r"\s\s")
# What divides a text where its characters say so, each by itself.
_LOCAL_PRE_TOKENIZERS = {"WhitespaceSplit", "Whitespace", "Metaspace", "Digits", "Punctuation", "BertPreTokenizer"}

# Whether no prefix longer than `place` fits, if none does that ends at it or at the `over` - 1 places before it.
Proof = Callable[[str, int, int], bool]


def search_prefix(
    count: Callable[[str, EncodeRequest], int], proof: Proof | None, text: str, limit: int, request: EncodeRequest
) -> int:
    """The length of the longest prefix with at most `limit` ids, which `count` counts.

    Raises ValueError if even an empty text has more.
    """

    def excess(end: int) -> int:
        return count(text[:end], request) - limit

    low, high, over_low = 0, min(len(text), max(64, 2 * limit)), excess(0)
    if over_low > 0:
        raise ValueError(f"max_tokens={limit}: even an empty text has more ids")
    while (over_high := excess(high)) <= 0:
        if high == len(text):
            return high
        low, high, over_low = high, min(len(text), 2 * high), over_high
    step = 0
    while high - low > 1:
        # Counts mostly grow evenly. Every third step halves, however they grow.
        share = 0.5 if step % 3 == 2 else (0.5 - over_low) / (over_high - over_low)
        middle = low + min(max(round((high - low) * share), 1), high - low - 1)
        over = excess(middle)
        if over <= 0:
            low, over_low = middle, over
        else:
            high, over_high = middle, over
        step += 1
    over, left = 0, _MOST_ENCODED + _TIMES_THE_TEXT * len(text)
    for end in range(low + 1, len(text) + 1):
        left -= end
        if left < 0:
            logger.warning(
                "lopt_plugin: cut: the first %d of %d characters fit into %d ids. Longer prefixes may fit too: "
                "those of up to %d characters were tried, more would take too long.",
                low,
                len(text),
                limit,
                end - 1,
            )
            break
        if excess(end) <= 0:
            low, over = end, 0
        else:
            over += 1
            if proof is not None and proof(text, end, over):
                break
    return low


_proofs: weakref.WeakKeyDictionary[BackendWatch, tuple[Fingerprint, Proof | None]] = weakref.WeakKeyDictionary()


def proof_of(backend: Tokenizer) -> Proof | None:
    """The proof that no longer prefix fits, for the backend's current state."""
    try:
        watch = BackendWatch.of(backend)
        fingerprint = watch.fingerprint()
        made_for, proof = _proofs.get(watch, (None, None))
        if made_for != fingerprint:
            proof = _by_boundaries(backend) or _by_reach(backend)
            _proofs[watch] = fingerprint, proof
    except MemoryError:
        raise
    except Exception:  # a custom component, of which nothing is known, or a backend that cannot be watched
        return None
    return proof


def _by_boundaries(backend: Tokenizer) -> Proof | None:
    try:
        chunkable = read_chunking(backend)
    except Unsupported:
        return None
    boundaries = Boundaries(backend, chunkable)
    return lambda text, place, over: boundaries.certain(text, place, place + 1) == place


def _by_reach(backend: Tokenizer) -> Proof | None:
    states, tokens = states_of(backend), backend.get_added_tokens_decoder().values()
    if not isinstance(backend.model, models.Unigram):
        return None
    if not all(map(_is_local, steps_of(states[0], "normalizers"))) or any(token.single_word for token in tokens):
        return None
    if not all(step.get("type") in _LOCAL_PRE_TOKENIZERS for step in steps_of(states[1], "pretokenizers")):
        return None
    normalize = backend.normalizer.normalize_str if backend.normalizer is not None else str
    contents = [content for token in tokens for content in (token.content, normalize(token.content))]
    # An added token may take a space on either side with it.
    reach = max(map(len, (*backend.get_vocab(with_added_tokens=False), *(f" {content} " for content in contents))))

    def proof(text: str, place: int, over: int) -> bool:
        if over < reach:
            return False
        around = text[max(0, place - over - _MARGIN) : place + _MARGIN]
        if _TWO_SPACES.search(around):
            return False
        around = around.strip()
        normalized = normalize(around)
        return len(normalized) == len(around) and normalized in (around, around.lower())

    return proof


def _is_local(step: dict[str, Any]) -> bool:
    if step.get("type") != "Replace":
        return step.get("type") in _LOCAL_NORMALIZERS
    ((kind, pattern),) = step["pattern"].items()
    return pattern in _LOCAL_PATTERNS if kind == "Regex" else 0 < len(pattern) <= _MARGIN
