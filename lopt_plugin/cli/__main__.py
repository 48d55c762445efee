"""`python -m lopt_plugin.cli`: the `lopt` command when its script is not on the PATH."""

from __future__ import annotations

from . import main

main()
