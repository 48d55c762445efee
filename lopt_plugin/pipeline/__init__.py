"""The only reader of Hugging Face tokenizers: each becomes a Pipeline, or Unsupported is raised with the reason."""

from ..unicode_tables.bert import BertOptions as BertOptions
from .component_state import Unsupported as Unsupported
from .describe import describe as describe
from .normalizers import SpaceNormalizer as SpaceNormalizer
from .pipeline import (
    BytePairModel as BytePairModel,
    Pipeline as Pipeline,
    PostProcessor as PostProcessor,
    SentencePieceModel as SentencePieceModel,
    Template as Template,
    Templates as Templates,
    UnigramModel as UnigramModel,
    WordPieceModel as WordPieceModel,
)
from .read import read_pipeline as read_pipeline
