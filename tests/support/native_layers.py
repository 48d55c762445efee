"""Checks what the C++ files of the native core include; a part of `make lint`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# From the top: a file includes files of its own folder and of those after it.
FOLDERS = [
    *("python", "c", "compiled", "growing", "core", "prefix", "offsets", "unigram", "wordpiece", "bpe", "normalize"),
    *("scan", "decode", "text", "base"),
]
PYTHON = re.compile(r"Python\.h|nanobind|\bPyObject\b|\bPy_\w+")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def problems(native: Path) -> Iterator[str]:
    sources = {path.relative_to(native).as_posix(): path.read_text() for path in sorted(native.rglob("*.[hc]pp"))}
    includes = {name: INCLUDE.findall(text) for name, text in sources.items()}
    for name, included in includes.items():
        folder = name.split("/")[0]
        if folder not in FOLDERS:
            yield f"{name}: not in one of the folders {', '.join(FOLDERS)}"
            continue
        for other in included:
            if other not in sources:
                yield f"{name}: includes {other}, which is no file of the native core"
            elif other.split("/")[0] in FOLDERS[: FOLDERS.index(folder)]:
                yield f"{name}: includes {other}, which lies above {folder}/"
        if folder != "python" and (mention := PYTHON.search(sources[name])):
            yield f"{name}: mentions {mention[0]}; only python/ knows Python"
    if circle := _circle(includes):
        yield f"these include one another: {' -> '.join(circle)}"


def _circle(includes: dict[str, list[str]]) -> list[str]:
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for other in includes.get(name, []):
            if circle := search(other, [*path, name]):
                return circle
        finished.add(name)
        return []

    return next((circle for name in includes if (circle := search(name, []))), [])


if __name__ == "__main__":
    found = list(problems(Path(__file__).parents[2] / "lopt_plugin" / "native"))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
