"""What an engine took, and several engines measured over the same passes, with the ids of every pass compared first."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.common.engines import engine_class
from lopt_plugin.cli.benchmarking.fresh_process import FreshProcesses
from lopt_plugin.cli.benchmarking.prompts import random_words
from lopt_plugin.cli.benchmarking.worker import Measurement

REFERENCE = "hf"
WARM_UP_CHARS = 10_000
T = TypeVar("T")


@dataclass
class Result:
    """One engine, or one method, on one case.

    case      what the case is: tokenizer, corpus, threads, ...
    samples   by figure, one number for each repetition or text; empty where `problem` is not
    is_error  whether ids differ, or our own engine fails: the script then ends with status 1
    """

    engine: str
    case: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""
    is_error: bool = False
    note: str = ""

    def accepts(self, measured: Measurement, expected: Sequence[Sequence[str]]) -> bool:
        """Whether a repetition has these digests; otherwise `problem` says why not, and no sample is left."""
        self.note = measured.note or self.note
        self.problem = measured.problem(expected)
        if self.problem:
            self.is_error = not measured.refused and not (measured.failed and engine_class(self.engine).is_peer)
            self.samples.clear()
        return not self.problem

    def add(self, figures: Mapping[str, float]) -> None:
        """One sample of each figure."""
        for name, value in figures.items():
            self.samples.setdefault(name, []).append(value)

    def median(self, figure: str) -> float | None:
        """Over the samples; None where there are none."""
        return statistics.median(self.samples[figure]) if self.samples.get(figure) else None

    def medians(self, figures: Iterable[Any]) -> dict[Any, float]:
        """The medians of those figures that have one; figures are looked up by their `str`."""
        return {figure: value for figure in figures if (value := self.median(str(figure))) is not None}

    @property
    def remark(self) -> str:
        """What the reader of a table has to know of it: "" or a line."""
        return f"{self.engine}: {self.problem or self.note}" if self.problem or self.note else ""


def remarks(results: Iterable[Result], first: str = "") -> list[str]:
    """The remarks of results, each once; `first` comes before them."""
    return list(dict.fromkeys(filter(None, (first, *(result.remark for result in results)))))


def medians_by(
    results: Iterable[Result], key: str, figure: str = "seconds", factor: float = 1
) -> dict[str, dict[Any, float]]:
    """Times a factor, by engine, then by what the case has under `key`; nothing where there is no figure."""
    found: dict[str, dict[Any, float]] = {}
    for result in results:
        own = found.setdefault(result.engine, {})
        if (median := result.median(figure)) is not None:
            own[result.case[key]] = factor * median
    return found


class Race:
    """HF over the passes, once, for the ids; then any engines, which alternate.

    warm_up: whether each process encodes a short prompt first. Raises RuntimeError if HF fails.
    """

    def __init__(
        self,
        processes: FreshProcesses,
        tokenizer: Path,
        passes: Mapping[str, Path],
        cpus: Sequence[int],
        warm_up: bool = True,
    ) -> None:
        self.processes = processes
        self.tokenizer = tokenizer
        self.cpus = cpus
        self.names = ["warm-up", *passes] if warm_up else list(passes)
        first = [processes.store_prompts([random_words(WARM_UP_CHARS, seed=0)])] if warm_up else []
        self.files = [*first, *passes.values()]
        progress(f"{REFERENCE}: {', '.join(passes)}")
        self.reference = reference(processes, tokenizer, self.files, cpus)

    def run(
        self,
        engines: Sequence[str],
        repeat: int,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Result]:
        """Results by engine: seconds by pass, for each repetition the median of its prompts.

        Those of HF are of its one run, whatever `environment` says.
        """
        results = {engine: Result(engine) for engine in engines}
        if REFERENCE in results:
            self._add(results[REFERENCE], self.reference)
        others = [engine for engine in engines if engine != REFERENCE]
        for repetition in range(repeat):
            for result in (results[engine] for engine in turned(others, repetition)):
                progress(f"repetition {repetition + 1} of {repeat}: {result.engine}")
                self._add(result, self.measure(result, environment=environment))
        return results

    def measure(
        self, result: Result, cpus: Sequence[int] | None = None, environment: Mapping[str, str] | None = None
    ) -> Measurement | None:
        """A repetition; None where the result has a problem, before or after it."""
        if result.problem:
            return None
        measured = self.processes.measure(result.engine, self.tokenizer, self.files, cpus or self.cpus, environment)
        only_counts = measured.counts == self.reference.counts and engine_class(result.engine).kind == "count"
        expected = measured.digests if only_counts else self.reference.digests
        return measured if result.accepts(measured, expected) else None

    def _add(self, result: Result, measured: Measurement | None) -> None:
        if measured is not None:
            result.add(dict(zip(self.names, map(statistics.median, measured.seconds), strict=True)))


def with_case(found: Mapping[Any, Result], key: str, value: Any) -> list[Result]:
    """The results, with something more in their case."""
    for result in found.values():
        result.case[key] = value
    return list(found.values())


def reference(processes: FreshProcesses, tokenizer: Path, files: Sequence[Path], cpus: Sequence[int]) -> Measurement:
    """HF over the passes. Raises RuntimeError where it fails."""
    found = processes.measure(REFERENCE, tokenizer, files, cpus)
    if found.refused or found.failed:
        raise RuntimeError(f"no reference ids: {found.refused}{found.failed}")
    return found


def turned(engines: Sequence[T], repetition: int) -> list[T]:
    """Each engine comes first, second, ... in turn, so that none always follows the same other one."""
    shift = repetition % max(1, len(engines))
    return [*engines[shift:], *engines[:shift]]


def progress(line: str) -> None:
    """To stderr."""
    print(line, file=sys.stderr, flush=True)
