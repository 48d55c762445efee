"""The only reader of Hugging Face tokenizers: each becomes a Pipeline, or Unsupported is raised with the reason."""

from ..unicode_tables.bert import BertOptions as BertOptions
from .describe import describe as describe
from .pipeline import (
    AddedToken as AddedToken,
    BytePairModel as BytePairModel,
    Pipeline as Pipeline,
    PostProcessor as PostProcessor,
    Refinement as Refinement,
    SentencePieceModel as SentencePieceModel,
    SpaceNormalizer as SpaceNormalizer,
    Template as Template,
    Templates as Templates,
    Unsupported as Unsupported,
    WordPieceModel as WordPieceModel,
)
from .read import read_pipeline as read_pipeline
