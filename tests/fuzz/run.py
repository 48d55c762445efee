"""Builds the fuzzers of the native core and runs them; ends with how much each one tried.

    python tests/fuzz/run.py [--seconds N] [--jobs N] [NAMES]

NAMES are those of the files fuzz_NAME.cpp; all of them without. They are built with clang, AddressSanitizer and
UndefinedBehaviorSanitizer in build/fuzz, which also keeps the corpus of each, so that the next run goes on where this
one ends. Exit status 1 where one finds something: the input lies in build/fuzz/found, and

    build/fuzz/NAME build/fuzz/found/NAME-crash-...

tries it again. `--threads` builds threads.cpp with ThreadSanitizer instead, and runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "fuzz"
NATIVE = ROOT / "lopt_plugin" / "native"
FLAGS = ["-std=c++20", "-stdlib=libstdc++", "-O2", "-g1", "-fno-omit-frame-pointer", "-pthread"]
FLAGS += ["-D_GLIBCXX_ASSERTIONS", f"-I{NATIVE}", f"-I{HERE}"]
# Tracing comparisons would take more time than the core; the dictionary has what they would find.
FUZZER = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined", "-fno-sanitize-coverage=trace-cmp"]
# Without the stack of each allocation, which takes longer than a short text: try what was found again without these.
SANITIZERS = "detect_leaks=0:malloc_context_size=0:quarantine_size_mb=8:detect_stack_use_after_return=0"
# Bytes of an input, of which one may stand for hundreds of characters, and the share of the time that it gets. Of short
# inputs many more are tried; the description of a tokenizer is not short.
LENGTHS = {40: 0.8, 512: 0.2}
LENGTHS_OF = {"model": {512: 1.0}}
LONGEST_S = 20  # of one input
MOST_MB = 4096


def compiler() -> str:
    """clang++, of the name that the system has for it."""
    for name in (os.environ.get("CLANGXX", ""), "clang++", *(f"clang++-{version}" for version in range(21, 13, -1))):
        if name and shutil.which(name):
            return name
    sys.exit("the fuzzers need clang 14 or newer: apt install clang")


def names() -> list[str]:
    """Of all fuzzers."""
    return sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.cpp"))


def build(clang: str, source: Path, out: Path, flags: list[str]) -> None:
    """Builds one program, unless it is newer than all that it is made of."""
    sources = [*HERE.glob("*.[ch]pp"), *NATIVE.rglob("*.hpp")]
    if out.exists() and out.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    subprocess.run([clang, *FLAGS, *flags, str(source), "-o", str(out)], check=True)


def fuzz(name: str, seconds: int) -> tuple[int, str]:
    """The exit status of a run, and its log."""
    corpus = BUILD / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    (BUILD / "found").mkdir(exist_ok=True)
    command = [str(BUILD / name), str(corpus), str(BUILD / "data" / "seeds"), f"-dict={BUILD / 'data' / 'dictionary'}"]
    # Entropic schedules take longer to bring up to date than a short text takes to encode.
    command += [f"-timeout={LONGEST_S}", f"-rss_limit_mb={MOST_MB}", "-entropic=0", "-reload=0"]
    command += ["-print_final_stats=1", f"-artifact_prefix={BUILD / 'found' / name}-"]
    environment = {**os.environ, "LOPT_FUZZ_DATA": str(BUILD / "data"), "ASAN_OPTIONS": SANITIZERS}
    log = BUILD / f"{name}.log"
    with log.open("w", encoding="utf-8") as output:
        for length, share in LENGTHS_OF.get(name, LENGTHS).items():
            limits = [f"-max_len={length}", f"-max_total_time={max(1, round(seconds * share))}"]
            ended = subprocess.run(
                [*command, *limits], env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
            )
            if ended.returncode:
                break
    return ended.returncode, log.read_text(encoding="utf-8", errors="replace")


def report(name: str, status: int, log: str) -> int:
    """Prints what a run did; returns how many inputs it tried."""
    executed = re.findall(r"^stat::number_of_executed_units:\s*(\d+)$", log, re.MULTILINE)
    tried = sum(map(int, executed))
    print(f"{name}: {tried:,} inputs, {'nothing found' if status == 0 else 'FOUND SOMETHING'}", flush=True)
    if status:
        lines = log.splitlines()
        told = [number for number, line in enumerate(lines) if re.search(r"not true|ERROR|runtime error", line)]
        print("\n".join(lines[told[0] : told[0] + 15] if told else lines[-15:]), flush=True)
        print("\n".join(line for line in lines if "Test unit written" in line), flush=True)
    return tried


def main() -> int:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAMES")
    parser.add_argument("--seconds", type=int, default=60, help="for each fuzzer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="fuzzers at a time")
    parser.add_argument("--threads", action="store_true", help="ThreadSanitizer instead")
    options = parser.parse_args()
    unknown = sorted({*options.names} - {*names()})
    if unknown:
        print(f"no fuzzer is called {' or '.join(unknown)}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    clang = compiler()
    subprocess.run([sys.executable, str(HERE / "dump.py"), str(BUILD / "data")], check=True)
    if options.threads:
        build(clang, HERE / "threads.cpp", BUILD / "threads", ["-fsanitize=thread"])
        environment = {**os.environ, "LOPT_FUZZ_DATA": str(BUILD / "data"), "TSAN_OPTIONS": "halt_on_error=1"}
        return subprocess.run([str(BUILD / "threads")], env=environment, check=False).returncode
    chosen = options.names or names()

    def run(name: str) -> tuple[int, str]:
        build(clang, HERE / f"fuzz_{name}.cpp", BUILD / name, FUZZER)
        return fuzz(name, options.seconds)

    tried, failed = 0, []
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, (status, log) in zip(chosen, pool.map(run, chosen), strict=True):
            tried += report(name, status, log)
            failed += [name] * bool(status)
    print(f"{tried:,} inputs tried, {len(failed)} of {len(chosen)} fuzzers found something")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
