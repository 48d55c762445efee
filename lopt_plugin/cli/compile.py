"""lopt compile: writes a tokenizer to a file for the C interface, after checking it against Hugging Face."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Annotated, Any

import tokenizers
import typer

from ..pipeline import Unsupported, read_pipeline
from ..routes.compiled import compiled
from ..routes.native_core import import_core
from ..unicode_tables.files import atomic_file
from . import model as models, options
from .output import CANNOT_LOAD, DIFFERENT, CommandError, ends_well, megabytes, print_json, print_line
from .texts import built_in_texts

_PROSE_CHARS = 100_000
# add_special_tokens, split_special_tokens
_FLAGS = ((True, False), (False, True))


@ends_well(on_error=CANNOT_LOAD)
def compile(
    model: options.Model,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write. An existing file is replaced.")],
    revision: options.Revision = None,
    trust_remote_code: options.TrustRemoteCode = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a tokenizer to a file that the C library liblopt.so opens without Python.

    Before the file gets its final name, it is read back with that library's code, and the ids of hard texts and prose
    are compared with Hugging Face's. Only this version of lopt_plugin can open the file.

    Example: `lopt compile Qwen/Qwen3-8B --out qwen3.lopt`

    Exit status: 0 written, 1 ids differ, 2 the tokenizer cannot be loaded or compiled, or wrong usage.
    """
    original = models.load(model, revision, trust_remote_code)
    started = time.perf_counter()
    with atomic_file(out) as file:
        content = _content(original, model)
        file.write(content)
        file.flush()
        texts, unanswered = _compare(original, Path(file.name))
    report = {"out": str(out), "bytes": len(content), "texts": texts, "need_reference": unanswered}
    if as_json:
        print_json({**report, "seconds": time.perf_counter() - started})
        return
    print_line(f"{out}: {megabytes(len(content))}; the ids of {texts - unanswered:,} texts equal Hugging Face's")
    if unanswered:
        print_line(f"{unanswered:,} more texts need Hugging Face's normalizer: liblopt.so returns LOPT_NEEDS_REFERENCE")


def _content(original: Any, model: str) -> bytes:
    route = models.accelerate(original, model, route="native").lopt.explain()
    if route["route"] != "native":
        raise CommandError(f"cannot compile {model!r}: {route['reason']}")
    backend = original.backend_tokenizer
    digest = hashlib.sha256(backend.to_str().encode()).hexdigest()
    source = f"{model}, sha256 of its JSON {digest}, tokenizers {tokenizers.__version__}"
    try:
        return compiled(read_pipeline(backend), source)
    except Unsupported as error:
        raise CommandError(f"cannot compile {model!r}: {error}") from None


def _compare(original: Any, path: Path) -> tuple[int, int]:
    """How many texts were tried, and for how many the file has no answer. Raises CommandError."""
    core = import_core()
    tokenizer = core.CompiledTokenizer(str(path))
    tried = unanswered = 0
    for sample in built_in_texts(original, _PROSE_CHARS):
        tried += 1
        try:
            for adds, splits in _FLAGS:
                expected = original(sample.text, add_special_tokens=adds, split_special_tokens=splits)["input_ids"]
                if tokenizer.encode(sample.text.encode(), adds, splits) != expected:
                    reason = f"the ids of {sample.origin} differ from Hugging Face's; no file was written"
                    raise CommandError(reason, DIFFERENT)
        except core.NeedsReference:
            unanswered += 1
    return tried, unanswered
