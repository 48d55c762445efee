"""Checks the installed package: compares its ids with Hugging Face's for real tokenizers, exits while a thread is in a
call, and prints the build.

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

# The call returns after shutdown, which glibc's on_exit prolongs by as many seconds as the exit status. Up to CPython
# 3.13 the thread is then ended by unwinding its stack, of which a wheel's own unwinder knows nothing.
EXIT_STATUS = 2
EXITS_DURING_A_CALL = """
import ctypes, sys, threading, time
from transformers import PreTrainedTokenizerFast
from lopt_plugin.tokenizer import accelerate
libc = ctypes.CDLL(None)
if hasattr(libc, "on_exit"):
    libc.on_exit(ctypes.cast(libc.sleep, ctypes.c_void_p), None)
tokenizer = accelerate(PreTrainedTokenizerFast(tokenizer_file=sys.argv[1]))
text, begins = "the quick brown fox " * 1_000_000, threading.Event()
threading.Thread(target=lambda: (begins.set(), tokenizer.lopt.encode_list(text)), daemon=True).start()
begins.wait()
time.sleep(0.005)  # less than the call takes
sys.exit(int(sys.argv[2]))
"""


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
            file = str(Path(folder, "tokenizer.json"))
            exiting = [sys.executable, "-c", EXITS_DURING_A_CALL, file, str(EXIT_STATUS)]
            exited = subprocess.run(exiting, check=False).returncode
        if checked.returncode:
            return 1
        if exited != EXIT_STATUS:
            print(f"{name}: a process that exits while a thread encodes ended with {exited}", file=sys.stderr)
            return 1
        found = json.loads(checked.stdout)
        print(f"{name}: route {found['route']}, {found['compared']['comparisons']} comparisons, all equal")
        if name == "qwen3" and found["route"] != route:
            print(f"expected the route {route}: {found['reason']}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
