"""`--tokenizer-backend lopt` for SGLang."""

from .plugin import register, tokenizer_backend

__all__ = ["register", "tokenizer_backend"]
