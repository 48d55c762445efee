"""What every engine does with a tokenizer it has loaded: accelerate it or leave it alone, and log the outcome."""

from __future__ import annotations

import copy
import importlib
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._version import version as our_version
from ..encoder.metrics import Observer
from ..settings import Settings
from .ledger import TouchedName, differences
from .subclass import Brand, rebrand


class Acceleration:
    """Accelerates the tokenizers of one engine in this process, and logs each outcome once. No method raises.

    ledger           the engine's names that the plugin uses
    tested_versions  the releases that the tests were run with; the log says if the installed one is not among them
    logger           a child of the engine's own, so that the engine's handlers and levels apply
    """

    def __init__(self, engine: str, ledger: Sequence[TouchedName], tested_versions: Sequence[str]) -> None:
        self._engine = engine
        self._module = engine.lower()
        self._ledger = ledger
        self._tested_versions = tested_versions
        self._logged: set[str] = set()
        self.logger = logging.getLogger(f"{self._module}.lopt_plugin")

    def engine_version(self) -> str:
        """The installed version of the engine."""
        try:
            return str(importlib.import_module(self._module).__version__)
        except Exception:
            return "of unknown version"

    def register(self, steps: Mapping[str, Callable[[], object]], otherwise: str, *, all_needed: bool) -> None:
        """Takes the steps that make the plugin known; logs those that fail, and ends at the first if all are needed."""
        for name, step in {**steps, "join_engine_log": self._join_engine_log}.items():
            try:
                step()
            except Exception:
                version = self.engine_version()
                self.logger.exception("lopt_plugin: %s failed with %s %s; %s", name, self._engine, version, otherwise)
                if all_needed:
                    return

    def run(
        self,
        tokenizer: Any,
        brand: Callable[[Any], Brand],
        where: str = "",
        *,
        shared: bool = False,
        of_encodings: Sequence[TouchedName] = (),
    ) -> Any | str:
        """An accelerated tokenizer of the subclass that `brand` describes; or a str, the reason why there is none.

        It is a new object with the attributes of `tokenizer`, and with a copy of its Rust tokenizer if others share
        that (`shared`). `where` follows the name in the log. `of_encodings` lists tiktoken names that must match the
        ledger; with them, the result may also be `tokenizer` itself, with an accelerated encoding inside.
        """
        try:
            from ..tokenizer.accelerated import accelerate_in_place
            from ..tokenizer.flat_copies import with_flat_copies

            reason = _why_not(tokenizer)
            if reason is None:
                if shared:
                    new = copy.deepcopy(tokenizer, with_flat_copies(tokenizer, {}))
                else:
                    new = object.__new__(type(tokenizer))
                    new.__dict__.update(tokenizer.__dict__)
                accelerated = rebrand(accelerate_in_place(new, Settings.read()), brand)
                explained = accelerated.lopt.explain()
                if explained["route"] != "hf":
                    route = f"takes the {explained['route']} route, up to {explained['threads']} threads per prompt"
                    self.log(tokenizer, where + route, logging.INFO)
                    return accelerated
                reason = str(explained["reason"])
            elif of_encodings and "tiktoken" in sys.modules:
                from .tiktoken_encoding import accelerate_inside

                for touched in of_encodings:
                    touched.resolve_as_known()
                reason_inside = accelerate_inside(tokenizer, Settings.read())
                if reason_inside is None:
                    self.log(tokenizer, f"{where}takes the native route inside its tiktoken encoding", logging.INFO)
                    return tokenizer
                reason += f"; {reason_inside}"
        except Exception as error:
            self.logger.exception("lopt_plugin: could not accelerate the tokenizer")
            reason = f"{type(error).__name__}: {error}"
        self.log(tokenizer, f"{where}is not accelerated; {self._engine} uses it unchanged: {reason}", logging.WARNING)
        return reason

    def log(self, tokenizer: Any, outcome: str, level: int) -> None:
        """Logs the outcome for one tokenizer, with all versions. Each line is logged once per process."""
        from importlib.metadata import version

        try:
            name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
            versions = [f"{library} {version(library)}" for library in ("tokenizers", "transformers")]
            versions.append(f"{self._engine} {self.engine_version()}{self._untested()}")
            self._log_once(level, f"tokenizer {name} {outcome} ({', '.join(versions)})")
        except Exception:
            self.logger.exception("lopt_plugin: a tokenizer %s", outcome)

    def compare_with_ledger(self) -> None:
        """Logs, in one line, how the engine's loaded modules differ from the ledger."""
        found = differences(self._ledger, self.engine_version())
        if found:
            said = f"{self._engine} {self.engine_version()} differs from the versions that this plugin knows: "
            self._log_once(logging.WARNING, said + "; ".join(found))

    def _join_engine_log(self) -> None:
        # Warnings only, as the outcome is logged above.
        ours = logging.getLogger("lopt_plugin")
        ours.parent = logging.getLogger(self._module)
        if ours.level == logging.NOTSET and not ours.isEnabledFor(logging.DEBUG):
            ours.setLevel(logging.WARNING)

    def _log_once(self, level: int, line: str) -> None:
        line = f"lopt_plugin {our_version()}: {line}"
        if line not in self._logged:
            self._logged.add(line)
            self.logger.log(level, "%s", line)

    def _untested(self) -> str:
        # Others differ in what follows the release: "0.24.0.post1+cpu".
        if self.engine_version().startswith(tuple(self._tested_versions)):
            return ""
        return f"; tested with {' and '.join(self._tested_versions)}"


# Only the next three functions look inside `tokenizer.lopt`.
def settings_of(tokenizer: Any) -> Settings:
    """The settings of an accelerated tokenizer."""
    settings: Settings = tokenizer.lopt._runner.settings
    return settings


def is_native(tokenizer: Any) -> bool:
    """Whether the native route answers an accelerated tokenizer's calls, so that they need no Python thread."""
    return bool(tokenizer._lopt_direct) and tokenizer.lopt._runner.state.snapshot().native is not None


def observe(tokenizer: Any, observer: Observer | None) -> None:
    """Sets the observer that counts the calls of an accelerated tokenizer."""
    tokenizer.lopt._runner.observer = observer


def _why_not(tokenizer: Any) -> str | None:
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return f"{type(tokenizer).__name__} does not run on the tokenizers library"
    if type(tokenizer._tokenizer).__module__.partition(".")[0] == "fastokens":
        return "fastokens has replaced its backend"
    return None
