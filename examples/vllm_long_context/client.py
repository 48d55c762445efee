"""Sends long documents to vLLM servers, and prints the time to first token and the share of tokenization.

    python client.py FILE... --lopt http://127.0.0.1:8000 [--hf http://127.0.0.1:8001]
    python client.py --characters 400000 --documents 4      # parts of a book, if no files are given

--hf is a server of the same model without lopt, for comparison. TTFT is the time to first token, as the client sees it.
"before engine" is the server's own figure for the time until the engine has the request (parsing, tokenizing, checks);
"tokenizer" comes from lopt's metrics. Use documents that the server has not seen: its prefix cache would shorten TTFT.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

INSTRUCTION = "\n\nIn one sentence, what is this document about?"


@dataclass(frozen=True)
class Waited:
    """Seconds that one document took; `tokenizer` is None if the server does not report it."""

    tokens: int
    first_token: float
    before_engine: float
    tokenizer: float | None


class Server:
    """One vLLM server. Raises OSError for a failed request."""

    def __init__(self, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.model = json.loads(self._get("/v1/models"))["data"][0]["id"]

    def ask(self, document: str) -> Waited:
        """Sends the document and waits for one token. The server must have no other requests at that time."""
        body = {"model": self.model, "prompt": document + INSTRUCTION, "max_tokens": 1, "temperature": 0}
        options = {"stream": True, "stream_options": {"include_usage": True}}
        before = self._counters()
        connection = http.client.HTTPConnection(self.host, timeout=3600)
        start = time.perf_counter()
        first, tokens = 0.0, 0
        connection.request("POST", "/v1/completions", json.dumps(body | options), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise OSError(f"HTTP {response.status}: {response.read()[:500]!r}")
        for line in response:
            event = line.decode().strip().removeprefix("data: ")
            if event and event != "[DONE]":
                first = first or time.perf_counter() - start
                tokens = (json.loads(event).get("usage") or {"prompt_tokens": tokens})["prompt_tokens"]
        connection.close()
        after = self._counters()
        passed = {name: after[name] - before[name] for name in after}
        arrival = "vllm:time_to_first_token_seconds_sum"
        engine = passed["vllm:request_queue_time_seconds_sum"] + passed["vllm:request_prefill_time_seconds_sum"]
        return Waited(tokens, first, passed[arrival] - engine, passed.get("lopt_tokenization_seconds_sum"))

    def _counters(self) -> dict[str, float]:
        """Sums of the server's histograms of seconds, over all labels."""
        sums: dict[str, float] = {}
        for name, value in re.findall(
            r"^([\w:]+_seconds_sum)(?:\{[^}]*\})? (\S+)$", self._get("/metrics"), re.MULTILINE
        ):
            sums[name] = sums.get(name, 0.0) + float(value)
        return sums

    def _get(self, path: str) -> str:
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
        if response.status != 200:
            raise OSError(f"GET {path}: HTTP {response.status}: {body[:500]}")
        return body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="documents in UTF-8")
    parser.add_argument("--lopt", default="http://127.0.0.1:8000", help="a server with --tokenizer-mode lopt")
    parser.add_argument("--hf", help="a server without lopt, for comparison")
    parser.add_argument("--characters", type=int, default=400_000, help="length of each part of the book")
    parser.add_argument("--documents", type=int, default=4, help="number of parts of the book")
    arguments = parser.parse_args()
    documents = {path.name: path.read_text(encoding="utf-8") for path in arguments.files}
    documents = documents or parts_of_a_book(arguments.documents, arguments.characters)
    servers = {"lopt": Server(arguments.lopt)} | ({"hf": Server(arguments.hf)} if arguments.hf else {})
    print(f"{'document':24} {'server':6} {'tokens':>9} {'TTFT ms':>10} {'before engine':>14} {'tokenizer':>10}   share")
    waited: dict[str, list[Waited]] = {name: [] for name in servers}
    for title, document in documents.items():
        for name, server in servers.items():
            one = server.ask(document)
            waited[name].append(one)
            print(row(title, name, one))
    for name, each in waited.items():
        print(row("median", name, median(each)))


def row(title: str, name: str, waited: Waited) -> str:
    """One line of the table; the share is the tokenizer's share of TTFT, if the server reports it."""
    own = "" if waited.tokenizer is None else f"{1000 * waited.tokenizer:.1f}"
    share = "" if waited.tokenizer is None else f"{waited.tokenizer / waited.first_token:.2%}"
    return (
        f"{title[:24]:24} {name:6} {waited.tokens:9,} {1000 * waited.first_token:10.1f} "
        f"{1000 * waited.before_engine:14.1f} {own:>10} {share:>7}"
    )


def median(waited: list[Waited]) -> Waited:
    def middle(values: list[Any]) -> Any:
        return None if None in values else statistics.median(values)

    return Waited(
        round(middle([one.tokens for one in waited])),
        middle([one.first_token for one in waited]),
        middle([one.before_engine for one in waited]),
        middle([one.tokenizer for one in waited]),
    )


def parts_of_a_book(count: int, characters: int) -> dict[str, str]:
    """Parts of the demo's book, none of which is a prefix of another."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vllm_demo"))
    from book import long_english_text

    text = long_english_text(count * characters)[0]
    return {f"part {k + 1} of a book": text[k * characters : (k + 1) * characters] for k in range(count)}


if __name__ == "__main__":
    main()
