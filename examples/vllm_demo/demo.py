"""Starts the real vLLM server with `--tokenizer-mode lopt`, sends it a book, and compares with Hugging Face.

    python demo.py [--compare]

The model has random weights, so that nothing is downloaded; the tokenizer and the server are real. With --compare, a
second server without lopt gets the same prompt. `make demo` makes the environment and runs this script in it;
`lopt demo MODEL` does the same with your own tokenizer and text.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from book import long_english_text
from tiny_model import REPOSITORY, build

import lopt_plugin
from lopt_plugin.cli.output import CommandError
from lopt_plugin.cli.serving.run import ABOUT_TOKENS, Subject, run
from lopt_plugin.cli.serving.server import ServerError, interrupted_by_signals
from lopt_plugin.cli.serving.vllm_server import VllmServer

# In build/, which git ignores; every run writes it again.
FOLDER = REPOSITORY / "build" / "vllm_demo"


def main() -> int:
    """Runs the demo; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="also run a server with vLLM's own tokenizer mode")
    arguments = parser.parse_args()
    if importlib.util.find_spec("vllm") is None:
        parser.error(f"vLLM is not installed for {sys.executable}: pip install 'lopt-plugin[vllm]'")
    return exit_status(FOLDER, lambda: demo(arguments.compare))


def exit_status(folder: Path, work: Callable[[], int]) -> int:
    """Runs a demo that writes to the folder; its servers are stopped when it fails or is interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with interrupted_by_signals():
            return work()
    except KeyboardInterrupt:
        print("\nInterrupted. The server has been stopped.")
        return 130
    except (CommandError, ServerError) as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1


def demo(compare: bool) -> int:
    """The exit status: 0 only if every id is equal and the native route produced it."""
    from transformers import AutoTokenizer

    print("Model      a tiny Qwen3 with random weights, and Qwen3's tokenizer", flush=True)
    model = build(FOLDER / "model")
    tokenizer = AutoTokenizer.from_pretrained(model)
    text, name = long_english_text(8 * ABOUT_TOKENS)
    prompt = lopt_plugin.accelerate(tokenizer).lopt.cut(text, ABOUT_TOKENS)
    plugin_line = run(VllmServer, Subject(model, None, tokenizer, prompt, name), FOLDER, compare)
    if "takes the native route" not in plugin_line:
        print(f"FAILED: the prompt did not take the native route: {plugin_line}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
