"""`--tokenizer-mode lopt` for vLLM."""

from .offline import generate
from .plugin import register

__all__ = ["generate", "register"]
