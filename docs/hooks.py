"""MkDocs hooks: pages that lie elsewhere in the repository, and links to its files.

Links in all pages are relative to the file in the repository, so that they work there. On the site, a link to another
page leads to that page, and one to any other file of the repository becomes its path as code. A link to nothing is a
warning, and so an error under --strict.
"""

from __future__ import annotations

import logging
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "benchmarks/RESULTS.md"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")

logger = logging.getLogger("mkdocs.hooks")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and plots that are not in docs/."""
    for path in [*ELSEWHERE, *sorted(str(plot.relative_to(ROOT)) for plot in ROOT.glob("benchmarks/plots/*.svg"))]:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Makes links to files of the repository those of the site."""
    here = page.file.src_uri
    in_repository = here if here in ELSEWHERE else f"docs/{here}"

    def link(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), target))
        on_site = path.removeprefix("docs/")
        if files.get_file_from_path(on_site) is not None:
            return f"{mark}[{text}]({posixpath.relpath(on_site, posixpath.dirname(here) or '.')}{anchor or ''})"
        if not os.path.exists(ROOT / path):
            logger.warning("%s links to %s, which does not exist", in_repository, path)
        return f"`{path}`" if text == posixpath.basename(path) else f"{text} (`{path}`)"

    return LINK.sub(link, markdown)
