"""A Griffe extension: examples in docstrings, which begin with `>>>` and stand last, become a section of examples."""

from __future__ import annotations

from typing import Any

import griffe


class ExamplesInDocstrings(griffe.Extension):
    """Gives the examples the header that the Google style wants."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """For each module, class, function and attribute that was read."""
        text, prompt, examples = (obj.docstring.value if obj.docstring else "").partition("\n>>> ")
        if obj.docstring and prompt:
            indented = (prompt + examples).replace("\n", "\n    ")
            obj.docstring.value = f"{text}\nExamples:{indented}"
