"""The only reader of Hugging Face tokenizers: what they do becomes a Pipeline, or Unsupported with the reason."""

from .components import (
    AddedToken,
    BlankNormalizer,
    BytePairModel,
    Metaspace,
    Pipeline,
    PostProcessor,
    Refinement,
    SentencePieceModel,
    Unsupported,
)
from .describe import describe
from .read import read_pipeline

__all__ = [
    "AddedToken",
    "BlankNormalizer",
    "BytePairModel",
    "Metaspace",
    "Pipeline",
    "PostProcessor",
    "Refinement",
    "SentencePieceModel",
    "Unsupported",
    "describe",
    "read_pipeline",
]
