"""The tokenizers to measure: those of ../shared where that is beside the checkout, and those of tests/data."""

from __future__ import annotations

import lzma
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"
TESTS_DATA = REPOSITORY / "tests" / "data"


def tokenizer_json(name: str) -> str:
    """The text of a tokenizer.json, by a known name or by the path of a file (.json or .json.xz).

    Raises FileNotFoundError that lists the known names.
    """
    files = tokenizer_files()
    path = files.get(name, Path(name))
    if not path.is_file():
        raise FileNotFoundError(f"no tokenizer {name!r}; there are {', '.join(files)}, and paths")
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()


def tokenizer_files() -> dict[str, Path]:
    """Known names and their files."""
    files = {path.name.split(".")[0]: path for path in sorted((TESTS_DATA / "tokenizers").glob("*.json.xz"))}
    for path in sorted((SHARED_DATA / "tokenizers").glob("*/tokenizer.json*")):
        files[path.parent.name] = path
    return files
