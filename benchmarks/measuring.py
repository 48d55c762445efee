"""Several engines over the same passes, each repetition in a fresh process, the ids of every pass compared first."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lopt_plugin.benchmarking.engines import engine_class
from lopt_plugin.benchmarking.fresh_process import FreshProcesses
from lopt_plugin.benchmarking.prompts import random_words
from lopt_plugin.benchmarking.worker import Measurement

REFERENCE = "hf"
WARM_UP_CHARS = 10_000


@dataclass
class Figures:
    """An engine's seconds, by pass: the median over its prompts, one for each repetition; empty where `problem` is not.

    is_error  whether ids differ, or our own engine fails
    """

    engine: str
    problem: str = ""
    is_error: bool = False
    note: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, measured: Measurement, names: Sequence[str], expected: Mapping[str, Sequence[str]]) -> None:
        """A repetition; the first pass of `measured` is the warm-up."""
        self.note = measured.note or self.note
        if measured.refused:
            self.problem = f"does not load: {measured.refused}"
        elif measured.failed:
            self.problem = f"failed: {measured.failed}"
            self.is_error = not engine_class(self.engine).is_peer
        elif any(list(expected[name]) != list(seen) for name, seen in zip(names, measured.digests[1:], strict=True)):
            self.problem, self.is_error = "ids differ", True
        if self.problem:
            self.seconds.clear()
            return
        for name, taken in zip(names, measured.seconds[1:], strict=True):
            self.seconds.setdefault(name, []).append(statistics.median(taken))

    def median(self, name: str) -> float | None:
        """Seconds of a prompt of that pass; None where there is no number."""
        return statistics.median(self.seconds[name]) if name in self.seconds else None


class Race:
    """HF over the passes, once, for the ids; then any engines, which alternate. Raises RuntimeError if HF fails."""

    def __init__(
        self, processes: FreshProcesses, tokenizer: Path, passes: Mapping[str, Path], cpus: Sequence[int]
    ) -> None:
        self.processes = processes
        self.tokenizer = tokenizer
        self.cpus = cpus
        self.names = list(passes)
        self.files = [processes.store_prompts([random_words(WARM_UP_CHARS, seed=0)]), *passes.values()]
        progress(f"{REFERENCE}: {', '.join(self.names)}")
        self.reference = processes.measure(REFERENCE, tokenizer, self.files, cpus)
        if self.reference.refused or self.reference.failed:
            raise RuntimeError(f"no reference ids: {self.reference.refused}{self.reference.failed}")
        self.expected = dict(zip(self.names, self.reference.digests[1:], strict=True))

    def run(
        self,
        engines: Sequence[str],
        repeat: int,
        cpus: Sequence[int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Figures]:
        """Figures by engine; those of HF are of its one run, whatever `cpus` and `environment` say."""
        figures = {engine: Figures(engine) for engine in engines}
        if REFERENCE in figures:
            figures[REFERENCE].add(self.reference, self.names, self.expected)
        others = [engine for engine in engines if engine != REFERENCE]
        for repetition in range(repeat):
            # Each engine comes first, second, ... in turn, so that none always follows the same other one.
            shift = repetition % max(1, len(others))
            for engine in others[shift:] + others[:shift]:
                if figures[engine].problem:
                    continue
                progress(f"repetition {repetition + 1} of {repeat}: {engine}")
                measured = self.processes.measure(engine, self.tokenizer, self.files, cpus or self.cpus, environment)
                figures[engine].add(measured, self.names, self.expected)
        return figures


def remarks(figures: Mapping[str, Figures]) -> list[str]:
    """What the reader of a table has to know of its engines."""
    return [f"{name}: {one.problem or one.note}" for name, one in figures.items() if one.problem or one.note]


def all_remarks(found: Iterable[Mapping[str, Figures]]) -> list[str]:
    """`remarks` of several runs, each once."""
    return list(dict.fromkeys(line for figures in found for line in remarks(figures)))


def progress(line: str) -> None:
    """To stderr."""
    print(line, file=sys.stderr, flush=True)
