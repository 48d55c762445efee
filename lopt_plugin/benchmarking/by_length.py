"""Engines on prompts of several lengths: first, cold, warm and cache-hostile, and what threads are worth.

The method is that of the repository's benchmarks: distinct prompts, each engine and length in a fresh process, engines
in turn, and no number without ids that were compared with those of the HF tokenizer.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .fresh_process import FreshProcesses, choose_cpus
from .prompts import random_words, spread
from .worker import Measurement

LENGTHS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MAIN_LENGTH = 100_000
_MOST_PROMPTS = 10
_MOST_BYTES = 20_000_000
_HOSTILE_PROMPTS = 3


@dataclass
class Point:
    """An engine on prompts of one length. Figures are to be shown only where `problem` is empty.

    prompt_bytes   mean length of a prompt in UTF-8
    first          seconds of the first prompt of a process, one for each repetition
    cold           median seconds of the other prompts, each seen once; empty if there is but one prompt
    warm           median seconds of all, seen for the second time
    hostile        median seconds of random words of the same length in bytes; at the main length only
    """

    engine: str
    threads: int
    length: int
    prompts: int
    prompt_bytes: float
    problem: str = ""
    is_error: bool = False
    note: str = ""
    first: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    hostile: list[float] = field(default_factory=list)

    def seconds(self, figure: str) -> float | None:
        """Median over the repetitions, None where there is none."""
        values: list[float] = getattr(self, figure)
        return statistics.median(values) if values and not self.problem else None

    def speed(self, figure: str) -> float | None:
        """MB/s, 10^6 bytes of UTF-8 a second."""
        seconds = self.seconds(figure)
        size = self.length if figure == "hostile" else self.prompt_bytes
        return None if seconds is None else size / 1e6 / seconds

    @property
    def unseen_seconds(self) -> float | None:
        """Of a prompt that was not seen before: cold, or first where there is but one prompt."""
        cold = self.seconds("cold")
        return self.seconds("first") if cold is None else cold

    def add(self, measured: Measurement, expected: Sequence[Sequence[str]]) -> None:
        """Takes a repetition in, or the reason why there is no number."""
        self.note = measured.note or self.note
        if measured.refused:
            self.problem = f"does not load: {measured.refused}"
        elif measured.failed:
            self.problem, self.is_error = f"failed: {measured.failed}", True
        elif measured.digests != tuple(map(tuple, expected)):
            self.problem, self.is_error = "ids differ", True
        if self.problem:
            return
        first, *others = measured.seconds[0]
        self.first.append(first)
        if others:
            self.cold.append(statistics.median(others))
        self.warm.append(statistics.median(measured.seconds[1]))
        if len(measured.seconds) > 2:
            self.hostile.append(statistics.median(measured.seconds[2]))


@dataclass(frozen=True)
class Plan:
    """What is to be measured. `lengths` are bytes of UTF-8, nearly; `scaling` thread counts for the longest prompts."""

    engines: Sequence[str]
    lengths: Sequence[int]
    threads: int
    scaling: Sequence[int]
    repeat: int

    @property
    def main_length(self) -> int:
        """The one at which the engines are compared in detail."""
        return max((length for length in self.lengths if length <= MAIN_LENGTH), default=min(self.lengths))

    @property
    def steps(self) -> int:
        """Processes, at most."""
        peers = len(self.engines) - 1
        return len(self.lengths) * (1 + peers * self.repeat) + len(self.scaling) * peers * self.repeat


def reachable_lengths(text: str) -> list[int]:
    """Those of LENGTHS for which the text has at least one prompt; the text's own length where it is shorter."""
    size = len(text.encode("utf-8"))
    return [length for length in LENGTHS if length <= size] or [max(1, size)]


def measure(
    tokenizer_json: str, text: str, plan: Plan, timeout_seconds: float, step: Callable[[str], None]
) -> list[Point]:
    """Measures everything. `plan.engines` begins with "hf", which is timed once and gives the ids to compare with.

    `step` hears what comes next. Raises ValueError if there are fewer CPUs than threads.
    """
    points: list[Point] = []
    chars_a_byte = len(text) / len(text.encode("utf-8"))
    with FreshProcesses(timeout_seconds) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json)
        for length in plan.lengths:
            points += _at_length(processes, tokenizer, text, length, max(1, int(length * chars_a_byte)), plan, step)
    return points


def _at_length(
    processes: FreshProcesses,
    tokenizer: Path,
    text: str,
    length: int,
    chars: int,
    plan: Plan,
    step: Callable[[str], None],
) -> list[Point]:
    count = max(1, min(_MOST_PROMPTS, len(text) // chars, _MOST_BYTES // length))
    prompts = spread(text, count, chars)
    mean = sum(len(prompt.encode("utf-8")) for prompt in prompts) / count
    file = processes.store_prompts(prompts)
    passes = [file, file]
    if length == plan.main_length:
        hostile = [random_words(length, seed) for seed in range(_HOSTILE_PROMPTS)]
        passes.append(processes.store_prompts(hostile))

    def point(engine: str, threads: int) -> Point:
        return Point(engine, threads, length, count, mean)

    reference, *others = [point(engine, plan.threads) for engine in plan.engines]
    if length == max(plan.lengths):
        others += [point(engine, threads) for threads in plan.scaling for engine in plan.engines[1:]]
    step(f"hf, {length:,} bytes")
    measured = processes.measure(reference.engine, tokenizer, passes, choose_cpus(plan.threads, None))
    expected = measured.digests
    reference.add(measured, expected)
    if reference.problem:
        for one in others:
            one.problem = f"no ids to compare with: {reference.problem}"
        return [reference, *others]
    for repetition in range(plan.repeat):
        # Each engine comes first, second, ... in turn, so that none always follows the same other one.
        shift = repetition % max(1, len(others))
        for one in others[shift:] + others[:shift]:
            step(f"{one.engine}, {length:,} bytes")
            if not one.problem:
                cpus = choose_cpus(one.threads, None)
                one.add(processes.measure(one.engine, tokenizer, passes, cpus), expected)
    return [reference, *others]
