"""The demo's tiny random model, with Qwen3's tokenizer from the repository.

python tiny_model.py OUT_FOLDER
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from lopt_plugin.cli.serving import tiny_model

REPOSITORY = Path(__file__).resolve().parents[2]
QWEN3 = REPOSITORY / "tests" / "data" / "tokenizers" / "qwen3.json.xz"


def build(out: Path) -> Path:
    """Writes the model and the tokenizer's files to `out`; returns `out`."""
    content: dict[str, Any] = json.loads(lzma.decompress(QWEN3.read_bytes()))
    return tiny_model.build(out, content)


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
