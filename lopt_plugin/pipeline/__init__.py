"""The only reader of Hugging Face tokenizers: what they do becomes a Pipeline, or Unsupported with the reason."""

from .components import (
    AddedToken,
    BertOptions,
    BytePairModel,
    Pipeline,
    PostProcessor,
    Refinement,
    Unsupported,
    WordPieceModel,
)
from .describe import describe
from .read import read_pipeline

__all__ = [
    "AddedToken",
    "BertOptions",
    "BytePairModel",
    "Pipeline",
    "PostProcessor",
    "Refinement",
    "Unsupported",
    "WordPieceModel",
    "describe",
    "read_pipeline",
]
