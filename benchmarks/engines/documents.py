"""What the benchmarks of vLLM share: its servers with a tiny model, requests, tables."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.data import REPOSITORY, prompts
from benchmarks.common.report import Table, number
from benchmarks.common.result import Result, remarks
from lopt_plugin.cli.benchmarking.machine import machine_line
from lopt_plugin.cli.serving.tiny_model import MAX_MODEL_LEN
from lopt_plugin.cli.serving.vllm_server import VllmServer

CORPUS = "books_en"
# Mode and environment of each. fastokens is left out where it is not installed.
SERVERS = {
    "hf": ("hf", {"LOPT_ACCELERATE": "0"}),
    "lopt": ("lopt", {}),
    "fastokens": ("hf", {"LOPT_ACCELERATE": "0", "VLLM_USE_FASTOKENS": "1"}),
}


def print_times(times: Mapping[str, Sequence[float]]) -> None:
    """Prints the median and the least seconds of each variant, also beside those of "free"."""
    free = times["free"]
    for name, seconds in times.items():
        middle, least = statistics.median(seconds), min(seconds)
        print(
            f"  {name:9} median {1000 * middle:8.1f} ms, least {1000 * least:8.1f} ms"
            f"   {middle / statistics.median(free):5.2f} (least {least / min(free):5.2f}) times free"
        )


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
    """The Hugging Face tokenizer of the model, and running servers by name, each with its mode and environment."""
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


def long_prompts(count: int, chars: int) -> list[str]:
    """That many prompts, none of which overlap; prints the machine, and what is not as asked for."""
    texts, remark = prompts(CORPUS, count, chars)
    print(machine_line())
    print(remark)
    return texts
