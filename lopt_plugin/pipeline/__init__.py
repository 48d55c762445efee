"""The only reader of Hugging Face tokenizers: what they do becomes a Pipeline, or Unsupported with the reason."""

from .components import (
    AddedToken,
    BytePairModel,
    OffsetTrim,
    Piece,
    Pipeline,
    PostProcessor,
    Refinement,
    Template,
    Templates,
    Unsupported,
)
from .describe import describe
from .read import read_pipeline

__all__ = [
    "AddedToken",
    "BytePairModel",
    "OffsetTrim",
    "Piece",
    "Pipeline",
    "PostProcessor",
    "Refinement",
    "Template",
    "Templates",
    "Unsupported",
    "describe",
    "read_pipeline",
]
