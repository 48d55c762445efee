"""The `lopt` command. Importing lopt_plugin does not import it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The entry point of the `lopt` command; ends the process with the command's exit status."""
    # Must be set before transformers is imported: its advisory messages are not for users of this command.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        print(f"lopt: error: {error.name} is missing; pip install typer rich", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="lopt")
