"""liblopt.so from C, and the examples in C, Rust and Go. `make c-api` builds it and names it in LOPT_C_LIBRARY."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import corpus
import pytest
from short_texts import SHORT_TEXTS

from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.compiled import compiled
from lopt_plugin.routes.hard_texts import hard_texts

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "c_api"
LIBRARY = Path(os.environ.get("LOPT_C_LIBRARY") or "no library")
CC = os.environ.get("CC") or "cc"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
FLAGS = [f"-I{ROOT / 'include'}", f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}", "-llopt"]

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="make c-api builds the library")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bert.lopt"
    path.write_bytes(compiled(read_pipeline(corpus.load_tokenizer("bert_base_uncased")), "bert_base_uncased"))
    return path


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def built(source: Path, folder: Path, *options: str) -> Path:
    program = folder / source.stem
    made = run(CC, "-O1", *WARNINGS, *options, source, "-o", program, "-pthread", *FLAGS)
    assert (made.returncode, made.stderr) == (0, "")
    return program


def test_only_the_interface_is_exported() -> None:
    names = run("nm", "-D", "--defined-only", "--format=just-symbols", LIBRARY).stdout.split()
    assert {name for name in names if not name.startswith("_Z")} == {
        *(f"lopt_{name}" for name in ("close", "count", "encode", "interface_version", "open", "source", "version"))
    }


@pytest.mark.every_parameter
@pytest.mark.parametrize("standard", ["c99", "c17"])
def test_from_c(standard: str, file: Path, tmp_path: Path) -> None:
    reference = corpus.load_tokenizer("bert_base_uncased")
    cases = tmp_path / "cases"
    with cases.open("w", encoding="ascii") as lines:
        for number, text in enumerate([*hard_texts(["[MASK]"]), *SHORT_TEXTS]):
            flags = number % 4
            reference.encode_special_tokens = flags >= 2
            ids = reference.encode(text, add_special_tokens=flags % 2 == 1).ids
            print(flags, text.encode().hex(), *ids, file=lines)
    ended = run(built(ROOT / "tests" / "c_interface" / "check.c", tmp_path, f"-std={standard}"), file, cases)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "no difference" in ended.stdout


@pytest.mark.every_parameter
@pytest.mark.parametrize("language", ["c", "rs", "go"])
def test_examples(language: str, file: Path, tmp_path: Path) -> None:
    program = tmp_path / "encode"
    source = EXAMPLES / f"encode.{language}"
    compiler = {"c": CC, "rs": "rustc", "go": "go"}[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    if language == "c":
        built(source, tmp_path)
    elif language == "rs":
        made = run("rustc", "-L", LIBRARY.parent, "-C", f"link-arg={FLAGS[2]}", "-D", "warnings", source, "-o", program)
        assert (made.returncode, made.stderr) == (0, "")
    else:
        flags = {"CGO_CFLAGS": FLAGS[0], "CGO_LDFLAGS": " ".join(FLAGS[1:3]), "GOCACHE": str(tmp_path / "cache")}
        made = run("go", "build", "-o", program, source, GO111MODULE="off", **flags)
        assert (made.returncode, made.stderr) == (0, "")
    reference = corpus.load_tokenizer("bert_base_uncased")
    for text in ("", "Hello, world", "x " * 500, "\u4f60\u597d [MASK]"):
        ended = run(program, file, text)
        assert (ended.stderr, ended.stdout.split()) == ("", list(map(str, reference.encode(text).ids)))
    wrong = run(program, tmp_path / "missing", "a")
    assert wrong.returncode == 1
    assert "No such file" in wrong.stderr
