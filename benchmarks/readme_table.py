"""The table of README.md from the rows of speed.py: what a first and a later prompt get, beside the best peer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from report import Table, number

NAMES = {
    "qwen3": "Qwen3",
    "llama3": "Llama 3",
    "llama2": "Llama 2",
    "gemma3": "Gemma 3",
    "leval_en": "English (LEval)",
    "math": "mathematics",
    "chat": "chats in JSON",
    "code": "code",
    "zh": "Chinese",
    "multi": "370 languages",
}
OURS, PEERS = "lopt", ("fastokens", "gigatoken", "gigatoken_batch", "tiktoken")


def make(rows: Sequence[dict[str, Any]]) -> Table:
    """Rows are corpora; for each tokenizer our cold speed and the best peer's, for the first one our first prompt too.

    The faster of the two is bold. Rows of speed.py's JSON without repetitions have no number.
    """
    speeds = {
        (row["tokenizer"], row["corpus"], row["engine"]): row["repetitions"] for row in rows if row["repetitions"]
    }
    tokenizers = [name for name in dict.fromkeys(row["tokenizer"] for row in rows) if name in NAMES]
    corpora = [name for name in dict.fromkeys(row["corpus"] for row in rows) if name in NAMES]
    columns = [""]
    for place, name in enumerate(tokenizers):
        columns += [f"{NAMES[name]}: first", "best peer"] if place == 0 else []
        columns += ["then" if place == 0 else f"{NAMES[name]}: then", "best peer"]
    table = []
    for corpus in corpora:
        cells = [NAMES[corpus]]
        for place, name in enumerate(tokenizers):
            for speed in ("first", "cold") if place == 0 else ("cold",):
                own = _median(speeds.get((name, corpus, OURS)), speed)
                others = [_median(speeds.get((name, corpus, peer)), speed) for peer in PEERS]
                cells += _pair(own, max((one for one in others if one is not None), default=None))
        table.append(cells)
    return Table(columns, table)


def _median(repetitions: Sequence[dict[str, float]] | None, speed: str) -> float | None:
    return None if repetitions is None else statistics.median(one[speed] for one in repetitions)


def _pair(own: float | None, other: float | None) -> list[str]:
    best = max((value for value in (own, other) if value is not None), default=None)
    return [f"**{number(value)}**" if value is not None and value == best else number(value) for value in (own, other)]
