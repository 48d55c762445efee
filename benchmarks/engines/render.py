"""Requests a second, and CPU time a request, of vLLM's render server: with lopt, without, and with fastokens.

    python benchmarks/engines/render.py

Run where vLLM is installed. All servers run at once, and one of them works at a time. Each prompt goes to each server
once, in turned order: no server finds a whole prompt in a cache. The CPU time is that of the server's process. The
client is a process of the same machine, which needs CPUs of its own. The ids are compared with the Hugging Face
tokenizer's after each case. fastokens runs if it is installed, by vLLM's own VLLM_USE_FASTOKENS.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import whole_text
from benchmarks.common.result import Result, medians_by, progress, remarks, turned
from benchmarks.common.script import Bench, Options, run
from benchmarks.engines import documents
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.cli.serving.vllm_server import RenderServer

ABOUT = """\
`vllm launch render` with a tiny model and Qwen3's tokenizer, asked over HTTP by a client on the same machine for the
ids of prompts of {corpus}: {requests} requests a case, {repeat} repetitions, medians. The CPU time is that of the
server's process, HTTP and JSON included. fastokens is vLLM's own VLLM_USE_FASTOKENS."""
PATH = "/v1/completions/render"


def measure(bench: Bench) -> list[Result]:
    """Each server with each length and number of requests at once."""
    given = bench.given
    results: list[Result] = []
    folder, options = bench.processes.folder, ("--disable-uvicorn-access-log",)
    with documents.served(RenderServer, folder, documents.SERVERS, *options) as (oracle, running):
        for chars in given.chars:
            text, remark = whole_text(given.corpus)
            # Long ones overlap, but no two of them begin alike.
            texts = spread(text, (given.repeat * len(given.at_once) + 1) * given.requests, chars)
            expected = dict(zip(texts, oracle(texts)["input_ids"], strict=True))
            warm_up, texts = texts[: given.requests], texts[given.requests :]
            for each in running.values():
                answers(each, warm_up, 1)
            found = []
            for at_once in given.at_once:
                progress(f"{chars:,} characters, {at_once} at once")
                case = {name: Result(name, {"chars": chars, "at_once": at_once}) for name in running}
                for repetition in range(given.repeat):
                    part, texts = texts[: given.requests], texts[given.requests :]
                    for name in turned(list(running), repetition):
                        repeat(case[name], running[name], part, expected)
                found += case.values()
            show(bench, chars, found, remark)
            results += found
    return results


def repeat(result: Result, running: RenderServer, texts: Sequence[str], expected: dict[str, list[int]]) -> None:
    """Adds a repetition to the result; where ids differ, it gets a problem instead."""
    if result.problem:
        return
    cpu_before, start = running.cpu_seconds(), time.perf_counter()
    bodies = answers(running, texts, result.case["at_once"])
    seconds, cpu_seconds = time.perf_counter() - start, running.cpu_seconds() - cpu_before
    for text, body in zip(texts, bodies, strict=True):
        answer = json.loads(body)
        if not isinstance(answer, list) or answer[0]["token_ids"] != expected[text]:
            result.problem = "ids differ" if isinstance(answer, list) else f"refused: {answer}"
            result.is_error, result.samples = result.engine != "fastokens", {}
            return
    result.add({"requests": len(texts) / seconds, "cpu_ms": 1000 * cpu_seconds / len(texts)})


def answers(running: RenderServer, texts: Sequence[str], at_once: int) -> list[bytes]:
    """The bodies of the answers to a request for each text; each thread has a connection of its own."""
    found: list[Any] = [None] * len(texts)
    rest = iter(list(enumerate(texts)))
    lock = threading.Lock()

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=600)
        with contextlib.closing(connection):
            while True:
                with lock:
                    number, text = next(rest, (-1, ""))
                if number < 0:
                    return
                body = json.dumps({"model": "tiny", "prompt": text, "max_tokens": 1})
                connection.request("POST", PATH, body, {"Content-Type": "application/json"})
                found[number] = connection.getresponse().read()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def show(bench: Bench, chars: int, results: list[Result], remark: str) -> None:
    """Two tables of the report: CPU time, and requests a second."""
    length = f"prompts of {chars:,} characters"
    for figure, unit, what, place in (
        ("cpu_ms", "ms", "CPU time of the server for a request, ms", f"CPU time, {length}, {{}} at once"),
        ("requests", "requests a second", "requests a second", ""),
    ):
        title, figures = f"{what}, {length}", medians_by(results, "at_once", figure)
        plot, said = (f"render_{figure.removesuffix('_ms')}_{chars}", title), remarks(results, remark)
        at_once = bench.given.at_once
        bench.report.add_lines(figures, at_once, title, "requests at once", unit, plot, place=place, remarks=said)


if __name__ == "__main__":
    made = Options(__doc__)
    made.add("--chars", [2_048, 32_768], "of a prompt", [500, 2_000])
    made.add("--at-once", [1, 8, 40], "requests at once")
    made.add("--requests", 200, "of a case", 8)
    made.add("--repeat", 3, "of each case", 1)
    made.add("--corpus", documents.CORPUS, "name or path")
    sys.exit(run(made.read(), "render", "vLLM's render server", ABOUT, measure))
