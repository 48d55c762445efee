"""Loads the tokenizer that a MODEL argument names, from a folder, a file or the Hugging Face hub."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from .output import CommandError

_HUB_WAIT_S = 10


def load(model: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """The Hugging Face tokenizer, not accelerated. Raises CommandError."""
    # The commands print the route and its reason themselves.
    logging.getLogger("lopt_plugin").setLevel(logging.ERROR)
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    path = Path(model)
    if not path.exists() and (model.startswith((".", "/", "~")) or model.endswith(".json")):
        raise CommandError(f"cannot load {model!r}: no such file or folder")
    alone = tokenizer_json_alone(model)
    hint = "MODEL is a folder with a tokenizer, a tokenizer.json, or a name on the Hugging Face hub"
    unreachable = None
    try:
        if alone is not None:
            return PreTrainedTokenizerFast(tokenizer_file=str(alone))
        if not path.is_dir():
            unreachable = _why_unreachable(model, revision)
        return AutoTokenizer.from_pretrained(
            model,
            revision=revision,
            trust_remote_code=trust_remote_code,
            local_files_only=path.is_dir() or unreachable is not None,
        )
    except (KeyboardInterrupt, CommandError):
        raise
    except BaseException as error:  # a panic in the Rust library is not an Exception
        first = (str(error).strip().splitlines() or [""])[0]
        if unreachable is not None and isinstance(error, OSError):
            first = f"it is not in the cache, and the hub cannot be reached: {unreachable}"
        raise CommandError(f"cannot load {model!r}: {first or type(error).__name__}", hint=hint) from None


def _why_unreachable(model: str, revision: str | None) -> str | None:
    """Why the hub cannot be reached; None if it can. Raises CommandError if it has no such model.

    This sends a single request, because transformers retries each of its own for half a minute.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        HfApi().model_info(model, revision=revision, timeout=_HUB_WAIT_S)
    except RepositoryNotFoundError:
        raise CommandError(f"cannot load {model!r}: the hub has no such model, or it is private or gated") from None
    except RevisionNotFoundError:
        raise CommandError(f"cannot load {model!r}: the hub has no revision {revision!r} of this model") from None
    except HFValidationError:
        raise
    except HfHubHTTPError:
        return None  # The hub does answer; transformers sends it other requests.
    except Exception as error:
        return (str(error).splitlines() or [""])[0] or type(error).__name__
    return None


def accelerate(tokenizer: Any, model: str, **settings: Any) -> Any:
    """An accelerated copy of the tokenizer. Raises CommandError."""
    import lopt_plugin

    try:
        return lopt_plugin.accelerate(tokenizer, **settings)
    except (TypeError, ValueError) as error:
        raise CommandError(f"cannot accelerate {model!r}: {error}") from None


def tokenizer_json_alone(model: str) -> Path | None:
    """The tokenizer.json that MODEL is or contains, unless another file there names a tokenizer class."""
    path = Path(model)
    if path.is_file():
        return path
    file = path / "tokenizer.json"
    return file if file.is_file() and not _names_class(path) else None


def _names_class(folder: Path) -> bool:
    for name in ("tokenizer_config.json", "config.json"):
        try:
            content = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if content.get("tokenizer_class") or content.get("model_type"):
            return True
    return False
