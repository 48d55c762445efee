"""One long text at a time, in the form of GPUTOK's table 1: milliseconds by the number of tokens.

python benchmarks/papers/gputok.py --tokenizer gpt2 --tokens 1024,131072
"""

from __future__ import annotations

import sys
from pathlib import Path

from tokenizers import Tokenizer

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_tokenizer, tokenizer_json
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run

ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "lopt", "lopt_gpu")
SAMPLE_CHARS = 100_000
ABOUT = """\
One text to its ids, {threads} threads, {tokenizer}, {corpus}; each text is seen once. GPUTOK's own ids are
those of a greedy merge, not the tokenizer's: it would have no number here. `lopt_gpu` is measured where there
is a GPU."""


def measure(bench: Bench) -> list[Result]:
    """Milliseconds of a text by the number of its tokens."""
    given, text = bench.given, bench.text
    sample = text[:SAMPLE_CHARS]
    tokenizer = Tokenizer.from_str(tokenizer_json(given.tokenizer))
    chars_a_token = len(sample) / len(tokenizer.encode(sample, add_special_tokens=False).ids)
    groups = {tokens: bench.texts(min(round(tokens * chars_a_token), len(text))) for tokens in given.tokens}
    title = f"One text, ms, at about {chars_a_token:.2f} characters a token"
    return bench.unseen(groups, "tokens", "tokens", title, "gputok")


if __name__ == "__main__":
    made = Options(__doc__, repeat=2)
    small = ["hf", "lopt", "lopt_gpu"]
    made.add_inputs(known_tokenizer("gpt2"), "leval_en", ENGINES, "tiny_cl100k", "books_en", small)
    made.add("--tokens", [1024, 4096, 16384, 65536, 131072], "of a text, about", [256, 4096])
    made.add("--texts", 10, "of each length", 2)
    sys.exit(run(made.read(), "gputok", "GPUTOK: one text by its tokens", ABOUT, measure))
