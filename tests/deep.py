"""Runs the deep tier in parts, keeps what each one found, and ends in one table.

    python tests/deep.py [--part NAME ...] [--again] [--list]

A part is a target of the Makefile with its own environment and settings. What it found is kept in build/deep, so a run
that was stopped goes on where it was: a part that passed on the same commit is not run again. A name stands for all
parts that begin with it: `tokenizer` for each large tokenizer, `tokenizer-llama3` for one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "build" / "deep"

os.environ["LOPT_TIER"] = "deep"

sys.path.insert(0, str(Path(__file__).with_name("support")))
import corpus  # noqa: E402  (reads LOPT_TIER)
from pythons import PYTHONS, pythons  # noqa: E402

# Lines of a log that say how much was compared.
COUNTED = (
    r"[\d,]+ comparisons, \d+ differences",
    r"\d+ faults, \d+ survive",
    r"[\d,]+ inputs tried, \d+ of \d+ fuzzers found something",
    r"[\d,]+ calls, \d+ wrong",
    r"\d+ tokenizers called by \d+ threads, no difference",
)

LINES_OF_A_FAILURE = 60


@dataclass(frozen=True)
class Part:
    """A part of the tier: `make TARGET` with these settings."""

    name: str
    compares: str
    target: str
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What one run of a part found; `largest_mb` is the memory of its largest process."""

    part: str
    commit: str
    passed: bool
    counts: str
    seconds: float
    largest_mb: int


def parts() -> list[Part]:
    """All parts, in the order in which they run: what fails most often first."""
    large = sorted(corpus.large_tokenizer_names())
    every = corpus.tokenizer_names()
    small = [name for name in every if name.startswith(("tiny_", "wordpiece_"))]
    return [
        *(_core(folder) for folder in _core_folders()),
        Part("kernels", "GPU kernels at all tile sizes, interpreted", "test-kernels"),
        Part("vllm", "the whole suite on the real vLLM", "test-vllm"),
        Part("vllm-python", "the Python of vLLM 0.33, without an engine", "test-vllm-python", {"LOPT_TIER": "quick"}),
        Part("sglang", "the whole suite on the real SGLang", "test-sglang"),
        Part("examples", "Ray and datasets", "test-examples"),
        Part("rl", "TRL's GRPOTrainer", "test-rl"),
        *(Part(f"tokenizer-{name}", name, "test-core", {"LOPT_LARGE_TOKENIZER": name}) for name in large),
        Part("sanitize", "the native core under ASan and UBSan", "test-sanitize", {"LOPT_TIER": "quick"}),
        Part("threads", "the native core under ThreadSanitizer", "test-threads"),
        *(_fuzz(name) for name in ("encode", "offsets", "growing", "cut", "pack", "model", "compiled")),
        Part("c-api", "liblopt.so from C, Rust and Go, as far as these are here", "c-api"),
        Part("soak", "a million calls from 16 threads", "soak"),
        *(_quick_core(f"python-{version}", f"the core on CPython {version}", path) for version, path in pythons()),
        _quick_core("lowest", f"the core with {' '.join(_lowest())}", sys.executable, " ".join(_lowest())),
        _quick_core("newest", "the core with the newest versions that there are", sys.executable),
        *(_faults(where) for where in ("python", "engines", "kernels", "native")),
        _exhaustive("small", small),
        *(_exhaustive(name, [name]) for name in sorted({*every} - {*small})),
    ]


def _core_folders() -> list[str]:
    """The folders of tests that `make test-core` runs. What lies beside them is left to the quick tier."""
    folders = (path.name for path in Path(__file__).parent.iterdir() if any(path.glob("**/test_*.py")))
    return sorted({*folders} - {"engines", "gpu_kernels", "c_interface"})


def _core(folder: str) -> Part:
    """All tests of a folder, in processes of their own: together they would grow to 4 GB each."""
    settings = {"LOPT_LARGE_TOKENIZER": "none", "FOLDERS": f"tests/{folder}"}
    return Part(f"core-{folder}", f"all small tokenizers, all texts: tests/{folder}", "test-core", settings)


def _fuzz(name: str) -> Part:
    return Part(f"fuzz-{name}", f"ten minutes of tests/fuzz/fuzz_{name}.cpp", "fuzz", {"FUZZ": name, "SECONDS": "600"})


def _faults(where: str) -> Part:
    settings = {"LOPT_TIER": "quick", "FAULTS": f"{where}/"}
    return Part(f"faults-{where}", f"planted faults, {where}: each seen by the quick tier", "test-faults", settings)


def _exhaustive(name: str, names: list[str]) -> Part:
    return Part(f"exhaustive-{name}", f"every way to ids, {name}", "exhaustive", {"NAMES": " ".join(names)})


def _lowest() -> list[str]:
    """The lowest versions that pyproject.toml allows, of what the core and `lopt encode` need."""
    text = (ROOT / "pyproject.toml").read_text()
    found = [re.search(rf"^{name} = \[(.*)\]$", text, re.MULTILINE) for name in ("dependencies", "corpus")]
    lists = [match[1] for match in found if match is not None]
    assert len(lists) == 2
    return re.findall(r'"([^"]+)"', ", ".join(lists).replace(">=", "=="))


def _quick_core(name: str, compares: str, python: str, versions: str = "") -> Part:
    """The core's quick tier in an environment of its own, with these versions of what it needs."""
    folder = FOUND / "environments" / name
    own = {"VENV": str(folder), "WHEELS": f"{folder}-wheels", "PYTHON": python, "VERSIONS": versions}
    return Part(name, compares, "test-core", {**own, "LOPT_TIER": "quick"})


def run(part: Part, commit: str) -> Result:
    """Runs a part; its output goes to build/deep/NAME.log."""
    report = FOUND / f"{part.name}.xml"
    report.unlink(missing_ok=True)
    settings = {"LOPT_TIER": "deep", **part.settings}
    environment = {**os.environ, **settings, "PYTEST_ADDOPTS": f"--junitxml={report}"}
    start = time.monotonic()
    log = FOUND / f"{part.name}.log"
    with log.open("w", encoding="utf-8") as output:
        # In a process of its own: the system reports the largest memory of all children so far, not of one.
        command = [sys.executable, __file__, "--measured", "make", part.target]
        command += [f"{name}={value}" for name, value in part.settings.items()]
        ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(encoding="utf-8", errors="replace")
    largest = re.findall(r"^largest process: (\d+) MB$", text, re.MULTILINE)
    return Result(
        part.name,
        commit,
        ended.returncode == 0,
        _counts(report, text),
        time.monotonic() - start,
        int(largest[-1]) if largest else 0,
    )


def _measured(command: list[str]) -> int:
    status = subprocess.run(command, check=False).returncode
    print(f"largest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")
    return status


def _counts(report: Path, log: str) -> str:
    """How much was compared: the tests of pytest's report, or the last line that counts comparisons or faults."""
    if report.exists():
        suite = ElementTree.parse(report).getroot().find("testsuite")
        assert suite is not None
        tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        return f"{tests - skipped - bad:,} tests passed, {skipped:,} skipped, {bad:,} failed"
    lines = re.findall(f"^(?:{'|'.join(COUNTED)})", log, re.MULTILINE)
    return lines[-1] if lines else "not run: " + (log.strip().splitlines() or ["no output"])[-1][:80]


def _end_of_log(part: Part) -> str:
    """Why a part failed, for a reader who has only what this command prints, as in CI."""
    lines = (FOUND / f"{part.name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LINES_OF_A_FAILURE:])


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = "+changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return git("rev-parse", "--short", "HEAD") + changed


def _known(part: Part) -> Result | None:
    path = FOUND / f"{part.name}.json"
    return Result(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _table(chosen: list[Part]) -> str:
    rows = [("part", "what", "found", "minutes", "MB", "commit", "")]
    for part in chosen:
        result = _known(part)
        if result is None:
            rows.append((part.name, part.compares, "not run", "", "", "", ""))
            continue
        verdict = "passed" if result.passed else "FAILED"
        minutes, memory = f"{result.seconds / 60:.1f}", str(result.largest_mb)
        rows.append((part.name, part.compares, result.counts, minutes, memory, result.commit, verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def main() -> int:
    """Runs what was asked for. Exit status 1 where a part fails, 2 where no part has such a name."""
    if sys.argv[1:2] == ["--measured"]:
        return _measured(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", default=[], help="names, or how they begin; all parts without it")
    parser.add_argument("--again", action="store_true", help="also run parts that passed on this commit")
    parser.add_argument("--list", action="store_true", help="run nothing; show what is known")
    options = parser.parse_args()
    chosen = [part for part in parts() if not options.part or part.name.startswith(tuple(options.part))]
    if not chosen:
        print(f"no part is called {' or '.join(options.part)}; `--list` names them", file=sys.stderr)
        return 2
    FOUND.mkdir(parents=True, exist_ok=True)
    commit = _commit()
    for part in [] if options.list else chosen:
        known = _known(part)
        if known and known.passed and known.commit == commit and not options.again:
            print(f"{part.name}: passed on {commit} before", flush=True)
            continue
        print(f"{part.name}: make {part.target} ...", end=" ", flush=True)
        result = run(part, commit)
        (FOUND / f"{part.name}.json").write_text(json.dumps(asdict(result)), encoding="utf-8")
        verdict = "passed" if result.passed else "FAILED"
        print(f"{verdict}, {result.seconds / 60:.1f} minutes: {result.counts}", flush=True)
        if not result.passed:
            print(_end_of_log(part), flush=True)
    print(_table(chosen))
    missing = sorted({*PYTHONS} - {version for version, _ in pythons()})
    print("CPython that this machine does not have:", ", ".join(missing) or "none")
    results = [_known(part) for part in chosen]
    return int(not options.list and not all(result and result.passed for result in results))


if __name__ == "__main__":
    sys.exit(main())
