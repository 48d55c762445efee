"""lopt demo: does a real engine's server return Hugging Face's ids with lopt, and how much time does it save?"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from . import model as models, options
from .output import CANNOT_LOAD, CommandError, ends_well, print_line
from .serving import tiny_model
from .serving.run import ABOUT_TOKENS, Subject, run
from .serving.server import EngineServer, ServerError, interrupted_by_signals
from .serving.sglang_server import SglangServer, is_for_cpu
from .serving.vllm_server import VllmServer
from .texts import built_in_prose, first_chars

ENGINES: dict[str, type[EngineServer]] = {"vllm": VllmServer, "sglang": SglangServer}
# A CPU needs seconds for SGLang's attention over a few thousand tokens.
SGLANG_TOKENS_ON_CPU = 8_000
# Leave room in the context for the answer.
MOST_TOKENS = tiny_model.MAX_MODEL_LEN - 1
_MOST_CHARS = 4_000_000
_SAMPLE_CHARS = 100_000


@ends_well(on_error=CANNOT_LOAD)
def demo(
    model: Annotated[str | None, options.MODEL] = None,
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text of the prompt. Default: sources of Python's standard library."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_TOKENS,
            help="Approximate length of the prompt, which is the start of the text. "
            f"Default: {ABOUT_TOKENS:,}; {SGLANG_TOKENS_ON_CPU:,} for SGLang on a CPU.",
        ),
    ] = None,
    engine: Annotated[
        Literal["vllm", "sglang"] | None, typer.Option(help="Default: the one that is installed, vLLM first.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also run a server with the engine's own tokenizer.")
    ] = False,
) -> None:
    """Start the real server of vLLM or SGLang with lopt, and compare a long prompt's ids and times with Hugging Face's.

    The server runs MODEL's tokenizer and a tiny model with random weights: no weights are downloaded, and no GPU is
    needed. It listens on this machine only, and is stopped at the end.

    Example: `lopt demo Qwen/Qwen3-8B --compare`

    Exit status: 0 all ids equal, 1 something differs, 2 the model cannot be loaded, no engine or wrong usage.
    """
    if model is None:
        hint = "for example: lopt demo Qwen/Qwen3-8B. In a checkout of lopt_plugin, make demo has a tokenizer"
        what = "a folder with a tokenizer, a tokenizer.json, or a name on the hub"
        raise CommandError(f"MODEL is missing: {what}", hint=hint)
    chosen = _engine(engine)
    whole = built_in_prose(_MOST_CHARS) if text is None else first_chars([str(text)], "text", _MOST_CHARS)
    if not whole.strip():
        raise CommandError(f"{text} has no text")
    tokenizer = models.load(model)
    if tokens is None:
        tokens = SGLANG_TOKENS_ON_CPU if chosen is SglangServer and is_for_cpu() else ABOUT_TOKENS
    count = models.accelerate(tokenizer, model).lopt.count
    sample = whole[:_SAMPLE_CHARS]
    if not (found := count(sample, add_special_tokens=False)):
        raise CommandError("the text has no tokens")
    # Not `cut`, which takes minutes if Hugging Face does the work.
    prompt = whole[: max(1, len(sample) * tokens // found)]
    while count(prompt) > MOST_TOKENS:
        prompt = prompt[: len(prompt) * 9 // 10]
    name = f"{'' if prompt == whole else 'the start of '}{text or 'the sources of Python'}"
    with interrupted_by_signals(), _folder() as folder:
        alone = models.tokenizer_json_alone(model)
        content = tokenizer.backend_tokenizer.to_str() if alone is None else alone.read_text(encoding="utf-8")
        print_line(f"Model      a tiny one with random weights, and the tokenizer of {model}")
        try:
            built = tiny_model.build(folder / "model", json.loads(content))
            # The server loads MODEL's tokenizer itself if engines can load it.
            run(chosen, Subject(built, model if alone is None else None, tokenizer, prompt, name), folder, compare)
        except ModuleNotFoundError as error:
            raise CommandError(f"{error.name} is missing; it is needed for the tiny model's weights") from None
        except ServerError as error:
            raise CommandError(str(error)) from None


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for this run. If the run fails, the servers' logs are kept."""
    folder = Path(tempfile.mkdtemp(prefix="lopt_demo_"))
    try:
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder / "model", ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _engine(name: str | None) -> type[EngineServer]:
    wanted = list(ENGINES.values()) if name is None else [ENGINES[name]]
    found = [engine for engine in wanted if _installed(engine.module)]
    if not found:
        hint = "install lopt-plugin in the environment of the engine, and run the lopt of that environment"
        missing = " nor ".join(engine.name for engine in wanted)
        which = f"neither {missing} is installed" if len(wanted) > 1 else f"{missing} is not installed"
        raise CommandError(f"{which} for {sys.executable}", hint=hint)
    return found[0]


def _installed(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    # A folder of that name in the working directory has no origin, so it does not count.
    return spec is not None and spec.origin is not None
