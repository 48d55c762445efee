"""The model and the documents that the benchmarks of real engines share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.common.data import REPOSITORY, prompts, whole_text
from lopt_plugin.cli.benchmarking.machine import machine_line
from lopt_plugin.cli.benchmarking.prompts import spread

CORPUS = "books_en"


def build_model(folder: Path) -> Path:
    """A tiny model with random weights, and a real tokenizer."""
    sys.path.insert(0, str(REPOSITORY / "examples" / "vllm_demo"))
    from tiny_model import build

    return Path(build(folder / "model"))


def parser(about: str | None, many: int, repetitions: int) -> argparse.ArgumentParser:
    """Options for one long prompt, and for a list of short ones; with these defaults."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--long", type=int, default=450_000, help="characters of a long prompt")
    made.add_argument("--many", type=int, default=many, help="prompts of a list")
    made.add_argument("--short", type=int, default=2_048, help="characters of each of these")
    made.add_argument("--repetitions", type=int, default=repetitions)
    return made


def long_prompts(corpus: str, count: int, chars: int) -> list[str]:
    """That many prompts, none of which overlap; prints the machine, and what is not as asked for."""
    texts, remark = prompts(corpus, count, chars)
    print(machine_line())
    print(remark)
    return texts


def short_lists(count: int, many: int, chars: int) -> list[list[str]]:
    """`count` lists of `many` prompts. These may overlap: their words come again and again in any case."""
    short = spread(whole_text(CORPUS)[0], many * count, chars)
    return [short[k::count] for k in range(count)]


def look_up(tokenizer: Any, memory: dict[str, list[int]]) -> None:
    """Makes the tokenizer look ids up instead of tokenizing."""

    def call(self: Any, text: str | list[str], **kwargs: Any) -> dict[str, Any]:
        return {"input_ids": memory[text] if isinstance(text, str) else [memory[one] for one in text]}

    def encode(self: Any, text: str, **kwargs: Any) -> list[int]:
        return memory[text]

    kind = type(tokenizer)
    tokenizer.__class__ = type(kind.__name__, (kind,), {"__call__": call, "encode": encode})
