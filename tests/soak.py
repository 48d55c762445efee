"""Calls a few tokenizers from many threads for long: answers stay right, and memory stays as after the first calls.

    python tests/soak.py [--calls N] [--threads N] [--seed N]

Each thread calls everything that the interface has, in a random order, with hard texts whose ids Hugging Face gave
before. Some calls change a tokenizer, pickle one, start batches and drop them, or are given up by the task that awaits
them; meanwhile the process is forked. Exit status 1 for a wrong answer, or where the resident memory at the end is more
than 5 % above that after the first calls.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import ctypes
import gc
import itertools
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# A small cache of prefixes is full early, and from then on drops what was not used for longest.
os.environ.setdefault("LOPT_PREFIX_CACHE_MB", "4")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the library warns of forks else
sys.path.insert(0, str(Path(__file__).with_name("support")))

import corpus
import hard_texts
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import lopt_plugin

FIRST = 10_000  # calls, after which all caches are full
GROWTH = 1.05
STEPS = 10  # each with threads of its own
NAMES = ["tiny_qwen2", "tiny_llama2", "wordpiece_uncased"]  # the last one is no BPE
BPE_COPIED = 0.001  # share of the copies
CHILD_S = 60


class WrongError(Exception):
    """An answer that is not Hugging Face's."""


def same(found: Any, right: Any, what: str) -> None:
    """Raises WrongError where they differ."""
    if found != right:
        raise WrongError(f"{what}: {found!r:.200} for {right!r:.200}")


def load(name: str) -> PreTrainedTokenizerFast:
    """A new tokenizer of Hugging Face's."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(corpus.tokenizer_json(name)))


class Subject:
    """One tokenizer that all threads share, and what Hugging Face says about the texts."""

    def __init__(self, name: str, texts: list[str]) -> None:
        self.name = name
        self.texts = texts
        self.fast = lopt_plugin.accelerate(load(name), threads=2, parallel_min_chars=2_000)
        plain = load(name)
        self.right = [dict(plain(text, return_offsets_mapping=True)) for text in texts]
        self.ids = [right["input_ids"] for right in self.right]
        self.bare = [plain.encode(text, add_special_tokens=False) for text in texts]


def texts() -> list[str]:
    """Short and long ones, some of which begin alike."""
    families = [itertools.islice(hard_texts.texts(family, 3), 8) for family in hard_texts.families()]
    short = [text for family in families for text in family]
    long = "".join(corpus.texts("books_en", 60_000))
    beginnings = [long[:length] for length in (2_500, 4_000, 9_000, 20_000)]
    return [*short, long[500:3_500], long[20_000:23_000], *beginnings]


class Calls:
    """The calls of one thread."""

    def __init__(self, subjects: list[Subject], seed: int) -> None:
        self.subjects = subjects
        self.rng = random.Random(seed)
        common = [self.call, self.batch, self.ids, self.offsets, self.counts]
        common += [self.cut, self.parts, self.grow, self.ahead]
        rare = [self.pickle, self.change_truncation, self.cancel]
        self.kinds: list[Callable[[], None]] = [*common * 20, *rare, self.add_token]

    def any(self) -> tuple[Subject, int]:
        subject = self.rng.choice(self.subjects)
        return subject, self.rng.randrange(len(subject.texts))

    def to_copy(self) -> tuple[Subject, int]:
        """A tokenizer to make another one of: seldom BPE, of which the library never frees the words it has encoded."""
        if self.rng.random() < BPE_COPIED:
            return self.any()
        subject = self.subjects[-1]
        return subject, self.rng.randrange(len(subject.texts))

    def some(self, subject: Subject) -> list[int]:
        return [self.rng.randrange(len(subject.texts)) for _ in range(self.rng.randint(1, 8))]

    def one(self) -> None:
        self.rng.choice(self.kinds)()

    def largest(self) -> None:
        """What takes the most memory."""
        for subject in self.subjects:
            at = max(range(len(subject.texts)), key=lambda i: len(subject.texts[i]))
            found = subject.fast([subject.texts[at]] * 8, return_offsets_mapping=True)
            same(found["offset_mapping"], [subject.right[at]["offset_mapping"]] * 8, "offsets of a batch")

    def call(self) -> None:
        subject, at = self.any()
        same(subject.fast(subject.texts[at])["input_ids"], subject.ids[at], "call")
        same(subject.fast.encode(subject.texts[at], add_special_tokens=False), subject.bare[at], "encode")

    def batch(self) -> None:
        subject, _ = self.any()
        rows = self.some(subject)
        found = subject.fast([subject.texts[at] for at in rows])["input_ids"]
        same(found, [subject.ids[at] for at in rows], "batch")

    def ids(self) -> None:
        subject, at = self.any()
        same(subject.fast.lopt.encode_ids(subject.texts[at]).tolist(), subject.ids[at], "encode_ids")
        rows = self.some(subject)
        batch = subject.fast.lopt.encode_batch_ids([subject.texts[at] for at in rows])
        found = [batch.ids[a:b].tolist() for a, b in itertools.pairwise(batch.row_offsets)]
        same(found, [subject.ids[at] for at in rows], "encode_batch_ids")

    def offsets(self) -> None:
        subject, at = self.any()
        found = subject.fast(subject.texts[at], return_offsets_mapping=True)
        same(found["offset_mapping"], subject.right[at]["offset_mapping"], "offsets")

    def counts(self) -> None:
        subject, at = self.any()
        same(subject.fast.lopt.count(subject.texts[at]), len(subject.ids[at]), "count")
        count = len(subject.bare[at])
        same(subject.fast.lopt.count_until(subject.texts[at], 5, False), count if count <= 5 else None, "count_until")

    def cut(self) -> None:
        subject, at = self.any()
        end = subject.fast.lopt.cut(subject.texts[at], len(subject.bare[at]), add_special_tokens=False)
        same(end, subject.texts[at], "cut")

    def parts(self) -> None:
        subject, at = self.any()
        if len(subject.texts[at]) < 5_000:
            intervals = subject.fast.lopt.intervals(subject.texts[at], add_special_tokens=False)
            same(intervals.count(0, len(subject.texts[at])), len(subject.bare[at]), "intervals")

    def grow(self) -> None:
        subject, at = self.any()
        text = subject.texts[at]
        growing = subject.fast.lopt.incremental()
        for begin in range(0, len(text), len(text) // 4 + 1):
            growing.append(text[begin : begin + len(text) // 4 + 1])
        same(growing.ids, subject.ids[at], "incremental")

    def ahead(self) -> None:
        """What engines do with lists: texts are encoded ahead, and some never taken."""
        subject, _ = self.any()
        rows = self.some(subject)
        started = subject.fast._lopt_prefetch([subject.texts[at] for at in rows])
        if started is not None:
            for number in range(self.rng.randint(0, len(rows))):
                same(started.take(number), subject.ids[rows[number]], "prefetch")

    def pickle(self) -> None:
        subject, at = self.to_copy()
        again = pickle.loads(pickle.dumps(subject.fast))
        same(again(subject.texts[at])["input_ids"], subject.ids[at], "pickle")

    def change_truncation(self) -> None:
        """Truncation is of a call, and leaves the next one alone."""
        subject, at = self.to_copy()
        own = copy.deepcopy(subject.fast)
        cut = own(subject.texts[at], truncation=True, max_length=8, add_special_tokens=False)["input_ids"]
        same(cut, subject.bare[at][:8], "truncated")
        same(own(subject.texts[at])["input_ids"], subject.ids[at], "after truncation")

    def add_token(self) -> None:
        """Changes a tokenizer that only this thread uses, and compares again."""
        subject, at = self.to_copy()
        own = copy.deepcopy(subject.fast)
        text = subject.texts[at] + " soaked " + subject.texts[at]
        own(text)
        own.add_tokens(["soaked"])
        plain = load(subject.name)
        plain.add_tokens(["soaked"])
        same(own(text)["input_ids"], plain(text)["input_ids"], "added token")

    def cancel(self) -> None:
        """Tasks that await a call are given up while its thread goes on."""
        subject, at = self.any()

        async def give_up() -> None:
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(1) as pool:
                work = loop.run_in_executor(pool, subject.fast.lopt.encode_list, subject.texts[-1])
                work.cancel()
                await asyncio.sleep(0)
                found = await loop.run_in_executor(pool, subject.fast.encode, subject.texts[at])
                same(found, subject.ids[at], "cancelled")

        asyncio.run(give_up())


def fork(subjects: list[Subject]) -> None:
    """A child of a process with many threads answers as its parent does. Raises WrongError."""
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_S)
        try:
            for subject in subjects:
                for at in range(0, len(subject.texts), 5):
                    same(subject.fast.encode(subject.texts[at]), subject.ids[at], "in a child")
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise WrongError(f"a child ended with {status}")


def resident_kb() -> int:
    """Memory of this process, now, without what the allocator could give back."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 10


def stage(subjects: list[Subject], calls: int, threads: int, seed: int, wrong: list[str]) -> None:
    """So many calls by so many threads."""
    left = itertools.count()
    # By all threads at once, so that memory has been at its highest early.
    together = threading.Barrier(threads)

    def work(number: int) -> None:
        own = Calls(subjects, seed * 1_000 + number)
        call = own.largest
        together.wait()
        while next(left) < calls and not wrong:
            try:
                call()
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}")
            call = own.one

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) and not wrong:
        time.sleep(2)
        try:
            fork(subjects)
        except WrongError as error:
            wrong.append(str(error))
    for worker in workers:
        worker.join()


def main() -> int:
    """Runs the calls that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    first = min(FIRST, options.calls // 4)
    subjects = [Subject(name, texts()) for name in NAMES]
    for subject in subjects:
        route = subject.fast.lopt.explain()["route"]
        if route != "native":
            print(f"{subject.name} is not accelerated: {subject.fast.lopt.explain()['reason']}")
            return 1
    wrong: list[str] = []
    for step in range(STEPS):
        stage(subjects, first // STEPS, options.threads, options.seed + step, wrong)
    before = resident_kb()
    print(f"after {first:,} calls: {before >> 10} MB", flush=True)
    done = first
    for step in range(STEPS):
        if wrong:
            break
        stage(subjects, (options.calls - first) // STEPS, options.threads, options.seed + STEPS + step, wrong)
        done += (options.calls - first) // STEPS
        print(f"after {done:,} calls: {resident_kb() >> 10} MB", flush=True)
    after = resident_kb()
    by_hugging_face = [subject.fast.lopt.explain()["hf_calls"] for subject in subjects]
    print(f"answered by Hugging Face: {by_hugging_face}")
    memory = f"{before >> 10} MB after the first {first:,}, {after >> 10} MB at the end"
    print(f"{done:,} calls, {len(wrong)} wrong; {memory}")
    for line in wrong:
        print(line)
    return int(bool(wrong) or after > GROWTH * before)


if __name__ == "__main__":
    sys.exit(main())
