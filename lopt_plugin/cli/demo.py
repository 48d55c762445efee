"""lopt demo: does a real engine's server give Hugging Face's ids with it, and what of the time is saved?"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..demo import engines, tiny_model
from ..demo.engines import ENGINES, Engine, Sglang
from ..demo.interruption import interrupted_by_signals
from ..demo.prompt import ABOUT_TOKENS, LongText, NoTokensError, TextSource
from ..demo.run import Subject, run
from ..demo.server import ServerError
from ..demo.sglang_server import is_for_cpu
from . import model as models
from .failure import CANNOT_LOAD, DIFFERENT, CommandError, ends_well
from .terminal import results
from .texts import built_in_prose, of_files

# A CPU needs seconds for SGLang's attention of a few thousand tokens.
SGLANG_TOKENS_ON_CPU = 8_000
_MOST_CHARS = 20_000_000


class EngineName(str, Enum):
    """Where the prompt goes."""

    VLLM = "vllm"
    SGLANG = "sglang"


@ends_well(on_error=CANNOT_LOAD)
def demo(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Folder with a tokenizer, tokenizer.json, or name on the hub.")
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text of the prompt. Default: sources of Python's standard library."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=tiny_model.MAX_MODEL_LEN - 1,
            help=f"About so many tokens, the beginning of the text. Default: {ABOUT_TOKENS:,}; "
            f"{SGLANG_TOKENS_ON_CPU:,} for SGLang on a CPU.",
        ),
    ] = None,
    engine: Annotated[EngineName | None, typer.Option(help="Default: the one that is installed, vLLM first.")] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also run a server with the engine's own tokenizer.")
    ] = False,
) -> None:
    """Start the real server of vLLM or SGLang with lopt, and compare a long prompt's ids and times with Hugging Face's.

    The server runs MODEL's tokenizer and a tiny model with random weights: no weights are downloaded, and no GPU is
    needed. It listens on this machine only, and is stopped at the end.

    Exit status: 0 all ids equal, 1 something differs, 2 the model cannot be loaded, no engine or wrong usage.
    """
    if model is None:
        hint = "as in: lopt demo Qwen/Qwen3-8B; a checkout of lopt_plugin brings a tokenizer for: make demo"
        raise CommandError("MODEL is missing: a folder with a tokenizer, tokenizer.json, or name on the hub", 2, hint)
    chosen = _engine(engine)
    source = _source(text)
    tokenizer = models.load(model)
    if tokens is None:
        tokens = SGLANG_TOKENS_ON_CPU if isinstance(chosen, Sglang) and is_for_cpu() else ABOUT_TOKENS
    with interrupted_by_signals(), _folder() as folder:
        subject = _subject(folder / "model", model, tokenizer)
        shown = f"Model      a tiny one with random weights beside the tokenizer of {model}"
        results().print(shown, markup=False, soft_wrap=True)
        try:
            outcome = run(chosen, subject, source, tokens, folder, compare)
        except (ServerError, NoTokensError) as error:
            raise CommandError(str(error), CANNOT_LOAD) from None
        if not outcome.all_equal:
            raise CommandError(f"the ids differ; the server's log is {outcome.log}", DIFFERENT)
        if outcome.says is None:
            raise CommandError(f"lopt was not active in {chosen.name}; its log is {outcome.log}", CANNOT_LOAD)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for this run alone. Of a run that failed, the servers' logs stay."""
    folder = Path(tempfile.mkdtemp(prefix="lopt_demo_"))
    rest = folder
    try:
        yield folder
    except CommandError:
        if any(folder.glob("*.log")):
            rest = folder / "model"
        raise
    finally:
        shutil.rmtree(rest, ignore_errors=True)


def _engine(name: EngineName | None) -> Engine:
    wanted = list(ENGINES.values()) if name is None else [ENGINES[name.value]]
    found = [engine for engine in wanted if engines.installed(engine)]
    if not found:
        hint = "install lopt-plugin where they are, and run the lopt of that environment"
        missing = " nor ".join(engine.name for engine in wanted)
        which = f"neither {missing} is installed" if len(wanted) > 1 else f"{missing} is not installed"
        raise CommandError(f"{which} beside {sys.executable}", CANNOT_LOAD, hint)
    return found[0]


def _source(file: Path | None) -> TextSource:
    if file is None:
        return lambda chars: LongText(built_in_prose(chars), "sources of Python's standard library")
    whole = ""
    for sample in of_files([str(file)], "text")[1]:
        whole += sample.text + "\n"
        if len(whole) >= _MOST_CHARS:
            break
    if not whole.strip():
        raise CommandError(f"{file} has no text", CANNOT_LOAD)
    return partial(_beginning, whole, str(file))


def _beginning(text: str, name: str, chars: int) -> LongText:
    return LongText(text[:chars], name if chars >= len(text) else f"the beginning of {name}")


def _subject(folder: Path, model: str, tokenizer: Any) -> Subject:
    """The tiny model for it. The server loads the tokenizer from where the user said, if engines can do that."""
    alone = models.tokenizer_json_alone(model)
    path = Path(model)
    load, accelerate = partial(models.load, model), partial(models.accelerate, model=model)
    try:
        tiny_model.write_model(folder, max(tokenizer.get_vocab().values(), default=0), tokenizer.eos_token_id)
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing for the tiny model's weights", CANNOT_LOAD) from None
    if alone is not None:
        tiny_model.write_tokenizer(folder, alone.read_text(encoding="utf-8"), tokenizer.eos_token)
        return Subject(folder, None, load, accelerate)
    # The server has another working directory.
    name = str(path.resolve()) if path.exists() else model
    return Subject(folder, name, load, accelerate)
