"""The model and the documents that the benchmarks of real engines share."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common.data import REPOSITORY, prompts, whole_text
from benchmarks.common.report import Table, number
from benchmarks.common.result import Result, remarks
from lopt_plugin.cli.benchmarking.machine import machine_line
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.cli.serving.tiny_model import MAX_MODEL_LEN
from lopt_plugin.cli.serving.vllm_server import VllmServer

CORPUS = "books_en"


def build_model(folder: Path) -> Path:
    """A tiny model with random weights, and a real tokenizer."""
    sys.path.insert(0, str(REPOSITORY / "examples" / "vllm_demo"))
    from tiny_model import build

    return Path(build(folder / "model"))


@contextlib.contextmanager
def served(
    kind: type[VllmServer],
    folder: Path,
    servers: Mapping[str, tuple[str, Mapping[str, str]]],
    *arguments: str,
    context_length: int = MAX_MODEL_LEN,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The Hugging Face tokenizer of the model, and running servers by name, each with its mode and environment.

    fastokens is left out where it is not installed.
    """
    from transformers import AutoTokenizer

    model = build_model(folder)
    with contextlib.ExitStack() as stack:
        running = {}
        for name, (mode, environment) in servers.items():
            if name != "fastokens" or importlib.util.find_spec("fastokens"):
                server = kind(
                    model,
                    folder / f"{name}.log",
                    mode,
                    context_length=context_length,
                    arguments=arguments,
                    environment=dict(environment),
                )
                running[name] = stack.enter_context(server)
        yield AutoTokenizer.from_pretrained(model), running


def post(path: str, body: Mapping[str, Any], *headers: str) -> bytes:
    """The bytes of a request."""
    content = json.dumps(body).encode()
    lines = (f"POST {path} HTTP/1.1", "Host: local", *headers, "Content-Type: application/json")
    return "\r\n".join((*lines, f"Content-Length: {len(content)}", "", "")).encode() + content


def table(
    title: str, first: str, columns: Mapping[str, str], share: tuple[str, int], results: list[Result], remark: str
) -> Table:
    """The medians of results, by figure, and in the last column those of the figure `share`, whose digits are given."""
    head, digits = share
    rows = []
    for result in results:
        medians = result.medians([*columns, "share"])
        cells = [number(medians.get(column)) for column in columns]
        rows.append([result.engine, *cells, f"{100 * medians['share']:.{digits}f}%" if "share" in medians else "-"])
    return Table([first, *columns.values(), head], rows, title, remarks=remarks(results, remark))


def parser(about: str | None, many: int, repetitions: int) -> argparse.ArgumentParser:
    """Options for one long prompt, and for a list of short ones; with these defaults."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--long", type=int, default=450_000, help="characters of a long prompt")
    made.add_argument("--many", type=int, default=many, help="prompts of a list")
    made.add_argument("--short", type=int, default=2_048, help="characters of each of these")
    made.add_argument("--repetitions", type=int, default=repetitions)
    return made


def long_prompts(count: int, chars: int) -> list[str]:
    """That many prompts, none of which overlap; prints the machine, and what is not as asked for."""
    texts, remark = prompts(CORPUS, count, chars)
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
