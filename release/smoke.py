"""Checks the installed package: compares its ids with Hugging Face's for real tokenizers, and prints the build.

    python release/smoke.py [--without-core]

Run it with the Python of the environment; it uses the tokenizers of this checkout. The exit status is 1 if ids differ,
or if the native core is unexpectedly present or missing.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOKENIZERS = Path(__file__).resolve().parents[1] / "tests" / "data" / "tokenizers"
COMMAND = [sys.executable, "-m", "lopt_plugin.cli"]


def main() -> int:
    """Returns the exit status."""
    route = "hf_chunks" if "--without-core" in sys.argv[1:] else "native"
    # Leave the checkout, whose source tree would be found first.
    os.chdir(tempfile.gettempdir())
    subprocess.run([*COMMAND, "--version"], check=True)
    for name in ("qwen3", "bert_base_uncased"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tokenizer.json").write_bytes(lzma.decompress((TOKENIZERS / f"{name}.json.xz").read_bytes()))
            command = [*COMMAND, "check", folder, "--limit", "1", "--json"]
            checked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if checked.returncode:
            return 1
        found = json.loads(checked.stdout)
        print(f"{name}: route {found['route']}, {found['compared']['comparisons']} comparisons, all equal")
        if name == "qwen3" and found["route"] != route:
            print(f"expected the route {route}: {found['reason']}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
