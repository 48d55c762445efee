"""`python -m lopt_plugin.cli`: the `lopt` command, for when its script is not on the path."""

from __future__ import annotations

from . import main

main()
