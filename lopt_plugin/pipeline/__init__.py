"""The only reader of Hugging Face tokenizers: what they do becomes a Pipeline, or Unsupported with the reason."""

from .components import (
    AddedToken,
    BertOptions,
    BlankNormalizer,
    BytePairModel,
    Metaspace,
    OffsetTrim,
    Piece,
    Pipeline,
    PostProcessor,
    Refinement,
    SentencePieceModel,
    Template,
    Templates,
    Unsupported,
    WordPieceModel,
)
from .describe import describe
from .read import read_pipeline

__all__ = [
    "AddedToken",
    "BertOptions",
    "BlankNormalizer",
    "BytePairModel",
    "Metaspace",
    "OffsetTrim",
    "Piece",
    "Pipeline",
    "PostProcessor",
    "Refinement",
    "SentencePieceModel",
    "Template",
    "Templates",
    "Unsupported",
    "WordPieceModel",
    "describe",
    "read_pipeline",
]
