"""Fast, exact tokenization: the same ids as the installed Hugging Face tokenizer, sooner.

    tokenizer = lopt_plugin.from_pretrained("Qwen/Qwen3-8B")  # or accelerate(loaded_tokenizer)
    ids = tokenizer("How long is this?")["input_ids"]  # as with transformers
    array = tokenizer.lopt.encode_ids("How long is this?")  # numpy int32

vLLM and SGLang find the package through its entry points: `vllm serve --tokenizer-mode lopt`,
`sglang serve --tokenizer-backend lopt`.

Importing this package imports neither torch nor transformers, because an engine's plugin hook runs in every process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .encoder.tiktoken_encoder import from_tiktoken
    from .tokenizer import accelerate, from_pretrained

    __version__: str

__all__ = ["__version__", "accelerate", "from_pretrained", "from_tiktoken"]


def __getattr__(name: str) -> Any:
    if name in ("accelerate", "from_pretrained"):
        from . import tokenizer

        return getattr(tokenizer, name)
    if name == "from_tiktoken":
        from .encoder.tiktoken_encoder import from_tiktoken

        return from_tiktoken
    if name == "__version__":
        from ._version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
