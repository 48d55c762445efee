"""Mistakes that a type checker has to find: both check that each `type: ignore` below is needed. Never run."""

from __future__ import annotations

import lopt_plugin


def calls() -> None:
    lopt = lopt_plugin.from_pretrained("folder").lopt
    lopt.encode_ids(1)  # type: ignore[arg-type]
    lopt.encode_batch_ids([1])  # type: ignore[list-item]
    lopt.cut("text", "100")  # type: ignore[arg-type]
    lopt.count("text", True, False)  # type: ignore[call-arg]
    lopt.incremental(True)  # type: ignore[call-arg]
    lopt.intervals("text").count("0", 1)  # type: ignore[arg-type]
    lopt.encode_batch_ids(["text"]).padded(0, side="top")  # type: ignore[arg-type]
    lopt.tokenize("text")  # type: ignore[attr-defined]


def results() -> None:
    lopt = lopt_plugin.from_pretrained("folder").lopt
    longest: int = lopt.count_until("text", 100)  # type: ignore[assignment]
    ids: list[int] = lopt.encode_ids("text")  # type: ignore[assignment]
    print(longest, ids)
