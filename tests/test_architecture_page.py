"""The paths in docs/architecture.md are those that calls take, and every file it names exists."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from corpus import tokenizer_json
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from lopt_plugin.tokenizer.arguments import TRANSFORMERS_4

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
INSTALLED = Path(lopt_plugin.__file__).parent
STEP = re.compile(r"^\d+\. `([^`]+)` \(`([^`]+)`\)", re.MULTILINE)
# "Seven calls in six files", and "(14 Python calls in all)" or nothing.
COUNTS = re.compile(r"^(\w+) calls in (\w+) files(?:.*?\((\d+) Python calls)?", re.MULTILINE | re.DOTALL)
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEXT = "Hello world, this is a text."

Step = tuple[str, str]
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n### ")[1:]}
# From the first step inside `tokenizer/` on for engines, which are not installed here.
CALLS: dict[str, Callable[[Any], Any]] = {
    "`tokenizer(text)`": lambda tokenizer: tokenizer(TEXT * 200),
    "A prompt in vLLM": lambda tokenizer: tokenizer.encode(TEXT, truncation=True, max_length=4096),
    "A prompt in SGLang": lambda tokenizer: tokenizer._lopt_array(TEXT),
    "A batch, `tokenizer(texts)`": lambda tokenizer: tokenizer([TEXT * 1000, TEXT * 1001, TEXT * 1002]),
    "A batch of ids, `tokenizer.lopt.encode_batch_ids(texts)`": lambda tokenizer: tokenizer.lopt.encode_batch_ids(
        [TEXT, TEXT]
    ),
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    backend = Tokenizer.from_str(tokenizer_json("tiny_qwen2"))
    return lopt_plugin.accelerate(PreTrainedTokenizerFast(tokenizer_object=backend))


def steps_of(section: str) -> list[Step]:
    return [(name.rpartition(".")[2], file) for name, file in STEP.findall(SECTIONS[section])]


def traced(call: Callable[[], Any]) -> list[Step]:
    """The functions of lopt_plugin that a call runs, in order."""
    found: list[Step] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(INSTALLED):
            found.append((frame.f_code.co_name, path.relative_to(INSTALLED).as_posix()))

    call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def test_every_way_is_traced() -> None:
    assert set(SECTIONS) == set(CALLS)


@pytest.mark.every_parameter
@pytest.mark.parametrize("section", CALLS)
def test_way(section: str, tokenizer: Any) -> None:
    if TRANSFORMERS_4 and "`tokenizer(texts)`" in section:
        pytest.skip("transformers 4 has another method for batches")
    steps = steps_of(section)
    ours = [step for step in steps if not step[1].startswith("engines/")]
    called = traced(lambda: CALLS[section](tokenizer))
    remaining = iter(called)
    assert [step for step in ours if step not in remaining] == [], called
    counts = COUNTS.search(SECTIONS[section])
    assert counts is not None
    assert NUMBERS.index(counts[1].lower()) == len(steps)
    assert NUMBERS.index(counts[2]) == len({file for _, file in steps})
    if counts[3] is not None and ours == steps and sys.version_info < (3, 12):
        # From 3.12 on, comprehensions are no calls.
        assert len(called) <= int(counts[3])


def test_names_exist() -> None:
    for name, file in STEP.findall(PAGE):
        source = (ROOT / "lopt_plugin" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *(?:async )?def {name.rpartition('.')[2]}\(", source, re.MULTILINE), (name, file)
    for name in re.findall(r"`([\w/]+\.py)`", PAGE):
        places = (ROOT / name, ROOT / "lopt_plugin" / name)
        assert any(place.exists() for place in places) or [*(ROOT / "lopt_plugin").rglob(name)], name
