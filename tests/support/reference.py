"""What the reference library answers about a tokenizer of the collection, asked once and kept on disk.

The reference is the slow side of nearly every comparison (about 2 MB/s). All tests, processes and interpreters share
its answers. A file is named after the versions of the libraries, the tokenizer, the question and the texts, so that
another version is asked again. The files are in build/reference_answers, which `make clean` removes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import corpus
import tokenizers
import transformers

T = TypeVar("T")

ANSWERS = Path(
    os.environ.get("LOPT_REFERENCE_ANSWERS") or Path(__file__).resolve().parents[2] / "build" / "reference_answers"
)

# So few are answered sooner than a file is read.
FEW_CHARACTERS = 4_000


class Reference:
    """A tokenizer that must not be changed, by its name. All that is not asked here is the tokenizer's own."""

    def __init__(self, name: str) -> None:
        self.tokenizer = corpus.load_tokenizer(name)
        self._name = _hash(tokenizers.__version__, transformers.__version__, corpus.tokenizer_json(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text without those of the post-processor."""

        def ask() -> list[list[int]]:
            return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

        return self._kept("ids", texts, ask)

    def pre_tokens(self, texts: Sequence[str]) -> list[list[tuple[str, tuple[int, int]]]]:
        """The pre-tokens of each text, and their offsets."""
        return self._kept("pre-tokens", texts, lambda: list(map(self.tokenizer.pre_tokenizer.pre_tokenize_str, texts)))

    def _kept(self, question: str, texts: Sequence[str], ask: Callable[[], T]) -> T:
        if sum(map(len, texts)) < FEW_CHARACTERS:
            return ask()
        path = ANSWERS / f"{_hash(self._name, question, *texts)}.pickle"
        try:
            return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]
        except FileNotFoundError:
            pass
        answer = ask()
        ANSWERS.mkdir(parents=True, exist_ok=True)
        # Written under another name first: another process may look for it meanwhile.
        with tempfile.NamedTemporaryFile(dir=ANSWERS, delete=False) as file:
            file.write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
        os.replace(file.name, path)
        return answer


def _hash(*parts: str) -> str:
    hashed = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()
