"""Serves a long-context model with vLLM and `--tokenizer-mode lopt`.

    python serve.py Qwen/Qwen2.5-7B-Instruct-1M --max-model-len 1010000 --enable-chunked-prefill
    python serve.py                                  # the tiny demo model, offline

The other arguments go to `vllm serve` unchanged. Send documents with client.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from model import model_or_tiny


def main() -> None:
    named = sys.argv[1] if sys.argv[1:] and not sys.argv[1].startswith("-") else None
    further = sys.argv[1:] if named is None else sys.argv[2:]
    model = model_or_tiny(named)
    if model != named:
        further = ["--enforce-eager", "--served-model-name", "tiny", *further]
    command = [str(Path(sys.executable).with_name("vllm")), "serve", model, "--tokenizer-mode", "lopt", *further]
    print(" ".join(command), flush=True)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
