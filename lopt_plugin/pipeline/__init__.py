"""The only reader of Hugging Face tokenizers: what they do becomes a Pipeline, or Unsupported with the reason."""

from ..character_classes.word_characters import BertOptions
from .components import (
    AddedToken,
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
    WordPieceModel,
)
from .describe import describe
from .normalizer_steps import BlankNormalizer
from .read import read_pipeline
from .unsupported import Unsupported

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
