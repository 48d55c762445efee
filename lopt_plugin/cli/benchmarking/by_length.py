"""Engines on prompts of several lengths: first, cold, warm and cache-hostile, and by the number of threads.

The method is that of the repository's benchmarks: distinct prompts, a fresh process for each engine and length, engines
in rotation, and no number unless the ids equal those of the Hugging Face tokenizer.
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
    """An engine on prompts of one length. Figures may be shown only if `problem` is empty.

    prompt_bytes   mean length of a prompt in UTF-8
    first          seconds of the first prompt of a process, one per repetition
    cold           median seconds of the other prompts, each seen once; empty if there is only one prompt
    warm           median seconds of all prompts, seen for the second time
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
        """Median over the repetitions; None if there is none."""
        values: list[float] = getattr(self, figure)
        return statistics.median(values) if values and not self.problem else None

    def speed(self, figure: str) -> float | None:
        """MB/s: 10^6 bytes of UTF-8 per second."""
        seconds = self.seconds(figure)
        size = self.length if figure == "hostile" else self.prompt_bytes
        return None if seconds is None else size / 1e6 / seconds

    @property
    def unseen(self) -> str:
        """The figure of an unseen prompt: cold, or first if there is only one prompt."""
        return "cold" if self.cold else "first"

    def add(self, measured: Measurement, expected: Sequence[Sequence[str]]) -> None:
        """Adds a repetition, or the reason why there is no number."""
        self.note = measured.note or self.note
        self.problem = measured.problem(expected)
        if self.problem:
            self.is_error = not measured.refused
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
    """What to measure. `lengths`: approximate bytes of UTF-8; `scaling`: thread counts for the longest prompts."""

    engines: Sequence[str]
    lengths: Sequence[int]
    threads: int
    scaling: Sequence[int]
    repeat: int

    @property
    def main_length(self) -> int:
        """The length at which the engines are compared in detail."""
        return max((length for length in self.lengths if length <= MAIN_LENGTH), default=min(self.lengths))

    @property
    def steps(self) -> int:
        """The largest possible number of processes."""
        peers = len(self.engines) - 1
        return len(self.lengths) * (1 + peers * self.repeat) + len(self.scaling) * peers * self.repeat


def reachable_lengths(text: str) -> list[int]:
    """The LENGTHS for which a text that is not empty has a prompt; its own length if it is shorter than all."""
    size = len(text.encode("utf-8"))
    return [length for length in LENGTHS if length <= size] or [size]


def measure(
    tokenizer_json: str, text: str, plan: Plan, timeout_seconds: float, step: Callable[[str], None]
) -> list[Point]:
    """Measures everything. `plan.engines` begins with "hf", which runs once and gives the ids to compare with.

    `step` is called with a description before each process. Raises ValueError if there are fewer CPUs than threads.
    """
    points: list[Point] = []
    with FreshProcesses(timeout_seconds) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json)
        for length in plan.lengths:
            points += _measure_length(processes, tokenizer, text, length, plan, step)
    return points


def _measure_length(
    processes: FreshProcesses, tokenizer: Path, text: str, length: int, plan: Plan, step: Callable[[str], None]
) -> list[Point]:
    chars = int(length * len(text) / len(text.encode("utf-8")))
    count = min(_MOST_PROMPTS, len(text) // chars, _MOST_BYTES // length)
    prompts = spread(text, count, chars)
    mean = sum(len(prompt.encode("utf-8")) for prompt in prompts) / count
    passes = [processes.store_prompts(prompts)] * 2
    if length == plan.main_length:
        passes.append(processes.store_prompts([random_words(length, seed) for seed in range(_HOSTILE_PROMPTS)]))

    def run(point: Point) -> Measurement:
        step(f"{point.engine}, {length:,} bytes")
        return processes.measure(point.engine, tokenizer, passes, choose_cpus(point.threads))

    thread_counts = [plan.threads, *(plan.scaling if length == max(plan.lengths) else ())]
    others = [Point(engine, n, length, count, mean) for n in thread_counts for engine in plan.engines[1:]]
    reference = Point(plan.engines[0], plan.threads, length, count, mean)
    measured = run(reference)
    reference.add(measured, measured.digests)
    if reference.problem:
        for point in others:
            point.problem = f"no ids to compare with: {reference.problem}"
        return [reference, *others]
    for repetition in range(plan.repeat):
        # The order rotates, so that no engine always follows the same one.
        shift = repetition % len(others)
        for point in others[shift:] + others[:shift]:
            if not point.problem:
                point.add(run(point), measured.digests)
    return [reference, *others]
