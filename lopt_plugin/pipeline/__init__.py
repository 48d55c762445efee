"""The only reader of Hugging Face tokenizers: each becomes a Pipeline, or Unsupported with the reason."""

from ..unicode_tables.bert import BertOptions
from .describe import describe
from .pipeline import (
    AddedToken,
    BytePairModel,
    Pipeline,
    PostProcessor,
    Refinement,
    SentencePieceModel,
    SpaceNormalizer,
    Template,
    Templates,
    Unsupported,
    WordPieceModel,
)
from .read import read_pipeline

__all__ = [
    "AddedToken",
    "BertOptions",
    "BytePairModel",
    "Pipeline",
    "PostProcessor",
    "Refinement",
    "SentencePieceModel",
    "SpaceNormalizer",
    "Template",
    "Templates",
    "Unsupported",
    "WordPieceModel",
    "describe",
    "read_pipeline",
]
