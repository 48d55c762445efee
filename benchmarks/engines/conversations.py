"""Long conversations on vLLM's server: time to the first token, and the share of it before the engine has the prompt.

    python benchmarks/engines/conversations.py
    python benchmarks/engines/conversations.py --turns 200 --chars 400000 --servers hf,lopt

Run where vLLM is installed. All servers run at once, and one of them works at a time. Each turn sends the whole
conversation so far as chat messages; vLLM's own prefix cache keeps what was computed for the turns before. Each
repetition has texts of its own. Every answer's number of prompt tokens, and the ids of each session's last turn, are
compared with the Hugging Face tokenizer's. fastokens runs if it is installed, by vLLM's own VLLM_USE_FASTOKENS.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import whole_text
from benchmarks.common.result import Result, progress, turned
from benchmarks.common.script import Bench, Options, known, run
from benchmarks.engines import documents
from lopt_plugin.cli.serving.vllm_server import VllmServer

ABOUT = """\
`vllm serve` with a tiny model and Qwen3's tokenizer; each turn of a conversation is sent as a whole to
/v1/chat/completions, for one token. Medians over the requests of a workload, then over {repeat} repetitions. The part
before the engine is the template, tokenization and the way to the engine's process, by vLLM's own metrics."""
SERVERS = {**documents.SERVERS, "lopt_no_cache": ("lopt", {"LOPT_PREFIX_CACHE_MB": "0"})}
COLUMNS = {
    "first_token_ms": "first token, ms",
    "last_tenth_ms": "in the last tenth of the requests",
    "before_engine_ms": "before the engine, ms (mean)",
}
SHARE = "share of the time to the first token", 0
PATH = "/v1/chat/completions"

Messages = list[dict[str, str]]
# The conversations that are sent, one after another, by one user.
Session = list[Messages]


def take(texts: Iterator[str], chars: int) -> str:
    """The next characters of the corpus."""
    return "".join(itertools.islice(texts, chars))


def conversation(texts: Iterator[str], before: Messages, turns: int, chars: int) -> Session:
    """Turns after some messages, which make the conversation longer by `chars` characters together."""
    messages, session = [*before], []
    for _ in range(turns):
        messages.append({"role": "user", "content": take(texts, chars // turns // 2)})
        session.append([*messages])
        messages.append({"role": "assistant", "content": take(texts, chars // turns // 2)})
    return session


def one_session(texts: Iterator[str], given: argparse.Namespace) -> list[Session]:
    """A session that grows turn by turn: vLLM 47583, TensorRT-LLM 18389."""
    return [conversation(texts, [], given.turns, given.chars)]


def branches(texts: Iterator[str], given: argparse.Namespace) -> list[Session]:
    """An agent's attempts from one state, a few turns each, after that state was sent once."""
    history = conversation(texts, [], given.turns // 2, given.chars // 2)[-1]
    history.append({"role": "assistant", "content": take(texts, 100)})
    attempts = [conversation(texts, history, 5, given.chars // 40) for _ in range(8)]
    return [[turn for attempt in attempts for turn in attempt]]


def shared_system_prompt(texts: Iterator[str], given: argparse.Namespace) -> list[Session]:
    """Users with one system prompt and a context each, 4 to 1 in length: Dynamo 9742."""
    system = [{"role": "system", "content": take(texts, given.system_chars)}]
    return [conversation(texts, system, 4, given.system_chars // 4) for _ in range(given.users)]


# By name: the sessions, and how many of them at once.
WORKLOADS: dict[str, tuple[Callable[[Iterator[str], argparse.Namespace], list[Session]], int]] = {
    "one session": (one_session, 1),
    "branches": (branches, 1),
    "a shared system prompt, 1 at once": (shared_system_prompt, 1),
    "a shared system prompt, 4 at once": (shared_system_prompt, 4),
    "a shared system prompt, 16 at once": (shared_system_prompt, 16),
}


def measure(bench: Bench) -> list[Result]:
    """Each workload on each server."""
    given = bench.given
    text, remark = whole_text(given.corpus)
    texts = itertools.cycle(text)  # none twice until the corpus ends and begins again
    results: list[Result] = []
    servers = {name: SERVERS[name] for name in given.servers}
    folder, options = bench.processes.folder, ("--disable-uvicorn-access-log",)
    with documents.served(VllmServer, folder, servers, *options) as (oracle, running):
        for each in running.values():
            send(each, conversation(texts, [], 1, 2_000)[0])
        for workload, (make, at_once) in WORKLOADS.items():
            found = {name: Result(name, {"workload": workload}) for name in running}
            for repetition in range(given.repeat):
                progress(f"{workload}, repetition {repetition + 1}")
                sessions = make(texts, given)
                expected = [[ids_of(oracle, turn) for turn in session] for session in sessions]
                for name in turned(list(running), repetition):
                    repeat(found[name], running[name], sessions, at_once, expected)
            bench.add(documents.table(workload, "server", COLUMNS, SHARE, list(found.values()), remark))
            results += found.values()
    return results


def ids_of(oracle: Any, messages: Messages) -> list[int]:
    """The reference's ids of a conversation."""
    text = oracle.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return list(oracle(text, add_special_tokens=False)["input_ids"])


def repeat(
    result: Result, running: VllmServer, sessions: list[Session], at_once: int, expected: list[list[list[int]]]
) -> None:
    """Adds a repetition to the result; where ids differ, it gets a problem instead."""
    if result.problem:
        return
    before = figures(running)
    with ThreadPoolExecutor(at_once) as pool:
        answers = [
            answer for part in pool.map(lambda session: [*answers_to(running, session)], sessions) for answer in part
        ]
    requests, to_engine, to_token = (after - old for after, old in zip(figures(running), before, strict=True))
    counts = [len(ids) for of_session in expected for ids in of_session]
    last = [send(running, session[-1], return_token_ids=True)[0]["prompt_token_ids"] for session in sessions]
    if [tokens for tokens, _ in answers] != counts or last != [of_session[-1] for of_session in expected]:
        result.problem, result.is_error, result.samples = "ids differ", result.engine != "fastokens", {}
        return
    result.add(
        {
            "first_token_ms": 1000 * statistics.median(seconds for _, seconds in answers),
            "last_tenth_ms": 1000 * statistics.median(seconds for _, seconds in answers[-max(1, len(answers) // 10) :]),
            "before_engine_ms": 1000 * to_engine / requests,
            "share": to_engine / to_token,
        }
    )


def figures(running: VllmServer) -> tuple[float, float, float]:
    """Requests so far; seconds until the engine had them, and until their first tokens, in all."""
    to_token = running.metric("vllm:time_to_first_token_seconds_sum")
    in_engine = sum(running.metric(f"vllm:request_{part}_time_seconds_sum") for part in ("queue", "prefill"))
    return running.metric("vllm:time_to_first_token_seconds_count"), to_token - in_engine, to_token


def answers_to(running: VllmServer, session: Session) -> Iterator[tuple[int, float]]:
    """The number of prompt tokens of each turn, and its seconds."""
    for messages in session:
        answer, seconds = send(running, messages)
        yield answer["usage"]["prompt_tokens"], seconds


def send(running: VllmServer, messages: Messages, **options: Any) -> tuple[Any, float]:
    """The answer of one token, and its seconds."""
    return running.ask(PATH, {"model": "tiny", "messages": messages, "max_tokens": 1, "temperature": 0, **options})


if __name__ == "__main__":
    made = Options(__doc__)
    made.add("--turns", 200, "of a session", 4)
    made.add("--chars", 400_000, "of a session's last turn", 4_000)
    made.add("--system-chars", 96_000, "of the system prompt", 2_000)
    made.add("--users", 16, "with one system prompt", 2)
    made.add("--servers", list(SERVERS), "servers", ["hf", "lopt"], known("server", SERVERS))
    made.add("--repeat", 1, "of each workload")
    made.add("--corpus", documents.CORPUS, "name or path")
    sys.exit(run(made.read(), "conversations", "Conversations on vLLM's server", ABOUT, measure))
