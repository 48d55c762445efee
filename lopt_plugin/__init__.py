"""Tokenization that disappears from the time to first token, with the ids of the Hugging Face tokenizer.

    tokenizer = lopt_plugin.from_pretrained("Qwen/Qwen3-4B")
    tokenizer = lopt_plugin.accelerate(hf_tokenizer)

Importing this package imports neither torch nor transformers: an engine's plugin hook runs in every process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tokenizer import accelerate, from_pretrained

    __version__: str

__all__ = ["__version__", "accelerate", "from_pretrained"]


def __getattr__(name: str) -> Any:
    if name in ("accelerate", "from_pretrained"):
        from . import tokenizer

        return getattr(tokenizer, name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("lopt_plugin")
        except PackageNotFoundError:
            return "0+not.installed"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
